"""The graph of tabular models: their layers, their optimizer, and its schedule."""

from tfdistribute.engine.tabular.cycles import JudgeCycles, skippable_steps
from tfdistribute.engine.tabular.network import (
    CLIP,
    EMBEDDED,
    FREQUENCIES,
    Network,
    make_model_fn,
)
from tfdistribute.engine.tabular.schedule import CYCLES, ends_of_cycles
