"""Agent on a host, which starts the processes of one job there.

A launcher such as ssh starts it with the connection as standard input and output. All its processes end and its
directory is removed when the connection ends, when nothing arrives within the lease, and when it is killed, because
its parent, the guard, outlives it.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from typing import Any

from tfdistribute.launch.host import private_directory, processes
from tfdistribute.launch.places import probe
from tfdistribute.launch.places.connection import BLOCK_BYTES, MARK, FrameReader, encode
from tfdistribute.launch.places.local import LocalPlace, LocalProcess
from tfdistribute.launch.places.place import StartOptions
from tfdistribute.task_events import EventFile

# Bytes that wait to be sent before more of the tasks' files is read.
_MAX_WAITING_BYTES = 1 << 20
_TICK_S, _IDLE_TICK_S = 0.03, 0.25


class _Task:
    def __init__(self, process: LocalProcess, options: StartOptions) -> None:
        self.process = process
        self._log, self._position = options.log, 0
        self._events = EventFile(options.events)

    def read_new(self) -> dict[str, bytes]:
        block = b""
        with contextlib.suppress(OSError), open(self._log, "rb") as file:
            file.seek(self._position)
            block = file.read(BLOCK_BYTES)
        self._position += len(block)
        events = b"".join(line + b"\n" for line in self._events.read_lines())
        return {"log": block, "events": events}


class _Question:
    def __init__(self, message: dict[str, Any]) -> None:
        self.said = b""
        self.descriptor, writing = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            processes.die_with_parent(parent)
            os.setsid()
            _answer(message, writing)
        os.close(writing)

    def end(self) -> None:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, os.WNOHANG)
        os.close(self.descriptor)


def _answer(message: dict[str, Any], writing: int) -> None:
    def tell(**answer: Any) -> None:
        os.write(writing, json.dumps(answer).encode() + b"\n")

    try:
        os.environ.update(message["environment"])
        probe.answer(message["question"], message["arguments"], lambda answer: tell(answer=answer))
    except Exception as error:  # noqa: BLE001 - the supervisor shows it, whatever it is
        tell(error=f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)


class Agent:
    def __init__(self, directory: str, lease_s: float) -> None:
        self.directory, self.lease_s, self.heard = directory, lease_s, time.monotonic()
        self.tasks: dict[int, _Task] = {}
        self.place = LocalPlace(directory, is_private=False)
        self.questions: dict[int, _Question] = {}
        self.digests: dict[str, Any] = {}
        # Nothing else may write into the protocol.
        self.output = os.dup(1)
        os.dup2(2, 1)
        os.set_blocking(self.output, False)
        self.waiting = bytearray(MARK)
        self.reader = FrameReader()
        signal.signal(signal.SIGTERM, lambda number, frame: self._send({"op": "ending"}))

    def _send(self, message: dict[str, Any], data: bytes = b"") -> None:
        self.waiting += encode(message, data)

    def path_of(self, name: str) -> str:
        """Return the path of a file in the private directory; end if the name leads elsewhere."""
        path = os.path.realpath(os.path.join(self.directory, name))
        if not path.startswith(os.path.realpath(self.directory) + os.sep):
            sys.exit(f"A file outside the private directory was asked for: {name!r}")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return path

    def run(self) -> None:
        hello = {"pid": os.getpid(), "directory": self.directory, "time": time.time()}
        self._send({"op": "hello", **hello})
        while time.monotonic() - self.heard < self.lease_s:
            numbers = {each.descriptor: number for number, each in self.questions.items()}
            writers = [self.output] if self.waiting else []
            wait_s = _TICK_S if self.tasks else _IDLE_TICK_S
            readable = select.select([0, *numbers], writers, [], wait_s)[0]
            for descriptor in readable:
                if descriptor in numbers:
                    self._take_answer(numbers[descriptor])
            if 0 in readable and not self._receive():
                return
            for number, task in list(self.tasks.items()):
                self._forward(number, task)
            with contextlib.suppress(BlockingIOError):
                while self.waiting:
                    del self.waiting[: os.write(self.output, self.waiting[:BLOCK_BYTES])]

    def _receive(self) -> bool:
        data = os.read(0, BLOCK_BYTES)
        self.heard = time.monotonic()
        for message, content in self.reader.read(data):
            getattr(self, f"_do_{message['op']}")(message, content)
        return bool(data)

    def _forward(self, number: int, task: _Task) -> None:
        if len(self.waiting) >= _MAX_WAITING_BYTES:
            return
        code = task.process.exit_code()
        new = {name: data for name, data in task.read_new().items() if data}
        for name, data in new.items():
            self._send({"op": "wrote", "id": number, "file": name}, data)
        if code is not None and not new:
            self._send({"op": "ended", "id": number, "code": code})
            del self.tasks[number]

    def _take_answer(self, number: int) -> None:
        question = self.questions[number]
        block = os.read(question.descriptor, BLOCK_BYTES)
        question.said += block
        if block.endswith(b"\n"):
            self._send({"op": "answer", "id": number, **json.loads(question.said)})
        elif not block:
            if not question.said.endswith(b"\n"):
                self._send({"op": "answer", "id": number, "error": "it was killed"})
            self._do_end({"id": number})

    def _do_alive(self, message: Any, data: bytes) -> None:
        by_number = {number: task.process.activity() for number, task in self.tasks.items()}
        activities = {number: dataclasses.astuple(each) for number, each in by_number.items()}
        free = shutil.disk_usage(self.directory).free
        self._send({"op": "alive", "activities": activities, "free": free})

    def _do_file(self, message: Any, data: bytes) -> None:
        # The last bytes of a file are answered by its digest.
        path = self.path_of(message["name"])
        flags = os.O_WRONLY | os.O_APPEND | (0 if path in self.digests else os.O_CREAT | os.O_EXCL)
        with open(os.open(path, flags, 0o600), "ab") as file:
            file.write(data)
        self.digests.setdefault(path, hashlib.sha256()).update(data)
        if message["is_last"]:
            digest = self.digests.pop(path).hexdigest()
            self._send({"op": "answer", "id": message["id"], "digest": digest})

    def _do_start(self, message: Any, data: bytes) -> None:
        answer = {"op": "answer", "id": message["id"]}
        try:
            options = self._options(message)
            task = self.tasks[message["id"]] = _Task(self.place.start(options), options)
            self._send({**answer, "pid": task.process.pid})
        except OSError as error:
            self._send({**answer, "error": error.errno})

    def _do_prepare(self, message: Any, data: bytes) -> None:
        self.place.prepare(self._options(message))

    def _options(self, message: Any) -> StartOptions:
        options = message["options"]
        # This host's own variables, without those of the login.
        own = {name: text for name, text in os.environ.items() if not name.startswith("SSH_")}
        options["environment"] = {**own, **options["environment"]}
        options |= {name: self.path_of(options[name]) for name in ("log", "events")}
        if not os.path.isdir(options["directory"]):
            options["directory"] = os.path.expanduser("~")
        return StartOptions(**options)

    def _do_signal(self, message: Any, data: bytes) -> None:
        number, *how = message["signal"]
        if message["id"] in self.tasks:
            # Tasks ignore SIGTERM, which others send, too.
            number = signal.SIGINT if number == signal.SIGTERM else number
            self.tasks[message["id"]].process.signal(number, *how)

    def _do_ask(self, message: Any, data: bytes) -> None:
        self.questions[message["id"]] = _Question(message)

    def _do_end(self, message: Any, data: bytes = b"") -> None:
        question = self.questions.pop(message["id"], None)
        if question is not None:
            question.end()


def main(lease_s: str, job: str, temporary: str | None = None) -> None:
    """Wait for the end of the agent as its guard, and end what it has left."""
    # Slurm sends it to every process of a job.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    processes.adopt_orphans()
    if temporary is not None:
        os.stat(temporary)
        os.environ["TMPDIR"] = temporary
    directory = private_directory.new_directory(temporary or tempfile.gettempdir())
    guard, agent = os.getpid(), os.fork()
    try:
        if agent == 0:
            _serve(os.path.join(directory, job), float(lease_s), guard)
            return
        for descriptor in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
        os.waitpid(agent, 0)
    finally:
        # A framework sends it with the end of the process that has started this one.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        processes.kill_children()
        private_directory.remove(directory)


def _serve(directory: str, lease_s: float, guard: int) -> None:
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    processes.die_with_parent(guard, signal.SIGHUP)
    processes.adopt_orphans()
    for path in (directory, os.path.join(directory, "tmp")):
        os.mkdir(path, 0o700)
    Agent(directory, lease_s).run()
