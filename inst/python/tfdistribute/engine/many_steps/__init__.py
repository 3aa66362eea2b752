"""Many training steps in one ``session.run``."""

from tfdistribute.engine.many_steps.runs import many_steps_per_run

__all__ = ["many_steps_per_run"]
