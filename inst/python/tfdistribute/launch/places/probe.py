"""Questions about a host, answered by a process there as one line of JSON. Standard library of Python 3.8 only.

Usage: python -c SOURCE QUESTION ARGUMENTS, the latter as a JSON list.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

GPUS = "/proc/driver/nvidia/gpus"
REACH_S = 3.0
VERSIONS_S = 60.0
# How long killed processes may take to end.
END_S = 3.0

# R starts fast without packages; the version is read from the file DESCRIPTION.
R_CODE = (
    'cat("\\nR ", R.version$major, ".", R.version$minor, "\\ntfdistribute ", '
    'tryCatch(as.character(utils::packageVersion("tfdistribute")), error = function(e) "none"), "\\n", sep = "")'
)
PYTHON_CODE = """
import sys
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
found = [version(name) for name in sys.argv[1:]]
print("\\nPython", sys.version.split()[0])
print("TensorFlow", next((each for each in found if each), "none"))
"""


def facts() -> dict[str, Any]:
    connection = os.environ.get("SSH_CONNECTION", "").split()
    return {
        "boot": text_of("/proc/sys/kernel/random/boot_id").strip(),
        "cores": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
        "gpus": len(os.listdir(GPUS)) if os.path.isdir(GPUS) else 0,
        "visible_gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "temporary": tempfile.gettempdir(),
        "free_bytes": shutil.disk_usage(tempfile.gettempdir()).free,
        # The address at which the connection arrived comes first.
        "addresses": list(dict.fromkeys([*connection[2:3], *own_addresses()])),
    }


def own_addresses() -> list[str]:
    """List the IPv4 addresses of this host, those of the loopback last."""
    found = re.findall(r"\|-- (\S+)\n +/32 host LOCAL", text_of("/proc/net/fib_trie"))
    return sorted(set(found), key=lambda each: (each.startswith("127."), each))


def text_of(path: str) -> str:
    """Return the content of a file; "" if it cannot be read."""
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def versions(rscript: str, python: str, packages: list[str]) -> dict[str, str]:
    """Return the versions of R, Python and their packages, or what went wrong under the name of the program."""
    commands = {
        "rscript": [rscript, "--vanilla", "-e", R_CODE],
        "python": [python, "-c", PYTHON_CODE, *packages],
    }
    found: dict[str, str] = {}
    running: dict[str, subprocess.Popen[bytes]] = {}
    for name, command in commands.items():
        try:
            running[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as error:
            found[name] = f'"{command[0]}" cannot be run ({error.strerror})'
    for name, process in running.items():
        output, errors = process.communicate(timeout=VERSIONS_S)
        if process.returncode:
            last = [line for line in errors.decode(errors="replace").splitlines() if line.strip()]
            found[name] = (
                f'"{commands[name][0]}" failed ({last[-1] if last else process.returncode})'
            )
        for line in output.decode(errors="replace").splitlines():
            word, _, value = line.partition(" ")
            if word in ("R", "tfdistribute", "Python", "TensorFlow"):
                found[word] = value
    return found


def gpus(python: str | None, source: str) -> Any:
    """Return the report on GPUs that a Python of this host prints when it runs gpus.py; None if it cannot be run."""
    with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError, IndexError):
        command = [python or sys.executable, "-c", source]
        lines = subprocess.check_output(command, stdin=subprocess.DEVNULL, timeout=VERSIONS_S)
        return json.loads(lines.splitlines()[-1])
    return None


def paths(names: list[str]) -> list[bool]:
    """Tell which paths or patterns lead to files that can be read."""
    return [any(os.access(path, os.R_OK) for path in [name, *glob.glob(name)]) for name in names]


def shared(path: str, seconds: float) -> bool:
    """Tell whether a file of another host appears in time, in a directory in which this one may write."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        # A network file system looks again when a directory is listed.
        with contextlib.suppress(OSError):
            if os.path.basename(path) in os.listdir(os.path.dirname(path)):
                return os.access(os.path.dirname(path), os.W_OK)
        time.sleep(0.1)
    return False


def gone(path: str, seconds: float) -> bool:
    """Tell whether a former agent's private directory disappears in time; one that nobody can remove is removed."""
    end = time.monotonic() + seconds
    while os.path.exists(path) and time.monotonic() < end:
        if is_abandoned(os.path.dirname(path)):
            end_tasks(path)
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        time.sleep(0.05)
    return not os.path.exists(path)


def is_abandoned(directory: str) -> bool:
    """Tell whether agent and guard were both killed: no process has the lock, which names this host."""
    with contextlib.suppress(OSError), open(os.path.join(directory, "lock"), "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock.read() == f"{socket.gethostname()} {text_of('/etc/machine-id').strip()}"
    return False


def end_tasks(directory: str) -> None:
    """Kill what tasks with this private directory have left."""
    mark, found, end = f"TFDISTRIBUTE_JOB={directory}\0".encode(), True, time.monotonic() + END_S
    while found and time.monotonic() < end:
        found = False
        for path in glob.glob("/proc/[0-9]*/environ"):
            with contextlib.suppress(OSError), open(path, "rb") as environment:
                if mark in environment.read():
                    found = True
                    os.kill(int(path.split("/")[2]), signal.SIGKILL)


def ports(count: int) -> list[int]:
    """Find free ports; all stay bound until the last is found, so that none is found twice."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("", 0))
        return [each.getsockname()[1] for each in held]


def listen(word: str) -> None:
    """Answer with a port, and greet whoever connects with a word, until this process is killed."""
    with socket.socket() as server:
        server.bind(("", 0))
        server.listen(128)
        answer(server.getsockname()[1])
        while True:
            caller = server.accept()[0]
            with contextlib.suppress(OSError):
                caller.sendall(word.encode())
            caller.close()


def reach(targets: list[list[Any]]) -> list[bool]:
    """Tell which targets (address, port, word) greet with their word."""
    heard: dict[socket.socket, bytes] = {}
    for address, port, _ in targets:
        each = socket.socket()
        each.setblocking(False)
        each.connect_ex((address, port))
        heard[each] = b""
    waiting = set(heard)
    end = time.monotonic() + REACH_S
    while waiting and time.monotonic() < end:
        for each in select.select(list(waiting), [], [], 0.1)[0]:
            data = b""
            with contextlib.suppress(OSError):
                data = each.recv(1000)
            heard[each] += data
            if not data:
                waiting.discard(each)
    words = [word for _, _, word in targets]
    return [said.decode() == words[index] for index, said in enumerate(heard.values())]


def answer(value: Any) -> None:
    sys.stdout.write(json.dumps({"answer": value}) + "\n")
    sys.stdout.flush()


QUESTIONS = {
    each.__name__: each
    for each in (facts, versions, gpus, paths, shared, gone, ports, listen, reach)
}

if __name__ == "__main__":
    question, arguments = sys.argv[1:3]
    answer(QUESTIONS[question](*json.loads(arguments)))
