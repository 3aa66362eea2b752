"""Hosts that are reached through an agent, and their processes."""

import contextlib
import dataclasses
import errno
import itertools
import math
import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfdistribute.errors import ClusterError
from tfdistribute.launch.host import hardware
from tfdistribute.launch.host.logs import append
from tfdistribute.launch.host.private_directory import digest_of
from tfdistribute.launch.host.processes import Activity
from tfdistribute.launch.places.connection import Connection
from tfdistribute.launch.places.place import LEAST_BYTES, Place, StartedProcess, StartOptions
from tfdistribute.launch.places.transport import Transport, agent_command

_TICK_S, _ANSWER_S = 0.25, 20.0
# Time between the notice and the end of a host.
NOTICE_S = 30.0
# How long the files of a job may take to arrive again.
FILES_S = 600.0

# Called with "log" or "events", and the new output of the process.
OnWritten = Callable[[str, bytes], None]


class RemoteProcess(StartedProcess):
    def __init__(self, place: "RemotePlace", number: int, on_written: OnWritten) -> None:
        # Until the agent tells the number of the process, and for one that never started.
        self.pid = 0
        self.on_written = on_written
        self.code: int | None = None
        self.last_activity = Activity()
        self._place, self._number = place, number

    def exit_code(self) -> int | None:
        # A process out of reach ends as if by SIGKILL.
        return self.code

    def lose(self, why: str) -> None:
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
        others: All places of the job, whose connections are served while this place waits for an answer.
    """

    def __init__(
        self, host: str, transport: Transport, home: str, others: "list[RemotePlace] | None" = None
    ) -> None:
        self.host = host
        self.address = ""
        self.directory = ""
        self.facts: dict[str, Any] = {}
        self.hello: dict[str, Any] = {}
        self.transport = transport
        self.connection: Connection | None = None
        # Whether the job is over, and nobody waits for the host any more.
        self.is_over: Callable[[], bool] = lambda: False
        self._home = home
        # The private directory has the same name on every host, and after a loss, because tasks know their job by it.
        self._job = os.path.basename(home) or "check"
        self._all = [] if others is None else others
        self._all.append(self)
        self._numbers = itertools.count(1)
        self._free_bytes = LEAST_BYTES
        self._processes: dict[int, RemoteProcess] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._questions: dict[int, str] = {}
        self._files: list[str] = []
        # When the host was told to end, or last said so.
        self._told_at = -math.inf
        # Of an agent that may still end its processes.
        self._former: str | None = None
        self._began = 0.0

    def connect(self) -> None:
        """Begin to connect; ``wait`` until ``is_settled``."""
        self.hello, self._began, self._told_at = {}, time.monotonic(), -math.inf
        how = self.transport
        agent = agent_command(how.python, how.lease_s, self._job)
        # Without it, a Python that is itself a shared library may not start.
        found_by = how.environment.get("LD_LIBRARY_PATH")
        try:
            channel = how.open(
                agent if found_by is None else ["env", f"LD_LIBRARY_PATH={found_by}", *agent]
            )
        except OSError as error:
            program = str(error.filename)
            raise ClusterError(
                f'{self.host} cannot be reached by "{program}", which cannot be run: {error.strerror}.',
                f"Install {os.path.basename(program)}, or give its path.",
                argument=how.argument,
                value=program,
            ) from error
        self.connection = Connection(channel, how.agent_source(), how.lease_s, self._take)

    @property
    def is_connected(self) -> bool:
        return bool(self.hello) and self.lost is None

    @property
    def is_leaving(self) -> bool:
        # A host that is still there some time later stays.
        return self.is_connected and time.monotonic() - self._told_at < NOTICE_S

    @property
    def is_back(self) -> bool:
        return self.is_connected and not self.is_leaving

    @property
    def is_settled(self) -> bool:
        return self.is_connected or self.lost is not None

    @property
    def lost(self) -> str | None:
        return "it was never connected" if self.connection is None else self.connection.lost

    @property
    def _said(self) -> str:
        return "" if self.connection is None else self.connection.words

    def why_lost(self) -> tuple[str, str]:
        """Return why the host is out of reach, as the end of a sentence, and the remedy."""
        explained = self.transport.explain(self.host, self._said, is_started=bool(self.hello))
        if explained is not None:
            return explained
        last = f" ({self._said.splitlines()[-1]})" if self._said else ""
        waited_s = time.monotonic() - self._began
        why = self.lost or f"it did not answer in {waited_s:.0f} seconds"
        return f"{why}{last}", self.transport.check

    def problem(self) -> ClusterError:
        known = None if self.connection is None else self.connection.channel.refusal
        if known is None and not self.hello:
            known = self.transport.other_version(self.host, self._said)
        if known is not None:
            return known
        why, remedy = self.why_lost()
        problem = f"{self.transport.subject} cannot be used: {why}."
        return ClusterError(problem, remedy, argument=self.transport.argument, value=self.host)

    def poll(self) -> None:
        if self.connection is not None:
            self.connection.poll()
            if self.connection.channel.is_leaving:
                self._told_at = time.monotonic()
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
        if self.connection is not None:
            self.connection.end()

    def close(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        if self.connection is not None:
            self.connection.close(max(seconds, 0))
        self.transport.release(max(until - time.monotonic(), 0))

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
            self.is_ending, self._told_at = self.transport.ends_job, time.monotonic()
        elif kind == "wrote":
            self._processes[number].on_written(message["file"], data)
        elif kind == "ended":
            self._processes.pop(number).code = message["code"]

    def send(self, operation: str, number: int, **fields: Any) -> None:
        if self.connection is not None:
            self.connection.send({"op": operation, "id": number, **fields})

    def _answer(self, number: int, seconds: float) -> dict[str, Any]:
        self.wait(lambda: number in self._answers or self.lost is not None, seconds)
        return self._answers.pop(number, {})

    def put(self, files: Iterable[str]) -> None:
        """Send files of the private directory, again after a reconnection; ``wait`` until ``has_files``."""
        self._files = list(files)
        self._unconfirmed = {next(self._numbers): path for path in self._files}
        assert self.connection is not None
        for number, path in self._unconfirmed.items():
            self.connection.send_file(path, os.path.relpath(path, self._home), number)

    def has_files(self) -> bool:
        """Return whether all files have arrived; ClusterError if one arrived changed."""
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
        # The host has its own variables.
        return self.transport.limits(self.facts)

    def cores(self) -> list[int]:
        return self.transport.cores(self.facts)

    def gpus(self, environment: Mapping[str, str]) -> list[str]:
        chosen = environment.get(hardware.VISIBLE, self.facts.get("visible_gpus"))
        count = int(self.facts.get("gpus", 0)) if self.transport.gpus else 0
        return hardware.visible_gpus(chosen, count) if count else []

    def lacks_space(self) -> bool:
        return self._free_bytes < LEAST_BYTES

    def free_ports(self, count: int) -> Sequence[int]:
        return self.answer(self.ask("free_ports", count))

    @property
    def is_lost(self) -> bool:
        return not self.is_connected or self._former is not None

    def reconnect(self) -> None:
        is_late = time.monotonic() - self._began > self.transport.connect_s
        if self.is_connected or (self.lost is None and not is_late):
            return
        self._former = self.directory
        if self.connection is not None:
            self.connection.close(0)
        with contextlib.suppress(ClusterError):
            self.connect()

    def renew(self, wait: bool = True) -> None:
        if wait:
            self.reconnect()
            self.wait(lambda: self.is_settled or self.is_over(), self.transport.connect_s)
        if self.is_connected and self._former is not None:
            seconds = self.transport.lease_s + _ANSWER_S
            with contextlib.suppress(ClusterError):
                # Its former agent must have ended all its processes.
                self.answer(self.ask("gone", self._former, seconds), seconds + _ANSWER_S)
                self.put(self._files)
                self.wait(lambda: self.lost is not None or self.has_files(), FILES_S)
                self._former = None

    def start(self, options: StartOptions) -> StartedProcess:
        # On a host that is out of reach, the process is lost already.
        paths = {"log": options.log, "events": options.events}
        try:
            if self.is_connected:
                return self.start_process(options, lambda name, data: append(paths[name], data))
        except OSError:
            if self.lost is None:
                raise
        process = RemoteProcess(self, 0, lambda name, data: None)
        process.lose(self.why_lost()[0])
        return process

    def start_process(self, options: StartOptions, on_written: OnWritten) -> RemoteProcess:
        """Start a process; raise OSError if it cannot be run or the host is out of reach."""
        number = self._send_options("start", options)
        process = self._processes[number] = RemoteProcess(self, number, on_written)
        answer = self._answer(number, _ANSWER_S)
        if "pid" not in answer:
            del self._processes[number]
            code = answer.get("error", errno.ETIMEDOUT)
            raise OSError(code, os.strerror(code))
        process.pid = answer["pid"]
        return process

    def prepare(self, options: StartOptions) -> None:
        self._send_options("prepare", options)

    def _send_options(self, operation: str, options: StartOptions) -> int:
        number = next(self._numbers)
        files = {"log": f"logs/{number}", "events": os.path.relpath(options.events, self._home)}
        # A host that is told to end sends it to all processes, before the chief could save a checkpoint.
        there = dataclasses.replace(options, **files, ignores_end=True)
        self.send(operation, number, options=dataclasses.asdict(there))
        return number

    def ask(self, question: str, *arguments: Any) -> int:
        number = next(self._numbers)
        environment = dict(self.transport.environment)
        self.send("ask", number, question=question, arguments=arguments, environment=environment)
        self._questions[number] = question
        return number

    def answer(self, number: int, seconds: float = _ANSWER_S) -> Any:
        """Wait for the answer to a question; ClusterError if it does not arrive."""
        answer = self._answer(number, seconds)
        if "answer" in answer:
            return answer["answer"]
        if self.lost is not None:
            raise self.problem()
        raise ClusterError(
            f'`hosts` holds "{self.host}", which did not answer the question '
            f'"{self._questions[number]}": {answer.get("error", "nothing was heard")}.',
            value=self.host,
        )
