"""Liveness checks for cluster peers: waiting with a deadline, and errors that name the lost task."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from tfdistribute import engine, task_events
from tfdistribute.cluster import peers
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import Task
from tfdistribute.errors import InputError, LostPeerError, TfdistributeError
from tfdistribute.training.tasks.progress_file import ProgressFile

# After a connection has broken, a peer has this long to disappear or to record its end, so that the error can name the
# reason.
_CONFIRM_S = 5.0
# Maximum number of sessions created without a step in between; TensorFlow has no limit.
_MOST_SESSIONS = 20
_PAUSE_S = 0.5
# A task whose step takes longer than this checks its peers.
_QUIET_S = 10.0
# The chief has this long to write the last checkpoint.
_END_S = 40.0


class PeerWatch:
    """Liveness of the other tasks; the session's ``PeerMonitor``.

    Among tasks that train in step, losing one peer means restarting all of them.

    Args:
        timeout_s: Seconds to wait for a task that does not answer.
        stopped: Returns whether this task was asked to end.
        last_step: Step at which the training ends in any case, or None.
    """

    def __init__(
        self,
        member: Member,
        model_dir: str,
        timeout_s: float,
        stopped: Callable[[], bool],
        last_step: int | None = None,
    ) -> None:
        self._member = member
        self._progress = ProgressFile(model_dir, member)
        self._timeout_s = timeout_s
        self._stopped = stopped
        self._last_step = last_step
        self._steps = 0
        self._run_steps = 1
        self._sessions = 0
        self._since = time.monotonic()
        self.step: int | None = None
        # Why the session was closed during a step.
        self.verdict: TfdistributeError | None = None

    def after_step(self, step: int) -> None:
        """Note a step of this task."""
        self.step = step
        self._steps += 1
        self._run_steps = 1
        self._sessions = 0
        self._since = time.monotonic()

    def before_run(self, steps: int) -> None:
        """Note the number of steps that this task takes before it reports the next one."""
        self._run_steps = steps

    def before_session(self) -> None:
        """Wait for the tasks that this one needs; raise after too many sessions, or too much time, without a step."""
        self._sessions += 1
        trained = self._steps > 0
        if self._sessions == 1 and not trained:
            self._since = time.monotonic()
        if trained and self._member.in_step:
            raise self.lost()
        missing = self._wait_for(self._member.needed)
        if self._stopped():
            raise KeyboardInterrupt
        if missing:
            raise self.gone(missing) if trained else self._never_came(missing)
        if self._sessions > 1:
            time.sleep(_PAUSE_S)
            waited = time.monotonic() - self._since
            if self._sessions > _MOST_SESSIONS or waited > self._timeout_s:
                raise self.broken()

    def before_close(self) -> None:
        """Wait for the parameter servers, which TensorFlow notifies when a session is closed."""
        missing = self._wait_for(self._member.servers)
        if missing:
            raise self.gone(missing)

    def is_lost(self) -> bool:
        """Return, on another thread, whether the current step can never end.

        TensorFlow waits for ever for a task that has ended its training while its process goes on.
        """
        in_step = self._member.in_step
        if not in_step or self.step is None or time.monotonic() - self._since < _QUIET_S:
            return False
        record = self._progress.read()
        if record is not None and record.is_finished and self.step == self._last_step:
            # All steps are done; this task is still finishing, for example in a user's hook.
            return False
        missing = peers.unreachable(self._member.needed)
        if missing:
            missing = peers.wait_for(missing, _CONFIRM_S)
        self.verdict = self.gone(missing) if missing else self._chief_has_ended()
        return self.verdict is not None

    def training_peers(self) -> set[str]:
        """Return the names of the other tasks that train and answer; none if this task was asked to end."""
        if self._stopped():
            return set()
        return {
            str(task)
            for task, address in self._member.training_tasks
            if task != self._member.task and peers.is_listening(address)
        }

    def check_that_chief_has_ended(self) -> None:
        """Check, at the end of this task's data, that the chief's data has ended too."""
        step = self.step
        is_watched = self._member.in_step and not self._member.is_chief
        if not is_watched or step is None or step == self._last_step:
            return
        end = time.monotonic() + _END_S
        while time.monotonic() < end:
            record = self._progress.read()
            if record is None or record.is_finished:
                # Either the record cannot be read from here, or all is well.
                return
            time.sleep(_PAUSE_S)
        raise _ran_out_of_data(self._member.task, step)

    def lost(self) -> TfdistributeError:
        """Find out why a connection between tasks in step broke."""
        end = time.monotonic() + _CONFIRM_S
        while time.monotonic() < end:
            missing = peers.unreachable(self._member.needed)
            error = self._chief_has_ended() or (self.gone(missing) if missing else None)
            if error is not None:
                return error
            time.sleep(_PAUSE_S)
        return self.broken()

    def gone(self, missing: Sequence[tuple[Task, str]]) -> LostPeerError:
        """Make the error that names the lost tasks."""
        return LostPeerError(
            f"{self._member.task} lost {peers.format_tasks(missing)}{self._after()}: it no longer answers.",
            "Look at its log for the reason, then start all tasks again: training continues from the last checkpoint.",
            argument="cluster",
            value=peers.format_tasks(missing),
        )

    def broken(self) -> LostPeerError:
        """Make the error for a broken connection to tasks that all answer."""
        return LostPeerError(
            f"{self._member.task} lost its connection to the other tasks{self._after()}.",
            "Look at the other tasks' logs, then start all tasks again: training continues from the last checkpoint.",
            argument="cluster",
        )

    def _wait_for(self, tasks: Sequence[tuple[Task, str]]) -> list[tuple[Task, str]]:
        return peers.wait_for(tasks, self._timeout_s, _report_waiting, self._stopped)

    def _chief_has_ended(self) -> TfdistributeError | None:
        record = self._progress.read()
        chief = self._member.chief
        if record is None or chief is None:
            return None
        if self._member.is_chief or record.finished_step is None or self.step is None:
            return None
        if not self.step <= record.finished_step < self.step + self._run_steps:
            return None
        self.step = record.finished_step
        if record.interrupted:
            return LostPeerError(
                f"{self._member.task} stops{self._after()}: {chief[0]} was asked to stop.",
                "Start all tasks again to continue from its checkpoint.",
                argument="cluster",
                value=str(chief[0]),
            )
        return _ran_out_of_data(chief[0], self.step)

    def _never_came(self, missing: Sequence[tuple[Task, str]]) -> LostPeerError:
        return LostPeerError(
            f"{self._member.task} waited {self._timeout_s:g} seconds, and nothing answers at "
            f"{peers.format_tasks(missing)}.",
            "Start every task of the cluster, and check that the hosts and ports in TF_CONFIG can be reached.",
            argument="cluster",
            value=peers.format_tasks(missing),
        )

    def _after(self) -> str:
        return " before its first step" if self.step is None else f" after step {self.step}"


@contextlib.contextmanager
def watch_peers(
    member: Member,
    model_dir: str,
    timeout_s: float,
    stopped: Callable[[], bool],
    last_step: int | None = None,
) -> Iterator[PeerWatch]:
    """Translate TensorFlow's errors about a lost task into one that names the task; see ``PeerWatch``."""
    watch = PeerWatch(member, model_dir, timeout_s, stopped, last_step)
    errors = engine.tf.errors
    try:
        yield watch
    except (errors.OpError, RuntimeError) as error:
        if watch.verdict is not None:
            raise watch.verdict from error
        broken = isinstance(error, (errors.UnavailableError, errors.AbortedError))
        # TensorFlow's text for collectives over tasks, whatever the class of the error.
        broken = broken or "Collective ops is aborted" in str(error)
        if broken and member.in_step:
            raise watch.lost() from error
        if not (broken or isinstance(error, _possible_after_loss())):
            raise
        missing = peers.unreachable(member.needed)
        if missing:
            raise watch.gone(missing) from error
        if broken:
            raise watch.broken() from error
        raise


def _ran_out_of_data(task: Task, step: int | None) -> InputError:
    """Make the error of a training in which tasks have different amounts of data."""
    return InputError(
        f"{task} ran out of data after step {step}, while other tasks have more: under strategy_multi_worker() all "
        "tasks take the same steps.",
        "Let the input function give every task the same number of batches, or repeat the data and give `max_steps`.",
        argument="input",
        value=str(task),
    )


def _possible_after_loss() -> tuple[type[Exception], ...]:
    errors = engine.tf.errors
    return (
        errors.CancelledError,
        errors.DeadlineExceededError,
        errors.InternalError,
        errors.UnknownError,
    )


def _report_waiting(missing: Sequence[tuple[Task, str]]) -> None:
    task_events.emit("waiting", **{"for": ", ".join(str(task) for task, _ in missing)})
