"""Agent on a host: starts the processes of one job there, and ends them with the connection.

It is sent over standard input and needs only Python 3.8 and the standard library. It obeys its standard input and
listens on nothing. All its processes end, and its directory is removed, when the connection ends, when nothing arrives
within the lease, and when it is killed: its parent, the guard, outlives it.

A frame is 4 bytes with the length of the rest, 4 bytes with the length of a JSON object, the object, and raw bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any

# Begins the protocol; a shell may have printed something before.
MARK = b"\n\x02tfdistribute agent 1\x03\n"

BLOCK_BYTES, ROTATE_BYTES = 1 << 18, 1 << 20
# Bytes that wait to be sent before the files of the processes are read further.
MAX_WAITING_BYTES = 1 << 20
TICK_S, END_S = 0.03, 3.0

# Options of prctl, see linux/prctl.h.
PARENT_DEATH_SIGNAL, ADOPT_ORPHANS = 1, 36
call_kernel = ctypes.CDLL(None).prctl if sys.platform == "linux" else lambda *_: None


def die_with_parent(parent: int, number: int) -> None:
    """Get a signal when the parent ends; for the first moments of a child."""
    call_kernel(PARENT_DEATH_SIGNAL, number)
    if os.getppid() != parent:
        os._exit(1)


def text_of(path: str) -> str:
    """Return the content of a small file; "" if it cannot be read."""
    try:
        with open(path, errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def stat_of(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third on; none without such a process."""
    return text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()


def field_of(path: str, name: str) -> str:
    """Return the value in a line such as "rchar: 10" of a file; "" without such a line."""
    lines = text_of(path).splitlines()
    return next((line.split()[1] for line in lines if line.startswith(name)), "")


def end_descendants() -> None:
    """Kill and reap all children, including adopted ones, until none is left."""
    own, end = str(os.getpid()), time.monotonic() + END_S
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:
            for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
                if stat_of(pid)[1:2] == [own]:
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)


def make_directory(job: str, temporary: str | None = None) -> str:
    """Make a directory with the private one of a job in it, locked as those of jobs that were started on this host."""
    made = tempfile.mkdtemp(prefix="tfdistribute-new-", dir=temporary)
    for name in (job, os.path.join(job, "tmp")):
        os.mkdir(os.path.join(made, name), 0o700)
    lock = os.open(os.path.join(made, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.pwrite(lock, f"{socket.gethostname()} {text_of('/etc/machine-id')}".encode(), 0)
    directory = made.replace("tfdistribute-new-", "tfdistribute-job-")
    os.rename(made, directory)
    return directory


class Tail:
    """New bytes of a file that a process appends to.

    A rotating file is renamed when it has grown large: its writers open it for each line.
    """

    def __init__(self, path: str, rotates: bool) -> None:
        self.path, self.rotates = path, rotates
        self.positions = {f"{path}.old": 0, path: 0}

    def read(self) -> bytes:
        blocks = b""
        for path, position in self.positions.items():
            with contextlib.suppress(OSError), open(path, "rb") as file:
                file.seek(position)
                block = file.read(BLOCK_BYTES)
                self.positions[path] += len(block)
                blocks += block
        if self.rotates and not blocks and self.positions[self.path] >= ROTATE_BYTES:
            os.replace(self.path, f"{self.path}.old")
            self.positions = {f"{self.path}.old": self.positions[self.path], self.path: 0}
        return blocks


class Process:
    """A started process and its files."""

    def __init__(self, message: Any, log: str, events: str) -> None:
        parent, cores, wanted = os.getpid(), message["cores"], message["directory"]

        def prepare() -> None:
            die_with_parent(parent, signal.SIGKILL)
            if message["ignores_end"]:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if cores and sys.platform == "linux":
                os.sched_setaffinity(0, cores)

        self.tails = {"log": Tail(log, False), "events": Tail(events, True)}
        # This host's own variables, without those of the login.
        own = {name: text for name, text in os.environ.items() if not name.startswith("SSH_")}
        with open(log, "ab") as output:
            self.popen = subprocess.Popen(
                message["command"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**own, **message["environment"]},
                cwd=wanted if os.path.isdir(wanted) else os.path.expanduser("~"),
                start_new_session=True,
                preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
            )

    def signal(self, number: int, whole_group: bool = True, if_caught: bool = False) -> None:
        """Send a signal; with ``if_caught`` only if the process has a handler for it."""
        pid = self.popen.pid
        caught = field_of(f"/proc/{pid}/status", "SigCgt:")
        if if_caught and caught and not int(caught, 16) >> (number - 1) & 1:
            return
        with contextlib.suppress(OSError):
            (os.killpg if whole_group else os.kill)(pid, number)

    def has_ended(self) -> bool:
        """Return whether the process has ended; then what is left of its group is killed."""
        if self.popen.returncode is None:
            if not os.waitid(os.P_PID, self.popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return False
            self.signal(signal.SIGKILL)
            self.popen.wait()
        return True

    def activity(self) -> list[float]:
        """Return its CPU time in seconds, its page faults and the bytes that it has read."""
        fields = stat_of(self.popen.pid) or ["0"] * 13
        cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        read = field_of(f"/proc/{self.popen.pid}/io", "rchar:")
        return [cpu_s, int(fields[7]) + int(fields[9]), int(read or 0)]


class Agent:
    """The agent's state and its loop."""

    def __init__(self, directory: str, lease_s: float) -> None:
        self.directory, self.lease_s, self.heard = directory, lease_s, time.monotonic()
        self.processes: dict[int, Process] = {}
        self.digests: dict[str, Any] = {}
        # Nothing else may write into the protocol.
        self.output = os.dup(1)
        os.dup2(2, 1)
        os.set_blocking(self.output, False)
        self.waiting = bytearray(MARK)
        self.incoming = b""
        signal.signal(signal.SIGTERM, lambda number, frame: self._send({"op": "ending"}))

    def _send(self, message: Any, data: bytes = b"") -> None:
        head = json.dumps(message).encode()
        self.waiting += struct.pack(">II", 4 + len(head) + len(data), len(head)) + head + data

    def path_of(self, name: str) -> str:
        """Return the path of a file in the private directory; end if the name leads elsewhere."""
        path = os.path.realpath(os.path.join(self.directory, name))
        if not path.startswith(os.path.realpath(self.directory) + os.sep):
            sys.exit(f"A file outside the private directory was asked for: {name!r}")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return path

    def run(self) -> None:
        """Obey the input until it ends, or until the lease ends."""
        hello = {"pid": os.getpid(), "executable": sys.executable, "directory": self.directory}
        self._send({"op": "hello", "time": time.time(), **hello})
        while time.monotonic() - self.heard < self.lease_s:
            writers, wait_s = [self.output][: len(self.waiting)], TICK_S if self.processes else 0.25
            if select.select([0], writers, [], wait_s)[0] and not self._receive():
                return
            for number, process in list(self.processes.items()):
                self._forward(number, process)
            with contextlib.suppress(BlockingIOError):
                while self.waiting:
                    del self.waiting[: os.write(self.output, self.waiting[:BLOCK_BYTES])]

    def _receive(self) -> bool:
        """Obey the frames that have arrived; return False at the end of the input."""
        data = os.read(0, 1 << 18)
        self.incoming, self.heard = self.incoming + data, time.monotonic()
        while len(self.incoming) >= 8:
            length, head = struct.unpack(">II", self.incoming[:8])
            if len(self.incoming) < 4 + length:
                break
            frame, self.incoming = self.incoming[8 : 4 + length], self.incoming[4 + length :]
            message = json.loads(frame[:head])
            getattr(self, f"_do_{message['op']}")(message, frame[head:])
        return bool(data)

    def _forward(self, number: int, process: Process) -> None:
        has_ended, is_read = process.has_ended(), True
        for name, tail in process.tails.items():
            data = tail.read() if len(self.waiting) < MAX_WAITING_BYTES else b""
            if data:
                self._send({"op": "wrote", "id": number, "file": name}, data)
            is_read = is_read and not data and len(self.waiting) < MAX_WAITING_BYTES
        if has_ended and is_read:
            self._send({"op": "ended", "id": number, "code": process.popen.returncode})
            del self.processes[number]

    def _do_alive(self, message: Any, data: bytes) -> None:
        running = {number: process.activity() for number, process in self.processes.items()}
        free = shutil.disk_usage(self.directory).free
        self._send({"op": "alive", "activities": running, "free": free})

    def _do_file(self, message: Any, data: bytes) -> None:
        """Append bytes to a new file; the last ones are answered by its digest."""
        path = self.path_of(message["name"])
        flags = os.O_WRONLY | os.O_APPEND | (0 if path in self.digests else os.O_CREAT | os.O_EXCL)
        with open(os.open(path, flags, 0o600), "ab") as file:
            file.write(data)
        self.digests.setdefault(path, hashlib.sha256()).update(data)
        if message["is_last"]:
            digest = self.digests.pop(path).hexdigest()
            self._send({"op": "answer", "id": message["id"], "digest": digest})

    def _do_start(self, message: Any, data: bytes) -> None:
        log, events = self.path_of(message["log"]), self.path_of(message["events"])
        answer = {"op": "answer", "id": message["id"]}
        try:
            process = self.processes[message["id"]] = Process(message, log, events)
            self._send({**answer, "pid": process.popen.pid})
        except OSError as error:
            self._send({**answer, "error": error.errno})

    def _do_signal(self, message: Any, data: bytes) -> None:
        process = self.processes.get(message["process"])
        if process is not None and process.popen.returncode is None:
            process.signal(message["number"], message["whole_group"], message["if_caught"])


def serve(directory: str, lease_s: float, guard: int) -> None:
    """Be the agent: a child of the guard, which ends with it."""
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        die_with_parent(guard, signal.SIGHUP)
        call_kernel(ADOPT_ORPHANS, 1)
        Agent(directory, lease_s).run()
    finally:
        end_descendants()
        shutil.rmtree(os.path.dirname(directory), ignore_errors=True)


def main() -> None:
    """Be the guard: wait for the end of the agent, and end what it has left."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Slurm sends it to every process of a job.
    call_kernel(ADOPT_ORPHANS, 1)
    directory, guard = make_directory(*sys.argv[2:]), os.getpid()
    agent = os.fork()
    if agent == 0:
        serve(os.path.join(directory, sys.argv[2]), float(sys.argv[1]), guard)
        sys.exit()
    for descriptor in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    os.waitpid(agent, 0)
    end_descendants()
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
