"""Time that a supervisor has on its machine."""

from __future__ import annotations

from tfdistribute.launch.host.stop_requests import SIGNALS, StopRequests
from tfdistribute.launch.progress import Progress
from tfdistribute.launch.state import JobState
from tfdistribute.launch.task_view import TaskView

# How long the chief may take to save a checkpoint.
SAVE_S = 4.0


class Allocation:
    """This machine, as long as the user wants. Schedulers of other machines end a supervisor and start it again.

    Args:
        starts_before: How often the supervisor was started before.
        signals: Names of the signals that end the job.
    """

    starts_before = 0
    signals: tuple[str, ...] = SIGNALS

    def resume(self, state: JobState, progress: Progress) -> None:
        """Take over what the supervisor had at its last end."""

    def keep(self, progress: Progress, at_once: bool = False) -> None:
        """Keep what a later start of the supervisor needs; ``at_once`` even if that was done a moment ago."""

    def save_s(self, stops: StopRequests) -> float:
        """Return how long the chief may take to save a checkpoint."""
        return SAVE_S

    def why_again(self, stops: StopRequests) -> str | None:
        """Say why the supervisor will be started again after a signal, as a sentence; None if it will not."""
        return None

    def why_stopped(self, stops: StopRequests) -> str:
        return "The job was stopped."

    def why_elsewhere(self, lost: TaskView, progress: Progress) -> str | None:
        """Say why the job goes on elsewhere after the loss of a task, as a sentence; None if it does not."""
        return None
