"""Training on a TPU: its cores and strategy, and batches of a fixed size."""

from tfdistribute.engine.tpu.batches import of_fixed_size
from tfdistribute.engine.tpu.system import (
    cores,
    has_kernels,
    is_tpu,
    note_on_hooks,
    program,
    steps_per_run,
    strategy,
)
