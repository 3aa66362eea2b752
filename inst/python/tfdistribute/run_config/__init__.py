"""How a model is trained: strategy and settings, checked by one table of rules, as a tf.estimator.RunConfig.

A verb goes through these steps::

    settings = settings.for_verb("train")
    devices = resolve_devices(settings)
    settings = preflight(settings, Circumstances("train", devices=devices.all, ...)).settings
    config = build(settings, devices)
"""

from tfdistribute.run_config.build import (
    Devices,
    build,
    build_run_config,
    resolve_devices,
    session_hooks,
)
from tfdistribute.run_config.circumstances import Circumstances
from tfdistribute.run_config.preflight import Preflight, findings, preflight
from tfdistribute.run_config.rules import RULES
from tfdistribute.run_config.settings import TRAINING, RunSettings

__all__ = [
    "RULES",
    "TRAINING",
    "Circumstances",
    "Devices",
    "Preflight",
    "RunSettings",
    "build",
    "build_run_config",
    "findings",
    "preflight",
    "resolve_devices",
    "session_hooks",
]
