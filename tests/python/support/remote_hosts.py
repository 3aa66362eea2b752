"""Hosts that are reached through a command's pipe, without ssh, and what is left of their processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tfdistribute.launch.places.channel import CommandChannel
from tfdistribute.launch.places.remote import RemotePlace
from tfdistribute.launch.places.transport import Transport

MARK = "TFDISTRIBUTE_TEST_MARK"

# Takes the arguments of ssh. The agent has a session of its own, as on another host: who kills the connection does not
# kill the agent. Some hosts answer as ssh does when something is wrong.
_FAKE_SSH = r"""#!/bin/sh
while [ "$1" != -- ]; do shift; done
if [ -e "$0.$2.away" ]; then echo "ssh: connect to host $2: No route to host" >&2; exit 255; fi
case "$2" in
  nokey*) echo "me@nokey: Permission denied (publickey)." >&2; exit 255 ;;
  changed*) echo "Host key verification failed." >&2; exit 255 ;;
  unknown*) echo "ssh: Could not resolve hostname $2: Name or service not known" >&2; exit 255 ;;
  nopython*) echo "sh: 1: python3: not found" >&2; exit 127 ;;
  once*) if [ -e "$0.$2" ]; then echo "ssh: connect to host $2: No route to host" >&2; exit 255; fi; touch "$0.$2" ;;
  chatty*) echo "Welcome to $2"; echo "You have mail" >&2 ;;
esac
# The connection to some hosts ends while they get files.
case "$2" in short*) read="dd bs=1 count=120000 status=none" ;; *) read=cat ;; esac
$read | SSH_CONNECTION="10.0.0.1 1 127.0.0.1 22" setsid sh -c "$3" | cat
"""


def fake_ssh(directory: Path) -> str:
    path = directory / "fake-ssh"
    path.write_text(_FAKE_SSH)
    path.chmod(0o755)
    return str(path)


@contextlib.contextmanager
def remote_place(
    home: Path, lease_s: float = 10.0, python: str = "python3"
) -> Iterator[RemotePlace]:
    """A connected place on this machine."""
    place = RemotePlace(
        "node-a", Transport(CommandChannel, python=python, lease_s=lease_s), str(home)
    )
    place.connect()
    try:
        assert place.wait(lambda: place.is_connected or place.lost is not None, 20)
        assert place.is_connected, place.why_lost()
        yield place
    finally:
        place.end()
        place.close(5)


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Mark this process's children, to find what is left of them."""
    monkeypatch.setenv(MARK, str(tmp_path))
    return tmp_path


def marked(mark: Path) -> dict[int, str]:
    """Marked processes with their command lines."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}\0".encode() in (process / "environ").read_bytes():
                line = (process / "cmdline").read_bytes()
                if line:
                    found[int(process.name)] = line.replace(b"\0", b" ").decode()
    return found


def soon(is_true: Callable[[], object], seconds: float = 8) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_true():
            return True
        time.sleep(0.05)
    return False


def processes_that_name(name: bytes) -> list[str]:
    """Command lines of processes of a job, by the name of its private directory."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes().replace(b"\0", b" ")
            if name in (path / "environ").read_bytes() or name in line:
                found.append(line.decode())
        except OSError:
            continue
    return [line for line in found if line and "pytest" not in line]


def ancestor(pid: int, words: str) -> int:
    """The nearest process above ``pid`` whose command line contains ``words``."""
    while words not in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8"):
        pid = parent(pid)
        assert pid > 1
    return pid


def kill_tree(pid: int) -> None:
    """Kill a process and all its descendants, at once for any of them."""
    os.kill(pid, signal.SIGSTOP)
    children = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]
    for each in children:
        with contextlib.suppress(OSError):
            if parent(each) == pid:
                kill_tree(each)
    os.kill(pid, signal.SIGKILL)


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def end_with_input(process: subprocess.Popen[str]) -> None:
    """End a process that leads a group, and ends with its standard input; kill what is left of the group."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(30)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
