"""Run configuration: settings, the rules that check them, and the resulting RunConfig.

Each verb does this::

    settings = settings.for_verb("train")
    devices = resolve_devices(settings)
    preflight(RunContext(settings, "train", devices=devices.all, ...))
    config = build(settings, devices)
"""

from tfdistribute.run_config.build import (
    Devices,
    build,
    build_run_config,
    flatten,
    resolve_devices,
    session_hooks,
)
from tfdistribute.run_config.rule import RunContext
from tfdistribute.run_config.rules import RULES, check_settings_of_tasks, preflight
from tfdistribute.run_config.settings import TRAINING, RunSettings
