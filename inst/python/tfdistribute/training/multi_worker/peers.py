"""The other tasks of a cluster, as this task reaches them through the key-value stores of their servers."""

import contextlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from tfdistribute import __version__, engine, errors, task_events
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.peers import TasksWithAddresses, connection_error, is_listening
from tfdistribute.cluster.spec import Task
from tfdistribute.cluster.task_facts import TaskFacts
from tfdistribute.engine.step import passes
from tfdistribute.errors import LostPeerError, TfdistributeError
from tfdistribute.files import parse_json

# Time that a peer has to answer. Processes that share a busy core may need seconds.
ANSWER_S = 10.0
# A peer that has not answered after this time may have ended.
_LOOK_S = 1.0
# Time in which a task that ends tells the others why.
_TELL_S = 3.0

_process = secrets.token_hex(8)

# Keys of the texts.
FACTS, WORK, REPORT, STOP = "facts", "work", "report", "stop"


class Store(Protocol):
    def write(self, texts: dict[str, str]) -> bool: ...

    def read(self, keys: Sequence[str]) -> list[str] | None: ...

    def close(self) -> None: ...


class Peers:
    """The other tasks of one training.

    Args:
        connect: Makes the store of a server from its address with protocol and a timeout; None for TensorFlow's.
    """

    def __init__(
        self, member: Member, connect: Callable[[str, float], Store] | None = None
    ) -> None:
        self.member = member
        self.training = member.begin_training()
        self.process = _process
        self._connect = connect
        self._stores: dict[str, Store] = {}
        self._silent_s: dict[Task, float] = {}
        self._refusals: dict[Task, int] = {}
        self._looked_at: float | None = None
        self._has_server = self._has_told = False

    def facts(self, **others: Any) -> TaskFacts:
        return TaskFacts(
            task=str(self.member.task),
            host=socket.gethostname(),
            process=self.process,
            training=self.training,
            cluster={role: list(each) for role, each in sorted(self.member.cluster.items())},
            package=__version__,
            tensorflow=engine.tf.__version__,
            passes=passes.list_switched_off(),
            **others,
        )

    def publish(self, key: str, text: str) -> None:
        self._has_server = True
        self._store_at(self.member.address).write({key: text})

    def facts_of(self, task: Task, address: str) -> TaskFacts | None:
        """Return what a peer is about to do; None if it does not answer or has not begun this training."""
        text = self.read(task, address, FACTS)
        facts = TaskFacts.from_text(text) if text else None
        return None if facts is None or facts.training < self.training else facts

    @property
    def agreed(self) -> str:
        return f"agreed/{self.training}"

    def read(self, task: Task, address: str, key: str) -> str | None:
        """Read a text of a peer: "" if it is not written, None if the peer does not answer."""
        if not self._is_listening(task, address):
            # TensorFlow would try until its deadline.
            self._stores.pop(address, None)
            return None
        answer = self._store_at(address).read([key])
        return None if answer is None else answer[0]

    def unanswering(
        self, tasks: TasksWithAddresses, timeout_s: float = ANSWER_S
    ) -> list[tuple[Task, str]]:
        answers: set[Task] = set()

        def ask(task: Task, address: str) -> None:
            if self.read(task, address, FACTS) is not None:
                answers.add(task)

        end = time.monotonic() + timeout_s
        for (task, address), thread in zip(tasks, _start_threads(ask, tasks), strict=True):
            thread.join(min(_LOOK_S, max(0.0, end - time.monotonic())))
            # TensorFlow waits until its deadline for a process that ends while it is asked.
            while thread.is_alive() and time.monotonic() < end and not self.has_ended(task):
                self._is_listening(task, address)
                thread.join(_LOOK_S)
        return [(task, address) for task, address in tasks if task not in answers]

    def has_ended(self, task: Task) -> bool:
        """Return whether the process of a peer has ended: its host rejected the last two connections."""
        return self._refusals.get(task, 0) > 1

    def _is_listening(self, task: Task, address: str) -> bool:
        error = connection_error(address)
        refused = isinstance(error, ConnectionRefusedError)
        self._refusals[task] = self._refusals.get(task, 0) + 1 if refused else 0
        return error is None

    def silent(self, tasks: TasksWithAddresses) -> dict[Task, float]:
        """Look for a sign of life of peers, and return for how many seconds each has given none.

        Only time in which this task has waited for an answer counts, because a clock would accuse peers after this task
        has itself been suspended.
        """
        before, self._looked_at = self._looked_at, time.monotonic()
        unanswering = {task for task, _ in self.unanswering(tasks)}
        waited = time.monotonic() - self._looked_at
        between = 0.0 if before is None else self._looked_at - before
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
        is_own = isinstance(error, TfdistributeError)
        values = errors.as_values(error) if is_own else {"problem": "It was asked to stop."}
        about: dict[str, Any] = {
            "traceback": None,
            "task": str(self.member.task),
            "host": socket.gethostname(),
            "shared": is_shared,
            "training": None if in_any_training else self.training,
        }
        self._send(REPORT, json.dumps({**values, **about}, default=str))

    @contextlib.contextmanager
    def report_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if isinstance(error, Exception):
                task_events.emit_failure(error)
            self.tell(error)
            raise
        finally:
            self.close()

    def report(self) -> TfdistributeError | None:
        """Return the error for a peer that has reported why it ends; None if none has."""
        text = self._received(REPORT)
        values: Any = parse_json(text) if text else {}
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

    def ask_chief_to_stop(self) -> None:
        """Let the chief end the training with a checkpoint, because this task must end soon."""
        self._send(STOP, str(self.training))

    def is_asked_to_stop(self) -> bool:
        return self._received(STOP) == str(self.training)

    def close(self) -> None:
        while self._stores:
            self._stores.popitem()[1].close()

    def _send(self, key: str, text: str) -> None:
        """Write a text for the tasks that depend on this one, to all of them at the same time."""

        def write(_task: Task, address: str) -> None:
            if is_listening(address):
                store = self._new_store(address, _TELL_S)
                store.write({key: text})
                store.close()

        end = time.monotonic() + _TELL_S
        for thread in _start_threads(write, self.member.dependents):
            thread.join(max(0.0, end - time.monotonic()))

    def _received(self, key: str) -> str | None:
        answer = self._store_at(self.member.address).read([key]) if self._has_server else None
        return answer[0] if answer else None

    def _store_at(self, address: str) -> Store:
        if address not in self._stores:
            self._stores[address] = self._new_store(address, ANSWER_S)
        return self._stores[address]

    def _new_store(self, address: str, timeout_s: float) -> Store:
        connect = engine.multi_worker.KeyValueStore if self._connect is None else self._connect
        return connect(f"{self.member.protocol}://{address}", timeout_s)


def _start_threads(
    action: Callable[[Task, str], None], tasks: TasksWithAddresses
) -> list[threading.Thread]:
    threads = [
        threading.Thread(target=action, args=(task, address), daemon=True)
        for task, address in tasks
    ]
    for thread in threads:
        thread.start()
    return threads
