"""Many training steps in one ``session.run``."""

from tfdistribute.engine.many_steps.runs import ManySteps

__all__ = ["ManySteps"]
