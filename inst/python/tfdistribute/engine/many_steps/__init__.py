"""Many training steps in one ``session.run``."""

from tfdistribute.engine.many_steps.resident_rows import ResidentRows
from tfdistribute.engine.many_steps.runs import many_steps_per_run

__all__ = ["ResidentRows", "many_steps_per_run"]
