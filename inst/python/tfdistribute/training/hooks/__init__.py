"""What takes part in every step of a session, as users describe it."""

from tfdistribute.training.hooks import saving, session_run, stopping
from tfdistribute.training.hooks.description import (
    Hook,
    Run,
    as_hooks,
    check_hooks,
    may_end,
    read_hooks,
)
from tfdistribute.training.hooks.early_stopping import EarlyStopping
from tfdistribute.training.hooks.model_hooks import ModelHooks
from tfdistribute.training.hooks.record import record_interval
from tfdistribute.training.hooks.tensors import nan_may_end

__all__ = [
    "EarlyStopping",
    "Hook",
    "ModelHooks",
    "Run",
    "as_hooks",
    "check_hooks",
    "may_end",
    "nan_may_end",
    "read_hooks",
    "record_interval",
    "saving",
    "session_run",
    "stopping",
]
