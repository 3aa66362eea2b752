"""Private directory of a job: readable by its owner only, and removed with the job."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tfdistribute.errors import ArgumentError, UnsupportedError
from tfdistribute.files import open_regular

if sys.platform != "win32":
    import fcntl

_PREFIX = "tfdistribute-job-"
_UNFINISHED = "tfdistribute-new-"

# Where the private directories of jobs are below a directory that several hosts share.
JOBS = ".jobs"

# The job is alive while some process holds the lock on this file. It names the host: on a temporary directory that
# several hosts share, a lock of another host may not be seen.
_LOCK = "lock"
_MACHINE_ID = Path("/etc/machine-id")

# Locks that this process holds, by directory.
_locks: dict[str, int] = {}


def new_directory(parent: str | None = None) -> str:
    """Create and lock a directory for a job.

    Without a ``parent``, which is made if it is missing, it is a temporary one, and those of jobs whose processes were
    killed are removed.

    Raises:
        UnsupportedError: this machine runs Windows.
    """
    _check_platform()
    if parent is None:
        remove_abandoned()
    else:
        os.makedirs(parent, exist_ok=True)
    unfinished = tempfile.mkdtemp(prefix=_UNFINISHED, dir=parent)
    # Locked before it gets its final name, so that no other process takes it for abandoned.
    directory = os.path.join(
        os.path.dirname(unfinished), _PREFIX + unfinished.rpartition(_UNFINISHED)[2]
    )
    lock(unfinished)
    os.rename(unfinished, directory)
    _locks[directory] = _locks.pop(unfinished)
    return directory


def job_id(directory: str) -> str:
    return os.path.basename(directory).removeprefix(_PREFIX)


def check_private(directory: str) -> None:
    """Check that nobody else can have written the content of a directory.

    Raises:
        ArgumentError: it is a link or not a directory, belongs to another user, or others may enter it.
    """
    try:
        status = os.lstat(directory)
        reason = _why_not_private(status)
    except OSError as error:
        reason = f"it cannot be read ({error.strerror})"
    if reason is not None:
        raise ArgumentError(
            f'`directory` "{directory}" is not used for a job: {reason}.',
            "Start the job again: it makes a directory of its own.",
            argument="directory",
            value=directory,
        )


def is_private(directory: str) -> bool:
    try:
        check_private(directory)
    except ArgumentError:
        return False
    return True


def check_digest(path: str, digest: str) -> None:
    """Check that a file is the one that was written for the job.

    Raises:
        ArgumentError: the directory is not private, or the file is missing or another one.
    """
    check_private(os.path.dirname(path))
    try:
        own_digest = digest_of(path)
    except OSError as error:
        own_digest = f"unknown ({error.strerror})"
    if own_digest != digest:
        raise ArgumentError(
            f'`path` "{path}" is not what was written for this job: its digest is {own_digest}.',
            "Find out what changes files in that directory, and start the job again.",
            argument="path",
            value=path,
        )


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def lock(directory: str, descriptor: int | None = None) -> int:
    """Hold the lock that marks a job as alive, and return its open file.

    Args:
        descriptor: The open lock file of the process that hands the lock over; None to take the lock, unless this
            process holds it already.

    Raises:
        ArgumentError: another process holds it.
    """
    if descriptor is None:
        descriptor = _locks.get(directory)
    if descriptor is None:
        descriptor = os.open(os.path.join(directory, _LOCK), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise ArgumentError(
                f'`directory` "{directory}" belongs to another process\'s job: {error.strerror}.',
                "Make a new directory for this job.",
                argument="directory",
                value=directory,
            ) from error
        os.pwrite(descriptor, this_host().encode(), 0)
    os.set_inheritable(descriptor, False)
    _locks[directory] = descriptor
    return descriptor


def release(directory: str) -> None:
    """Close this process's lock; a process that took it over keeps it."""
    descriptor = _locks.pop(directory, None)
    if descriptor is not None:
        os.close(descriptor)


def remove(directory: str) -> None:
    """Remove a directory and release its lock.

    The lock goes last: a job is alive to other processes until nothing else of it is left.
    """
    with contextlib.suppress(OSError):
        for entry in os.scandir(directory):
            # What a session or a task writes at the same time may be gone already.
            with contextlib.suppress(FileNotFoundError):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                elif entry.name != _LOCK:
                    os.unlink(entry.path)
    shutil.rmtree(directory, ignore_errors=True)
    release(directory)
    parent = os.path.dirname(directory)
    if os.path.basename(parent) == JOBS:
        # With the last job in it.
        with contextlib.suppress(OSError):
            os.rmdir(parent)


def is_locked(directory: str) -> bool:
    """Return whether any process, including this one, holds the lock of a directory."""
    try:
        descriptor = os.open(os.path.join(directory, _LOCK), os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        # This is another open file: closing it does not release a lock that this process holds.
        os.close(descriptor)
    return False


def own_directories(parent: str | None = None) -> Iterator[str]:
    """Iterate over the private directories of this user's jobs in a directory, by default that for temporary files."""
    for path in Path(parent or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if is_private(str(path)):
            yield str(path)


def remove_abandoned() -> None:
    """Remove the directories of jobs of this host that are not alive; those of other hosts may be."""
    for directory in own_directories():
        if is_abandoned(directory):
            shutil.rmtree(directory, ignore_errors=True)


def this_host() -> str:
    """Identify this host by its name and, if it has one, its machine id.

    Source:
        https://www.freedesktop.org/software/systemd/man/latest/machine-id.html. Copied containers share it, but not
        their names.
    """
    try:
        machine = _MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        machine = ""
    return f"{socket.gethostname()} {machine}"


def is_abandoned(directory: str) -> bool:
    """Return whether a directory is of a job of this host that is not alive."""
    try:
        host = Path(directory, _LOCK).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return host == this_host() and not is_locked(directory)


def _why_not_private(status: os.stat_result) -> str | None:
    if stat.S_ISLNK(status.st_mode):
        return "it is a link"
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a directory"
    if status.st_uid != os.geteuid():
        return f"it belongs to user {status.st_uid}"
    if stat.S_IMODE(status.st_mode) & 0o077:
        return "others may enter it"
    return None


def _check_platform() -> None:
    if sys.platform == "win32":
        raise UnsupportedError(
            "A cluster of processes cannot be started on Windows, which has no process groups.",
            "Use Linux, macOS or the Windows Subsystem for Linux, or a strategy for one process.",
            argument="cluster",
        )
