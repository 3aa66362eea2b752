"""Training on a TPU: its cores and strategy, batches of a fixed size, and checks of the compiled step."""

from tfdistribute.engine.tpu.batches import of_fixed_size
from tfdistribute.engine.tpu.compiled_step import check_step, program
from tfdistribute.engine.tpu.system import cores, has_kernels, is_tpu, steps_per_run, strategy

__all__ = [
    "check_step",
    "cores",
    "has_kernels",
    "is_tpu",
    "of_fixed_size",
    "program",
    "steps_per_run",
    "strategy",
]
