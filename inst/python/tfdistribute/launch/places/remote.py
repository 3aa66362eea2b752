"""Hosts that are reached through an agent, and the processes that it has started."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import itertools
import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfdistribute.errors import ClusterError
from tfdistribute.launch.host import hardware
from tfdistribute.launch.host.logs import open_log
from tfdistribute.launch.host.private_directory import digest_of
from tfdistribute.launch.host.processes import Activity
from tfdistribute.launch.places.connection import Connection
from tfdistribute.launch.places.place import LEAST_BYTES, Place, StartedProcess, StartOptions
from tfdistribute.launch.places.transport import Transport, agent_command

_TICK_S = 0.25
# How long ssh may take to connect, and a host to answer.
CONNECT_S = 25.0
_ANSWER_S = 20.0
# How long the files of a job may take to arrive again.
FILES_S = 600.0

# Called with "log" or "events", and what the process has written there.
OnWritten = Callable[[str, bytes], None]


class RemoteProcess(StartedProcess):
    """A process of an agent.

    Args:
        number: Its number in the messages of its agent.
    """

    def __init__(self, place: RemotePlace, number: int, on_written: OnWritten) -> None:
        # Until the agent tells the number of the process, and for one that never started.
        self.pid = 0
        self.on_written = on_written
        self.code: int | None = None
        self.last_activity = Activity()
        self._place, self._number = place, number

    def exit_code(self) -> int | None:
        """Return the exit code; that of SIGKILL if the host is out of reach."""
        return self.code

    def lose(self, why: str) -> None:
        """Give up the process: its agent ends it."""
        self.loss, self.code = why, -signal.SIGKILL

    def signal(self, number: int, whole_group: bool = True, if_caught: bool = False) -> None:
        if self.code is None:
            self._place.send("signal", self._number, signal=[number, whole_group, if_caught])

    def activity(self) -> Activity:
        return self.last_activity

    def wait(self, seconds: float) -> None:
        self._place.wait(lambda: self.code is not None, seconds)


class RemotePlace(Place):
    """A host that is reached through an agent.

    Args:
        home: The job's private directory on this machine, whose files the host gets.
        others: All places of the job: while this place waits for an answer, the others' connections are served.
    """

    def __init__(
        self, host: str, transport: Transport, home: str, others: list[RemotePlace] | None = None
    ) -> None:
        self.host = host
        self.address = ""
        self.directory = ""
        self.facts: dict[str, Any] = {}
        self.hello: dict[str, Any] = {}
        self.transport = transport
        self.connection: Connection | None = None
        self._home = home
        # The private directory has the same name on every host, and after a loss: tasks know their job by it.
        self._job = os.path.basename(home) or "check"
        self._all = [] if others is None else others
        self._all.append(self)
        self._numbers = itertools.count(1)
        self._free_bytes = LEAST_BYTES
        self._processes: dict[int, RemoteProcess] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._questions: dict[int, str] = {}
        self._files: list[str] = []

    def connect(self) -> None:
        """Begin to connect; ``wait`` until ``is_settled``."""
        self.hello = {}
        how = self.transport
        agent = agent_command(how.python, how.lease_s, self._job)
        # Without it, a Python that is itself a shared library may not start.
        found_by = how.environment.get("LD_LIBRARY_PATH")
        command = how.command(
            agent if found_by is None else ["env", f"LD_LIBRARY_PATH={found_by}", *agent]
        )
        try:
            self.connection = Connection(command, how.agent_source(), how.lease_s, self._take)
        except OSError as error:
            raise ClusterError(
                f'{self.host} cannot be reached by "{command[0]}", which cannot be run: {error.strerror}.',
                f"Install {os.path.basename(command[0])}, or give its path.",
                argument=how.argument,
                value=command[0],
            ) from error

    @property
    def is_connected(self) -> bool:
        return bool(self.hello) and self.lost is None

    @property
    def is_settled(self) -> bool:
        return self.is_connected or self.lost is not None

    @property
    def lost(self) -> str | None:
        return "it was never connected" if self.connection is None else self.connection.lost

    @property
    def _said(self) -> str:
        return "" if self.connection is None else self.connection.said.strip()

    def why_lost(self) -> tuple[str, str]:
        """Say why the host is out of reach, as the end of a sentence, and what to do."""
        explained = self.transport.explain(self.host, self._said, is_started=bool(self.hello))
        if explained is not None:
            return explained
        last = f" ({self._said.splitlines()[-1]})" if self._said else ""
        why = self.lost or f"it did not answer in {CONNECT_S:g} seconds"
        return f"{why}{last}", self.transport.check

    def problem(self) -> ClusterError:
        other = None if self.hello else self.transport.other_version(self.host, self._said)
        if other is not None:
            return other
        why, remedy = self.why_lost()
        problem = f"{self.transport.subject} cannot be used: {why}."
        return ClusterError(problem, remedy, argument=self.transport.argument, value=self.host)

    def poll(self) -> None:
        if self.connection is not None:
            self.connection.poll()
            if self.connection.lost is not None:
                for process in self._processes.values():
                    process.lose(self.why_lost()[0])
                self._processes.clear()

    def wait(self, is_over: Callable[[], bool], seconds: float) -> bool:
        """Serve the connections of all places until something is true; return whether it is."""
        end = time.monotonic() + seconds
        while not is_over():
            left = end - time.monotonic()
            if left < 0:
                return False
            poll = select.poll()
            for each in self._all:
                if each.connection is not None:
                    each.connection.register(poll)
            poll.poll(min(left, _TICK_S) * 1000)
            for each in self._all:
                each.poll()
        return True

    def end(self) -> None:
        """Close the connection: the agent ends all its processes."""
        if self.connection is not None:
            self.connection.end()

    def close(self, seconds: float) -> None:
        if self.connection is not None:
            self.connection.close(max(seconds, 0))

    def _take(self, message: dict[str, Any], data: bytes) -> None:
        kind, number = message["op"], message.get("id", 0)
        if kind == "hello":
            self.clock_ahead_s = message["time"] - time.time()
            self.directory, self.hello = message["directory"], message
        elif kind == "answer":
            self._answers[number] = message
        elif kind == "alive":
            self._free_bytes = int(message["free"])
            for each, values in message["activities"].items():
                if int(each) in self._processes:
                    self._processes[int(each)].last_activity = Activity(*values)
        elif kind == "ending":
            self.is_ending = self.transport.ignores_end
        elif kind == "wrote":
            self._processes[number].on_written(message["file"], data)
        elif kind == "ended":
            self._processes.pop(number).code = message["code"]

    def send(self, operation: str, number: int, **fields: Any) -> None:
        """Send a message; do nothing if the host is out of reach."""
        if self.connection is not None:
            self.connection.send({"op": operation, "id": number, **fields})

    def _answer(self, number: int, seconds: float) -> dict[str, Any]:
        self.wait(lambda: number in self._answers or self.lost is not None, seconds)
        return self._answers.pop(number, {})

    def put(self, files: Iterable[str]) -> None:
        """Send files of the job's private directory; ``wait`` until ``has_files``.

        The same files go to the host again after the connection was lost.
        """
        self._files = list(files)
        self._unconfirmed = {next(self._numbers): path for path in self._files}
        assert self.connection is not None
        for number, path in self._unconfirmed.items():
            self.connection.send_file(path, os.path.relpath(path, self._home), number)

    def has_files(self) -> bool:
        """Return whether all files have arrived.

        Raises:
            ClusterError: one arrived changed.
        """
        for number, path in list(self._unconfirmed.items()):
            answer = self._answers.pop(number, None)
            if answer is not None:
                del self._unconfirmed[number]
                if answer["digest"] != digest_of(path):
                    raise ClusterError(
                        f'"{os.path.basename(path)}" did not arrive at {self.host} as it was sent.'
                    )
        return not self._unconfirmed

    @property
    def environment(self) -> Mapping[str, str]:
        """None of this machine's variables: those of the host are its own."""
        return {}

    def cores(self) -> list[int]:
        return list(self.facts.get("cores", ()))

    def gpus(self, environment: Mapping[str, str]) -> list[str]:
        chosen = environment.get(hardware.VISIBLE, self.facts.get("visible_gpus"))
        return hardware.visible_gpus(chosen, int(self.facts.get("gpus", 0)))

    def lacks_space(self) -> bool:
        """Return what the last sign of life told."""
        return self._free_bytes < LEAST_BYTES

    def free_ports(self, count: int) -> Sequence[int]:
        return self.answer(self.ask("free_ports", count))

    def port_owner(self, port: int) -> str | None:
        """Return None: programs of other hosts are not looked at."""
        return None

    def renew(self) -> None:
        """Connect again if the host is out of reach, once its former agent has ended all its processes."""
        if self.is_connected:
            return
        former = self.directory
        self.close(0)
        with contextlib.suppress(ClusterError):
            self.connect()
            self.wait(lambda: self.is_settled, CONNECT_S)
            if self.is_connected:
                seconds = self.transport.lease_s + _ANSWER_S
                self.answer(self.ask("gone", former, seconds), seconds + _ANSWER_S)
                self.put(self._files)
                self.wait(lambda: self.lost is not None or self.has_files(), FILES_S)

    def start(self, options: StartOptions) -> StartedProcess:
        """Start a process; on a host that is out of reach, one that is lost already."""
        paths = {"log": options.log, "events": options.events}
        try:
            if self.is_connected:
                return self.start_process(
                    options.command,
                    lambda name, data: _append(paths[name], data),
                    environment={**options.environment, **options.task},
                    directory=options.directory,
                    cores=options.cores,
                    events=os.path.relpath(options.events, self._home),
                )
        except OSError:
            if self.lost is None:
                raise
        process = RemoteProcess(self, 0, lambda name, data: None)
        process.lose(self.why_lost()[0])
        return process

    def start_process(
        self, command: Sequence[str], on_written: OnWritten, **options: Any
    ) -> RemoteProcess:
        """Start a process with ``StartOptions``; raise OSError if it cannot be run or the host is out of reach."""
        number = next(self._numbers)
        process = self._processes[number] = RemoteProcess(self, number, on_written)
        files = {"log": f"logs/{number}", "events": f"events/{number}"}
        fields: dict[str, Any] = {"environment": {}, "directory": "", **files, **options}
        started = StartOptions(command, task={}, **fields, ignores_end=self.transport.ignores_end)
        self.send("start", number, options=dataclasses.asdict(started))
        answer = self._answer(number, _ANSWER_S)
        if "pid" not in answer:
            del self._processes[number]
            code = answer.get("error", errno.ETIMEDOUT)
            raise OSError(code, os.strerror(code))
        process.pid = answer["pid"]
        return process

    def ask(self, question: str, *arguments: Any) -> int:
        """Begin to ask a question of ``probe``, and return the number of its answer."""
        number = next(self._numbers)
        environment = dict(self.transport.environment)
        request = {"question": question, "arguments": arguments, "environment": environment}
        self.send("ask", number, **request)
        self._questions[number] = question
        return number

    def answer(self, number: int, seconds: float = _ANSWER_S) -> Any:
        """Wait for the answer to a question.

        Raises:
            ClusterError: there is none.
        """
        answer = self._answer(number, seconds)
        if "answer" in answer:
            return answer["answer"]
        if self.lost is not None:
            raise self.problem()
        raise ClusterError(
            f'`hosts` holds "{self.host}", which did not answer the question '
            f'"{self._questions[number]}": {answer.get("error", "nothing was heard")}.',
            argument="hosts",
            value=self.host,
        )


def _append(path: str, data: bytes) -> None:
    log = open_log(path)
    with contextlib.suppress(OSError):
        os.write(log, data)
    os.close(log)
