"""Tasks of a cluster that grow trees with workers of ydf, of which the chief is the manager."""

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tfdistribute import task_events
from tfdistribute.cluster.addresses import parse_address
from tfdistribute.cluster.peers import format_tasks
from tfdistribute.cluster.spec import silence_s
from tfdistribute.errors import LostPeerError, ModelDirectoryError
from tfdistribute.training.history import History
from tfdistribute.training.multi_worker.handshake import SHARE_S
from tfdistribute.training.multi_worker.parameter_server import check_port, has_ended
from tfdistribute.training.multi_worker.perform import TaskRun
from tfdistribute.training.multi_worker.resume import ProgressFile
from tfdistribute.training.preparation import TrainingHere, prepare_training
from tfdistribute.training.remote.lease import uploads
from tfdistribute.training.trees.grow import grow_here
from tfdistribute.training.trees.ydf import library

_POLL_S = 0.5
_ANSWER_S = 2.0
# The first bytes of a client of gRPC.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"


class GrowingTask(TaskRun):
    """The run of one task. Workers listen at the addresses of the tasks, in place of TensorFlow's servers."""

    _stop_worker: Any = None
    _heard_at = 0.0

    def _prepare(self) -> Any:
        assignment, member = self._assignment, self._member
        if not member.is_chief:
            return None
        places = (parse_address(address) for _, address in member.training_tasks)
        assignment.model.check_cluster(len({place and place.host for place in places}) > 1)
        # The chief reads all rows, and writes the checkpoint, as one process does.
        settings = replace(assignment.settings, strategy=None, cluster=None)
        return prepare_training(assignment.verb, assignment.model, settings, assignment.train.input)

    def _serve(self) -> None:
        # gRPC would share the port with another program.
        check_port(self._member)
        if self._member.is_chief:
            self._listen()

    def _listen(self) -> None:
        place = parse_address(self._member.address)
        assert place is not None and place.port is not None
        self._stop_worker = library().start_worker(place.port, blocking=False)

    def meet(self) -> None:
        """Wait for the tasks that this one needs. A worker listens once it sees the directory of the chief."""
        if missing := self._silent():
            task_events.emit("waiting", **{"for": ", ".join(str(task) for task, _ in missing)})
        if not self._await(lambda: not self._silent(), self._assignment.start_timeout_s):
            raise self._lost(self._silent(), "did not start in time")
        if self._member.is_chief:
            return
        model_dir = self._assignment.model.model_dir
        progress = ProgressFile(model_dir, self._member)
        if not self._await(lambda: (record := progress.read()) and not record.is_finished, SHARE_S):
            raise ModelDirectoryError(
                f'{self._member.task} does not see in `model_dir` "{model_dir}" what the chief wrote there.',
                "Use a directory that all hosts share under one path.",
                argument="model_dir",
                value=model_dir,
            )
        self._listen()
        # The supervisor then no longer waits for its start.
        task_events.emit_step(0)

    def train(self) -> History:
        assignment, member = self._assignment, self._member
        self._heard_at = time.monotonic()
        if member.is_chief:
            addresses = [address for _, address in member.training_tasks]
            here = TrainingHere(self._prepared, self._history, self._is_over, {})
            with uploads(assignment.model.model_dir):
                grow_here(here, assignment, addresses)
            return self._history
        while not has_ended(assignment, came=True) and not self._is_over():
            time.sleep(_POLL_S)
        return self._history

    def close(self) -> None:
        if self._stop_worker is not None:
            self._stop_worker()

    def _await(self, is_over: Callable[[], Any], limit_s: float) -> bool:
        end = time.monotonic() + limit_s
        while not is_over() and not self._stop.requested:
            if time.monotonic() > end:
                return False
            time.sleep(_POLL_S)
        return True

    def _is_over(self) -> bool:
        """Return whether the user stops this task; LostPeerError if no supervisor replaces a task that is gone."""
        silent, now = [] if task_events.is_supervised() else self._silent(), time.monotonic()
        self._heard_at = self._heard_at if silent else now
        if now - self._heard_at > silence_s(self._assignment.stall_timeout_s):
            # It would wait for the lost task without an end.
            self._stop_worker = None
            raise self._lost(silent, "no longer answers")
        return self._stop.requested

    def _silent(self) -> list[Any]:
        """Return the tasks that this one needs and that do not answer: all for the chief, the chief for others."""
        member = self._member
        needed = member.training_tasks if member.is_chief else (member.chief,)
        return [each for each in needed if each is not None and not _answers(each[1])]

    def _lost(self, tasks: list[Any], how: str) -> LostPeerError:
        return LostPeerError(
            f"{self._member.task} needs {format_tasks(tasks)}, which {how}.",
            "See the log of that task for the reason, and start all tasks again as new processes: the trees that are "
            "grown are kept.",
            argument="cluster",
            value=format_tasks(tasks),
        )


def _answers(address: str) -> bool:
    """Return whether a server of gRPC answers; the kernel accepts connections for a frozen process, too."""
    place = parse_address(address)
    assert place is not None
    try:
        with socket.create_connection((place.host, place.port), timeout=_ANSWER_S) as connection:
            connection.sendall(_HELLO)
            return bool(connection.recv(1))
    except OSError:
        return False
