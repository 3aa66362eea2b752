"""Whether the other tasks of a cluster are there: waiting for them with a deadline, and giving up by name."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from tfdistribute import engine, task_events
from tfdistribute.cluster import peers
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import Task
from tfdistribute.errors import LostPeerError

# A task whose connection broke is given this long to be gone, so that the error can name it.
_CONFIRM_S = 3.0
# Sessions that are made without a step in between; TensorFlow would go on for ever.
_MOST_SESSIONS = 20
_PAUSE_S = 0.5


class Reach:
    """The other tasks, as one task sees them.

    Args:
        member: This process.
        in_step: Whether those who train wait for each other in every step: who has lost one of them has lost all,
            until all are started again.
        deadline_s: Seconds to wait for a task that does not answer.
        stopped: Says whether this task was asked to end.
    """

    def __init__(
        self, member: Member, in_step: bool, deadline_s: float, stopped: Callable[[], bool]
    ) -> None:
        self._stopped = stopped
        self._member = member
        self._in_step = in_step
        self._deadline_s = deadline_s
        self._steps = 0
        self._sessions = 0
        self._since = time.monotonic()
        self.step: int | None = None

    def note_step(self, step: int) -> None:
        """Take note of a step of this task."""
        self.step = step
        self._steps += 1
        self._sessions = 0
        self._since = time.monotonic()

    def before_session(self) -> None:
        """See that everybody who is needed is there; TensorFlow makes a session after this.

        Raises:
            KeyboardInterrupt: this task was asked to end.
            LostPeerError: somebody did not come, or is gone, or no step follows however often a session is made.
        """
        self._sessions += 1
        trained = self._steps > 0
        if self._sessions == 1 and not trained:
            self._since = time.monotonic()
        lost = trained and self._in_step
        missing = peers.wait_for(
            self._member.needed,
            _CONFIRM_S if lost else self._deadline_s,
            _tell_waiting,
            self._stopped,
        )
        if self._stopped():
            raise KeyboardInterrupt
        if missing:
            raise self.gone(missing) if trained else self._never_came(missing)
        if lost:
            raise self.broken()
        if self._sessions > 1:
            time.sleep(_PAUSE_S)
            waited = time.monotonic() - self._since
            if self._sessions > _MOST_SESSIONS or waited > self._deadline_s:
                raise self.broken()

    def others_train(self) -> set[str]:
        """Name the other tasks that train and answer."""
        return {
            str(task)
            for task, address in self._member.training_tasks
            if task != self._member.task and peers.answers(address)
        }

    def _never_came(self, missing: Sequence[tuple[Task, str]]) -> LostPeerError:
        return LostPeerError(
            f"{self._member.task} waited {self._deadline_s:g} seconds, and nothing answers at "
            f"{peers.named(missing)}.",
            "Start every task of the cluster, and see that hosts and ports in TF_CONFIG are right and reachable.",
            argument="cluster",
            value=peers.named(missing),
        )

    def gone(self, missing: Sequence[tuple[Task, str]]) -> LostPeerError:
        """Make the error that names who is gone."""
        return LostPeerError(
            f"{self._member.task} lost {peers.named(missing)}{self._after()}: it does not answer any more.",
            "Look at its log for the reason, then start all tasks again: training goes on from the last checkpoint.",
            argument="cluster",
            value=peers.named(missing),
        )

    def broken(self) -> LostPeerError:
        """Make the error where all answer, and the connection broke nevertheless."""
        return LostPeerError(
            f"{self._member.task} lost its connection to the other tasks{self._after()}.",
            "Look at the other tasks' logs, then start all tasks again: training goes on from the last checkpoint.",
            argument="cluster",
        )

    def _after(self) -> str:
        return " before its first step" if self.step is None else f" after step {self.step}"


@contextlib.contextmanager
def reaching(
    member: Member, in_step: bool, deadline_s: float, stopped: Callable[[], bool]
) -> Iterator[Reach]:
    """Raise what TensorFlow says when another task is gone as an error that names it.

    Args:
        member: As for ``Reach``, like all others.
        in_step: As for ``Reach``.
        deadline_s: As for ``Reach``.
        stopped: As for ``Reach``.

    Yields:
        What the training asks before each session, and tells each step.

    Raises:
        LostPeerError: a connection broke, or a step failed while somebody is gone.
    """
    reach = Reach(member, in_step, deadline_s, stopped)
    errors = engine.tf.errors
    try:
        yield reach
    except errors.OpError as error:
        broken = isinstance(error, (errors.UnavailableError, errors.AbortedError))
        if not (broken or isinstance(error, _also_when_somebody_is_gone())):
            raise
        missing = peers.silent(member.needed)
        if missing:
            raise reach.gone(missing) from error
        if broken:
            raise reach.broken() from error
        raise


def _also_when_somebody_is_gone() -> tuple[type[Exception], ...]:
    errors = engine.tf.errors
    return (
        errors.CancelledError,
        errors.DeadlineExceededError,
        errors.InternalError,
        errors.UnknownError,
    )


def _tell_waiting(missing: Sequence[tuple[Task, str]]) -> None:
    task_events.tell("waiting", **{"for": ", ".join(str(task) for task, _ in missing)})
