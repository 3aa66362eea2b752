"""The other tasks of a cluster, as this task reaches them through the records of their servers."""

from __future__ import annotations

import itertools
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tfdistribute import __version__, engine, errors, task_events
from tfdistribute.cluster.agreement import TaskFacts, cluster_of
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.peers import TasksWithAddresses, connection_error, is_listening
from tfdistribute.cluster.spec import Task
from tfdistribute.engine.step import passes
from tfdistribute.errors import LostPeerError, TfdistributeError
from tfdistribute.files import parse_json

# Time that a peer has to answer. Processes that share a busy core may need seconds.
ANSWER_S = 10.0
# A peer that has not answered after this time may have ended.
_LOOK_S = 1.0
# Time in which a task that ends tells the others why.
_TELL_S = 3.0

# Trainings of this process. All tasks of a cluster call the same verbs, so they count alike.
_trainings = itertools.count(1)
_process = secrets.token_hex(8)

# Keys of the records.
FACTS, WORK, REPORT = "facts", "work", "report"


class RecordsOfServer(Protocol):
    """The records of one server, as ``engine.tasks.Records`` provides them."""

    def write(self, texts: dict[str, str]) -> bool:
        """Write texts by key; return whether the server answered."""
        ...

    def read(self, keys: Sequence[str]) -> list[str] | None:
        """Read texts; None if the server does not answer."""
        ...

    def close(self) -> None:
        """Close the connection."""


class Peers:
    """The other tasks of one training.

    Args:
        connect: Makes the records of a server from its address with protocol and a timeout; None for TensorFlow's.
    """

    def __init__(
        self, member: Member, connect: Callable[[str, float], RecordsOfServer] | None = None
    ) -> None:
        self.member = member
        self.training = next(_trainings)
        self.process = _process
        self._connect = connect
        self._records: dict[str, RecordsOfServer] = {}
        self._silent_s: dict[Task, float] = {}
        self._refusals: dict[Task, int] = {}
        self._asked_at: float | None = None
        self._has_server = self._has_told = False

    def facts(self, **known: Any) -> TaskFacts:
        return TaskFacts(
            task=str(self.member.task),
            host=socket.gethostname(),
            process=self.process,
            training=self.training,
            cluster=cluster_of(self.member),
            package=__version__,
            tensorflow=engine.tf.__version__,
            passes=passes.switched_off(),
            **known,
        )

    def publish(self, key: str, text: str) -> None:
        """Write a record on this task's own server, which must be running."""
        self._has_server = True
        self._records_at(self.member.address).write({key: text})

    def facts_of(self, task: Task, address: str) -> TaskFacts | None:
        """Return what a peer is about to do; None if it does not answer or has not begun this training."""
        text = self.read(task, address, FACTS)
        facts = TaskFacts.from_text(text) if text else None
        return None if facts is None or facts.training < self.training else facts

    @property
    def agreed(self) -> str:
        """Key of the chief's record that all tasks agree on this training."""
        return f"agreed/{self.training}"

    def read(self, task: Task, address: str, key: str) -> str | None:
        """Read a record of a peer: "" if it is not written, None if the peer does not answer."""
        if not self._is_listening(task, address):
            # TensorFlow would try until its deadline.
            self._records.pop(address, None)
            return None
        answer = self._records_at(address).read([key])
        return None if answer is None else answer[0]

    def unanswering(
        self, tasks: TasksWithAddresses, timeout_s: float = ANSWER_S
    ) -> list[tuple[Task, str]]:
        """List the peers whose servers do not answer, after asking all at once."""
        answers: set[Task] = set()

        def ask(task: Task, address: str) -> None:
            if self.read(task, address, FACTS) is not None:
                answers.add(task)

        end = time.monotonic() + timeout_s
        for (task, address), thread in zip(tasks, _started(ask, tasks), strict=True):
            thread.join(min(_LOOK_S, max(0.0, end - time.monotonic())))
            # TensorFlow waits until its deadline for a process that ends while it is asked.
            while thread.is_alive() and time.monotonic() < end and not self.has_ended(task):
                self._is_listening(task, address)
                thread.join(_LOOK_S)
        return [(task, address) for task, address in tasks if task not in answers]

    def has_ended(self, task: Task) -> bool:
        """Return whether the process of a peer has ended: its host refused the last two connections."""
        return self._refusals.get(task, 0) > 1

    def _is_listening(self, task: Task, address: str) -> bool:
        error = connection_error(address)
        refused = isinstance(error, ConnectionRefusedError)
        self._refusals[task] = self._refusals.get(task, 0) + 1 if refused else 0
        return error is None

    def silent(self, tasks: TasksWithAddresses) -> dict[Task, float]:
        """Ask peers for a sign of life, and return for how long each has given none.

        Only time in which this task has waited for an answer counts: after it has itself been suspended, a clock would
        accuse peers that it did not ask.
        """
        asked_at, self._asked_at = self._asked_at, time.monotonic()
        unanswering = {task for task, _ in self.unanswering(tasks)}
        waited = time.monotonic() - self._asked_at
        between = 0.0 if asked_at is None else self._asked_at - asked_at
        for task, _ in tasks:
            more = waited + min(between, ANSWER_S)
            self._silent_s[task] = (
                self._silent_s.get(task, 0.0) + more if task in unanswering else 0.0
            )
        return {task: self._silent_s[task] for task, _ in tasks}

    def tell(
        self, error: BaseException, is_shared: bool = False, in_any_training: bool = False
    ) -> None:
        """Tell the tasks that depend on this one why it ends; only the first call does. Never raises.

        Args:
            is_shared: Whether it is the others' error as well, such as a disagreement.
            in_any_training: Whether it matters to a task that counts its trainings differently.
        """
        if self._has_told or task_events.is_in_job() or not engine.is_started():
            # The supervisor of a job ends or restarts the others, and soon ends this one.
            return
        self._has_told = True
        known = isinstance(error, TfdistributeError)
        values = errors.as_values(error) if known else {"problem": "It was asked to stop."}
        about: dict[str, Any] = {
            "traceback": None,
            "task": str(self.member.task),
            "host": socket.gethostname(),
        }
        training = None if in_any_training else self.training
        about |= {"shared": is_shared, "training": training}
        text = json.dumps({**values, **about}, default=str)

        def write(task: Task, address: str) -> None:
            del task
            if is_listening(address):
                records = self._new_records(address, _TELL_S)
                records.write({REPORT: text})
                records.close()

        _in_parallel(write, self.member.dependents, _TELL_S)

    def report(self) -> TfdistributeError | None:
        """Return the error for a peer that has told why it ends; None if none has."""
        if not self._has_server:
            return None
        answer = self._records_at(self.member.address).read([REPORT])
        values: Any = parse_json(answer[0]) if answer and answer[0] else {}
        if values.get("training", 0) not in (None, self.training):
            return None
        if values.get("shared"):
            error = errors.from_values(values)
            self.tell(error, is_shared=True)
            return error
        return LostPeerError(
            f"{values.get('task')} (on {values.get('host')}) has ended: {values.get('problem')}",
            values.get("remedy") or "Start all tasks again to continue from the last checkpoint.",
            argument="cluster",
            value=str(values.get("task")),
        )

    def close(self) -> None:
        """Close all connections. Idempotent."""
        while self._records:
            self._records.popitem()[1].close()

    def _records_at(self, address: str) -> RecordsOfServer:
        if address not in self._records:
            self._records[address] = self._new_records(address, ANSWER_S)
        return self._records[address]

    def _new_records(self, address: str, timeout_s: float) -> RecordsOfServer:
        connect = engine.tasks.Records if self._connect is None else self._connect
        return connect(f"{self.member.protocol}://{address}", timeout_s)


def _in_parallel(
    action: Callable[[Task, str], None], tasks: TasksWithAddresses, timeout_s: float
) -> None:
    end = time.monotonic() + timeout_s
    for thread in _started(action, tasks):
        thread.join(max(0.0, end - time.monotonic()))


def _started(
    action: Callable[[Task, str], None], tasks: TasksWithAddresses
) -> list[threading.Thread]:
    threads = [
        threading.Thread(target=action, args=(task, address), daemon=True)
        for task, address in tasks
    ]
    for thread in threads:
        thread.start()
    return threads
