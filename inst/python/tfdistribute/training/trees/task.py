"""Tasks of a cluster that grow trees with workers of ydf, of which the chief is the manager."""

import time
from dataclasses import replace
from typing import Any

from tfdistribute import task_events
from tfdistribute.cluster.addresses import parse_address
from tfdistribute.cluster.peers import connection_error, format_tasks
from tfdistribute.cluster.spec import silence_s
from tfdistribute.errors import LostPeerError
from tfdistribute.training.history import History
from tfdistribute.training.multi_worker.parameter_server import check_port, has_ended
from tfdistribute.training.multi_worker.perform import TaskRun
from tfdistribute.training.preparation import TrainingHere, prepare_training
from tfdistribute.training.trees.grow import grow_here
from tfdistribute.training.trees.ydf import library

_POLL_S = 0.2


class GrowingTask(TaskRun):
    """The run of one task. Workers listen at the addresses of the tasks, in place of TensorFlow's servers."""

    _stop_worker: Any = None

    def _prepare(self) -> Any:
        assignment = self._assignment
        if not self._member.is_chief:
            return None
        assignment.model.check_cluster()
        # The chief reads all rows, and writes the checkpoint, as one process does.
        settings = replace(assignment.settings, strategy=None, cluster=None)
        return prepare_training(assignment.verb, assignment.model, settings, assignment.train.input)

    def _serve(self) -> None:
        # gRPC would share the port with another program.
        check_port(self._member)
        place = parse_address(self._member.address)
        assert place is not None and place.port is not None
        self._stop_worker = library().start_worker(place.port, blocking=False)

    def meet(self) -> None:
        missing = self._silent()
        end = time.monotonic() + self._assignment.start_timeout_s
        if missing:
            task_events.emit("waiting", **{"for": ", ".join(str(task) for task, _ in missing)})
        while missing and time.monotonic() < end and not self._stop():
            time.sleep(_POLL_S)
            missing = self._silent()
        if missing and not self._stop():
            raise self._lost(missing, "did not start in time")
        if not self._member.is_chief:
            # The supervisor then no longer waits for its start.
            task_events.emit_step(0)

    def train(self) -> History:
        assignment, member = self._assignment, self._member
        if member.is_chief:
            addresses = [address for _, address in member.training_tasks]
            here = TrainingHere(self._prepared, self._history, self._stop, {})
            grow_here(here, assignment, addresses)
            return self._history
        limit_s, heard_at = silence_s(assignment.stall_timeout_s), time.monotonic()
        while not has_ended(assignment, came=True) and not self._stop():
            time.sleep(_POLL_S)
            if not self._silent():
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > limit_s and not task_events.is_supervised():
                raise self._lost(self._silent(), "no longer listens")
        return self._history

    def close(self) -> None:
        if self._stop_worker is not None:
            self._stop_worker()

    def _silent(self) -> list[Any]:
        """Return the tasks that this one needs and that do not listen: all for the chief, the chief for others."""
        member = self._member
        needed = member.training_tasks if member.is_chief else (member.chief,)
        return [each for each in needed if each is not None and connection_error(each[1])]

    def _lost(self, tasks: list[Any], how: str) -> LostPeerError:
        return LostPeerError(
            f"{self._member.task} needs {format_tasks(tasks)}, which {how}.",
            "Start every task of the cluster, and see its log for the reason.",
            argument="cluster",
            value=format_tasks(tasks),
        )
