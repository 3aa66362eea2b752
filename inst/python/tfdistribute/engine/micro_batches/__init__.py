"""One training step on a batch in several turns: the numbers of the whole batch, and the memory of one part."""

from tfdistribute.engine.micro_batches.split import SplitOptions, SplitStep, current

__all__ = ["SplitOptions", "SplitStep", "current"]
