"""Run configuration: settings, the rules that check them, and the resulting RunConfig.

Each verb calls ``configure`` with what is known about its run.
"""

from tfdistribute.run_config.build import (
    Devices,
    build,
    build_run_config,
    configure,
    flatten,
    resolve_devices,
    session_hooks,
)
from tfdistribute.run_config.rules import RULES, check_settings_of_tasks, preflight
from tfdistribute.run_config.settings import TRAINING, RunContext, RunSettings
