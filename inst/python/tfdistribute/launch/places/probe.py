"""Questions about this host, which its agent answers in child processes."""

import contextlib
import glob
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfdistribute.cluster.ports import free_ports
from tfdistribute.environment import available_cores
from tfdistribute.gpus import report_of
from tfdistribute.launch.host import hardware, private_directory
from tfdistribute.launch.host.processes import END_S

_REACH_S = 3.0
_OUTPUT_S = 60.0


def facts() -> dict[str, Any]:
    connection = os.environ.get("SSH_CONNECTION", "").split()
    temporary = tempfile.gettempdir()
    return {
        "boot": _text_of("/proc/sys/kernel/random/boot_id"),
        "cores": available_cores(),
        "gpus": len(hardware.available_gpus({})),
        "visible_gpus": os.environ.get(hardware.VISIBLE),
        "temporary": temporary,
        "free_bytes": shutil.disk_usage(temporary).free,
        # The address at which the connection arrived comes first.
        "addresses": list(dict.fromkeys([*connection[2:3], *_own_addresses()])),
    }


def _own_addresses() -> list[str]:
    addresses = re.findall(r"\|-- (\S+)\n +/32 host LOCAL", _text_of("/proc/net/fib_trie"))
    return sorted(set(addresses), key=lambda each: (each.startswith("127."), each))


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""


def output(*command: str) -> dict[str, str]:
    """Run a program, and return its "output", or the "problem" with it."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_OUTPUT_S
        )
    except OSError as error:
        return {"problem": f'"{command[0]}" cannot be run ({error.strerror})'}
    errors = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    if done.returncode:
        return {"problem": f'"{command[0]}" failed ({[done.returncode, *errors][-1]})'}
    return {"output": done.stdout.decode(errors="replace")}


def paths(names: Sequence[str]) -> list[bool]:
    """Return which paths or patterns lead to files that can be read."""
    return [any(os.access(path, os.R_OK) for path in [name, *glob.glob(name)]) for name in names]


def shared(path: str, seconds: float) -> bool:
    """Return whether a file of another host appears in time, in a directory in which this one may write."""
    directory, name = os.path.split(path)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        # A network file system looks again when a directory is listed.
        with contextlib.suppress(OSError):
            if name in os.listdir(directory):
                return os.access(directory, os.W_OK)
        time.sleep(0.1)
    return False


def gone(path: str, seconds: float) -> bool:
    """Return whether a former agent's private directory disappears in time, and remove it if nobody else can."""
    holder, end = os.path.dirname(path), time.monotonic() + seconds
    while os.path.exists(path) and time.monotonic() < end:
        if private_directory.is_abandoned(holder):
            # Agent and guard were both killed.
            _end_tasks(path)
            shutil.rmtree(holder, ignore_errors=True)
        time.sleep(0.05)
    return not os.path.exists(path)


def _end_tasks(directory: str) -> None:
    mark, is_left, end = f"TFDISTRIBUTE_JOB={directory}\0".encode(), True, time.monotonic() + END_S
    while is_left and time.monotonic() < end:
        is_left = False
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes():
                    is_left = True
                    os.kill(int(process.name), signal.SIGKILL)


def listen(word: str, tell: Callable[[int], None]) -> None:
    """Tell a port, and greet whoever connects to it with a word, until this process is killed."""
    with socket.socket() as server:
        server.bind(("", 0))
        server.listen(128)
        tell(server.getsockname()[1])
        while True:
            with contextlib.suppress(OSError):
                caller = server.accept()[0]
                with caller:
                    caller.sendall(word.encode())


def reach(targets: Sequence[tuple[str, int, str]]) -> list[bool]:
    """Return which targets (address, port, word) greet with their word."""
    heard: dict[socket.socket, bytes] = {}
    words: list[bytes] = []
    for address, port, word in targets:
        each = socket.socket()
        each.setblocking(False)
        each.connect_ex((address, port))
        heard[each] = b""
        words.append(word.encode())
    expected = dict(zip(heard, words, strict=True))
    waiting, end = set(heard), time.monotonic() + _REACH_S
    while waiting and time.monotonic() < end:
        for each in select.select(list(waiting), [], [], 0.1)[0]:
            data = b""
            with contextlib.suppress(OSError):
                data = each.recv(1000)
            heard[each] += data
            if not data or heard[each] == expected[each]:
                waiting.discard(each)
    return [said == expected[each] for each, said in heard.items()]


def answer(question: str, arguments: Sequence[Any], tell: Callable[[Any], None]) -> None:
    if question == "listen":
        listen(arguments[0], tell)
    else:
        tell(_QUESTIONS[question](*arguments))


_QUESTIONS: Mapping[str, Callable[..., Any]] = {
    "gpus": report_of,
    **{each.__name__: each for each in (facts, output, paths, shared, gone, free_ports, reach)},
}
