"""Liveness of the other tasks while this one trains, and errors that name the lost task."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence

from tfdistribute import engine, task_events
from tfdistribute.cluster.peers import disconnect, format_tasks
from tfdistribute.cluster.spec import Task, silence_s
from tfdistribute.errors import InputError, LostPeerError, TfdistributeError
from tfdistribute.training.multi_worker.handshake import Handshake
from tfdistribute.training.multi_worker.resume import ProgressFile
from tfdistribute.training.remote.lease import Lease

# After a connection has broken, a peer has this long to disappear or to record its end, so that the error can name the
# reason.
_CONFIRM_S = 5.0
# Maximum number of sessions created without a step in between; TensorFlow has no limit.
_MOST_SESSIONS = 20
_PAUSE_S = 0.5
# A task whose step takes longer than this looks whether the chief has ended.
_QUIET_S = 10.0
# The chief has this long to write the last checkpoint.
_END_S = 40.0
# A peer has this long to answer when a connection has broken.
_SOON_S = 3.0

_RESTART = "Look at its log for the reason, then start all tasks again: training continues from the last checkpoint."


class PeerWatch:
    """Liveness of the other tasks; the session's ``PeerMonitor``.

    Among tasks that train in step, losing one peer means restarting all of them.

    Args:
        handshake: Concluded before the first session.
        stall_timeout_s: Seconds without a step of this task, unless a supervisor watches the steps.
        last_step: Step at which the training ends in any case, or None.
        lease: Lease of the chief if model_dir is remote, or None.
    """

    def __init__(
        self,
        handshake: Handshake,
        stall_timeout_s: float,
        last_step: int | None = None,
        lease: Lease | None = None,
    ) -> None:
        self._handshake = handshake
        self._peers = handshake.peers
        self._member = handshake.peers.member
        self._progress = ProgressFile(handshake.model_dir, self._member)
        self._stall_timeout_s = stall_timeout_s
        self._last_step = last_step
        self.lease = lease
        self._steps = 0
        self._run_steps = 1
        self._sessions = 0
        self._since = time.monotonic()
        self.step: int | None = None
        # Why the session was closed during a step.
        self.verdict: TfdistributeError | None = None

    @property
    def sockets(self) -> list[str]:
        return self._handshake.sockets

    def after_step(self, step: int) -> None:
        self.step = step
        self._steps += 1
        self._run_steps = 1
        self._sessions = 0
        self._since = time.monotonic()

    def before_run(self, steps: int) -> None:
        self._run_steps = steps

    def before_session(self) -> None:
        """Agree with the other tasks before the first session, and wait for needed tasks before others.

        Raises after too many sessions, or too much time, without a step.
        """
        if self.verdict is not None:
            raise self.verdict
        self._sessions += 1
        trained = self._steps > 0
        if trained and self._member.in_step:
            raise self.loss_error()
        if self._sessions == 1 and not (trained or self._member.is_alone):
            self._handshake.conclude(engine.multi_worker.variable_shapes())
            task_events.emit("agreed")
            self._since = time.monotonic()
            return
        missing = self._handshake.wait_for_answers(self._member.needed)
        if self._handshake.stopped.requested:
            raise KeyboardInterrupt
        if missing:
            raise self.gone(missing)
        if self._sessions > 1:
            time.sleep(_PAUSE_S)
            waited = time.monotonic() - self._since
            if self._sessions > _MOST_SESSIONS or waited > self._handshake.start_timeout_s:
                raise self.broken()

    def is_lost(self) -> bool:
        """Return, on another thread, whether the current step can never end.

        TensorFlow waits forever for a task that is frozen, or that has ended its training while its process goes on.
        """
        servers = self._member.servers
        is_on_its_own = self._member.is_chief and not task_events.is_supervised()
        if is_on_its_own and self._peers.is_asked_to_stop():
            self._handshake.stopped.requested = True
        self.verdict = None if self.lease is None else self.lease.loss()
        if self.verdict is None and servers and task_events.is_supervised():
            # Each lost task is restarted alone, and the others wait for it.
            return False
        self.verdict = self.verdict or self._peers.report()
        # The last checkpoint needs the servers.
        is_at_end = self.step is not None and self.step == self._last_step
        if self.verdict is None and (servers or not is_at_end):
            self.verdict = self._silent() or (self._quiet() if self._member.in_step else None)
        return self.verdict is not None

    def disconnect_servers(self) -> None:
        """Shut down the connections to parameter servers, for which TensorFlow waits when a session is closed."""
        for _, address in self._member.servers:
            disconnect(address)

    def give_up(self) -> None:
        """End this process, whose step and session never end, and print which task it lost."""
        sys.stderr.write(f"Error: {self.verdict or self.broken()}\n")
        sys.stderr.flush()
        os._exit(1)

    def training_peers(self) -> set[str]:
        if self._handshake.stopped.requested:
            return set()
        others = [each for each in self._member.training_tasks if each[0] != self._member.task]
        away = self._peers.unanswering(others)
        return {str(task) for task, address in others if (task, address) not in away}

    def check_that_chief_has_ended(self) -> None:
        step = self.step
        is_watched = self._member.in_step and not self._member.is_chief
        if not is_watched or step is None or step == self._last_step:
            return
        # Before a supervisor calls this task stalled, so that the cause is reported.
        end = time.monotonic() + min(_END_S, self._stall_timeout_s / 2)
        while time.monotonic() < end:
            record = self._progress.read()
            if record is None or record.is_finished:
                # Either the record cannot be read from here, or all is well.
                return
            time.sleep(_PAUSE_S)
        raise _ran_out_of_data(self._member.task, step)

    def loss_error(self) -> TfdistributeError:
        end = time.monotonic() + _CONFIRM_S
        while time.monotonic() < end:
            # A supervisor soon knows which task is lost, and interrupts the others.
            if task_events.is_supervised():
                time.sleep(_PAUSE_S / 2)
            if self._handshake.stopped.requested:
                break
            error = self._chief_has_ended() or self._peers.report() or self._gone_soon()
            if error is not None:
                return error
            time.sleep(_PAUSE_S)
        return self.broken()

    def explain(self, error: Exception) -> TfdistributeError | None:
        """Return the error for a failure of TensorFlow that a lost task has caused; None if none has."""
        if self.verdict is not None:
            return self.verdict
        errors = engine.tf.errors
        broken = isinstance(error, (errors.UnavailableError, errors.AbortedError))
        # Texts of sums over tasks, whatever the class of the error.
        broken = broken or any(
            text in str(error) for text in ("Collective ops is aborted", engine.collectives.BROKEN)
        )
        late = isinstance(error, errors.DeadlineExceededError)
        may_be_loss = isinstance(
            error, (errors.CancelledError, errors.InternalError, errors.UnknownError)
        )
        if not self._member.needed or not (broken or late or may_be_loss):
            return None
        if (broken or late) and self._member.in_step:
            return self.loss_error()
        reason = self._peers.report() or self._gone_soon()
        return self.broken() if reason is None and (broken or late) else reason

    def gone(self, missing: Sequence[tuple[Task, str]]) -> LostPeerError:
        return LostPeerError(
            f"{self._member.task} lost {format_tasks(missing)}{self._after()}: it no longer answers.",
            _RESTART,
            argument="cluster",
            value=format_tasks(missing),
        )

    def broken(self) -> LostPeerError:
        return LostPeerError(
            f"{self._member.task} lost its connection to the other tasks{self._after()}.",
            "Look at the other tasks' logs, then start all tasks again: training continues from the last checkpoint.",
            argument="cluster",
        )

    def _gone_soon(self) -> LostPeerError | None:
        missing = self._peers.unanswering(self._member.needed, _SOON_S)
        return self.gone(missing) if missing else None

    def _silent(self) -> LostPeerError | None:
        limit_s = silence_s(self._stall_timeout_s)
        silent = self._peers.silent(self._member.watched)
        ended = [each for each in self._member.watched if self._peers.has_ended(each[0])]
        # TensorFlow's sums over hosts wait for a process that ended between them until it is back.
        if ended and self._member.in_step and not self._may_be_at_end():
            return self.gone(ended)
        lost = [each for each in self._member.watched if silent[each[0]] > limit_s]
        if not lost:
            return None
        seconds = max(silent[task] for task, _ in lost)
        return LostPeerError(
            f"{self._member.task} lost {format_tasks(lost)}{self._after()}: it has given no sign of life for "
            f"{seconds:.0f} seconds.",
            "See whether the process is frozen or its host cannot be reached, then start all tasks again: training "
            "continues from the last checkpoint.",
            argument="cluster",
            value=format_tasks(lost),
        )

    def _quiet(self) -> TfdistributeError | None:
        seconds = time.monotonic() - self._since
        end = self._chief_has_ended() if seconds > _QUIET_S else None
        if end is not None or seconds < self._stall_timeout_s or task_events.is_supervised():
            return end
        return LostPeerError(
            f"{self._member.task} made no step for {seconds:.0f} seconds{self._after()}, though all tasks answer.",
            "Look at the logs for the task that is busy with something else, or increase `stall_timeout_s`.",
            argument="stall_timeout_s",
            value=f"{self._stall_timeout_s:g}",
        )

    def _may_be_at_end(self) -> bool:
        record = self._progress.read()
        step, last = self.step, self._last_step
        is_last = step is not None and last is not None and step + self._run_steps >= last
        return is_last or (record is not None and record.is_finished)

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

    def _after(self) -> str:
        return " before its first step" if self.step is None else f" after step {self.step}"


@contextlib.contextmanager
def translate_losses(watch: PeerWatch) -> Iterator[None]:
    try:
        yield
    except (engine.tf.errors.OpError, RuntimeError) as error:
        explanation = watch.explain(error)
        if explanation is None:
            raise
        raise explanation from error


def _ran_out_of_data(task: Task, step: int | None) -> InputError:
    return InputError(
        f"{task} ran out of data after step {step}, while other tasks have more: under strategy_multi_worker() all "
        "tasks take the same steps.",
        "Let the input function give every task the same number of batches, or repeat the data and give `max_steps`.",
        argument="input",
        value=str(task),
    )
