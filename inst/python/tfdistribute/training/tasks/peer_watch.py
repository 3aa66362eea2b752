"""Whether the other tasks of a cluster are there: waiting for them with a deadline, and giving up by name."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from tfdistribute import engine, task_events
from tfdistribute.cluster import peers
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import Task
from tfdistribute.errors import InputError, LostPeerError, TfdistributeError
from tfdistribute.training.tasks.progress_file import mark_of_job

# A task whose connection broke is given this long to be gone, or to say that it has ended, so that the error can tell.
_CONFIRM_S = 5.0
# Sessions that are made without a step in between; TensorFlow would go on for ever.
_MOST_SESSIONS = 20
_PAUSE_S = 0.5
# A step that takes longer than this makes a task look whether the others are still there.
_QUIET_S = 10.0
# The chief has this long to write the last checkpoint.
_END_S = 40.0


class Reach:
    """The other tasks, as one task sees them.

    Args:
        member: This process.
        model_dir: Directory of the model, where the chief says that it has ended.
        in_step: Whether those who train wait for each other in every step: who has lost one of them has lost all,
            until all are started again.
        deadline_s: Seconds to wait for a task that does not answer.
        stopped: Says whether this task was asked to end.
        last_step: Step at which the training ends in any case; None for none.
    """

    def __init__(
        self,
        member: Member,
        model_dir: str,
        in_step: bool,
        deadline_s: float,
        stopped: Callable[[], bool],
        last_step: int | None = None,
    ) -> None:
        self._stopped = stopped
        self._last_step = last_step
        self._member = member
        self._model_dir = model_dir
        self._in_step = in_step
        self._deadline_s = deadline_s
        self._steps = 0
        self._under_way = 1
        self._sessions = 0
        self._since = time.monotonic()
        self.step: int | None = None
        # Why the session was closed while a step was under way.
        self.verdict: TfdistributeError | None = None

    def note_step(self, step: int) -> None:
        """Take note of a step of this task."""
        self.step = step
        self._steps += 1
        self._under_way = 1
        self._sessions = 0
        self._since = time.monotonic()

    def note_run(self, steps: int) -> None:
        """Take note that this task takes so many steps now, and tells none before it has taken them."""
        self._under_way = steps

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
        if trained and self._in_step:
            raise self.lost()
        missing = peers.wait_for(
            self._member.needed, self._deadline_s, _tell_waiting, self._stopped
        )
        if self._stopped():
            raise KeyboardInterrupt
        if missing:
            raise self.gone(missing) if trained else self._never_came(missing)
        if self._sessions > 1:
            time.sleep(_PAUSE_S)
            waited = time.monotonic() - self._since
            if self._sessions > _MOST_SESSIONS or waited > self._deadline_s:
                raise self.broken()

    def before_close(self) -> None:
        """See that the parameter servers are there when a session is closed, which tells them.

        Raises:
            LostPeerError: one is gone, and did not come back before the deadline.
        """
        missing = peers.wait_for(
            self._member.servers, self._deadline_s, _tell_waiting, self._stopped
        )
        if missing:
            raise self.gone(missing)

    def has_given_up(self) -> bool:
        """Look, from another thread, whether the step under way can still end.

        TensorFlow waits for ever for a task that has ended its training, but whose process goes on.
        """
        if not self._in_step or self.step is None or time.monotonic() - self._since < _QUIET_S:
            return False
        mark = mark_of_job(self._model_dir, self._member)
        if mark is not None and mark.finished_step is not None and self.step == self._last_step:
            # All is done; this task has only to end, such as a hook of the user's.
            return False
        missing = peers.unreachable(self._member.needed)
        if missing:
            missing = peers.wait_for(missing, _CONFIRM_S)
        self.verdict = self.gone(missing) if missing else self._chief_has_ended()
        return self.verdict is not None

    def check_that_all_have_ended(self) -> None:
        """See, when the data of this task has ended, that the chief's has ended too.

        Raises:
            InputError: the chief goes on.
        """
        step = self.step
        if self._member.is_chief or not self._in_step or step is None or step == self._last_step:
            return
        end = time.monotonic() + _END_S
        while time.monotonic() < end:
            mark = mark_of_job(self._model_dir, self._member)
            if mark is None or mark.finished_step is not None:
                # Nothing can be seen from here, or all is well.
                return
            time.sleep(_PAUSE_S)
        raise ran_out_first(self._member.task, step)

    def lost(self) -> TfdistributeError:
        """Find out why a connection broke, where all train in step."""
        end = time.monotonic() + _CONFIRM_S
        while time.monotonic() < end:
            missing = peers.unreachable(self._member.needed)
            error = self._chief_has_ended() or (self.gone(missing) if missing else None)
            if error is not None:
                return error
            time.sleep(_PAUSE_S)
        return self.broken()

    def _chief_has_ended(self) -> TfdistributeError | None:
        mark = mark_of_job(self._model_dir, self._member)
        chief = self._member.chief
        if mark is None or chief is None:
            return None
        if self._member.is_chief or mark.finished_step is None or self.step is None:
            return None
        if not self.step <= mark.finished_step < self.step + self._under_way:
            return None
        self.step = mark.finished_step
        if mark.interrupted:
            return LostPeerError(
                f"{self._member.task} stops{self._after()}: {chief[0]} was asked to.",
                "Start all tasks again to go on from its checkpoint.",
                argument="cluster",
                value=str(chief[0]),
            )
        return ran_out_first(chief[0], self.step)

    def others_train(self) -> set[str]:
        """Name the other tasks that train and answer."""
        return {
            str(task)
            for task, address in self._member.training_tasks
            if task != self._member.task and peers.is_listening(address)
        }

    def _never_came(self, missing: Sequence[tuple[Task, str]]) -> LostPeerError:
        return LostPeerError(
            f"{self._member.task} waited {self._deadline_s:g} seconds, and nothing answers at "
            f"{peers.format_tasks(missing)}.",
            "Start every task of the cluster, and see that hosts and ports in TF_CONFIG are right and reachable.",
            argument="cluster",
            value=peers.format_tasks(missing),
        )

    def gone(self, missing: Sequence[tuple[Task, str]]) -> LostPeerError:
        """Make the error that names who is gone."""
        return LostPeerError(
            f"{self._member.task} lost {peers.format_tasks(missing)}{self._after()}: it does not answer any more.",
            "Look at its log for the reason, then start all tasks again: training goes on from the last checkpoint.",
            argument="cluster",
            value=peers.format_tasks(missing),
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
    member: Member,
    model_dir: str,
    in_step: bool,
    deadline_s: float,
    stopped: Callable[[], bool],
    last_step: int | None = None,
) -> Iterator[Reach]:
    """Raise what TensorFlow says when another task is gone as an error that names it.

    Args:
        member: As for ``Reach``, like all others.
        model_dir: As for ``Reach``.
        in_step: As for ``Reach``.
        deadline_s: As for ``Reach``.
        stopped: As for ``Reach``.
        last_step: As for ``Reach``.

    Yields:
        What the training asks before each session, and tells each step.

    Raises:
        InputError: the chief ran out of data while this task had more.
        LostPeerError: a connection broke, or a step failed while somebody is gone.
    """
    reach = Reach(member, model_dir, in_step, deadline_s, stopped, last_step)
    errors = engine.tf.errors
    try:
        yield reach
    except (errors.OpError, RuntimeError) as error:
        if reach.verdict is not None:
            raise reach.verdict from error
        broken = isinstance(error, (errors.UnavailableError, errors.AbortedError))
        # As TensorFlow says it of sums over tasks, with whatever class of error.
        broken = broken or "Collective ops is aborted" in str(error)
        if broken and in_step:
            raise reach.lost() from error
        if not (broken or isinstance(error, _also_when_somebody_is_gone())):
            raise
        missing = peers.unreachable(member.needed)
        if missing:
            raise reach.gone(missing) from error
        if broken:
            raise reach.broken() from error
        raise


def ran_out_first(task: Task, step: int | None) -> InputError:
    """Make the error of a training whose tasks have different amounts of data."""
    return InputError(
        f"{task} ran out of data after step {step}, while others have more: under strategy_multi_worker() all tasks "
        "take the same steps.",
        "Let the input function give every task as many batches, or repeat the data and give `max_steps`.",
        argument="input",
        value=str(task),
    )


def _also_when_somebody_is_gone() -> tuple[type[Exception], ...]:
    errors = engine.tf.errors
    return (
        errors.CancelledError,
        errors.DeadlineExceededError,
        errors.InternalError,
        errors.UnknownError,
    )


def _tell_waiting(missing: Sequence[tuple[Task, str]]) -> None:
    task_events.emit("waiting", **{"for": ", ".join(str(task) for task, _ in missing)})
