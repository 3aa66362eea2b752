"""Session hooks as users describe them."""

from tfdistribute.training.hooks import saving, session_run
from tfdistribute.training.hooks.description import (
    Hook,
    HookContext,
    ModelHooks,
    as_hooks,
    check_hooks,
    may_end,
    read_hooks,
)
from tfdistribute.training.hooks.early_stopping import EarlyStopping
from tfdistribute.training.hooks.record import RECORD_EVERY_N_STEPS, record_interval
from tfdistribute.training.hooks.tensors import suppress_nan_error
