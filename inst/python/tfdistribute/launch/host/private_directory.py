"""The private directory of a job: only its owner can read it, and it goes with the job. Plain Python."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tfdistribute.errors import ArgumentError

if sys.platform != "win32":
    import fcntl

PREFIX = "tfdistribute-job-"
_UNFINISHED = "tfdistribute-new-"

# Who holds the lock on this file keeps the job alive.
_KEEPER = "keeper"

# Locks that this process holds, by directory; the supervisor takes them over.
_held: dict[str, int] = {}


def new_directory() -> str:
    """Make a directory for a job, and remove what jobs left behind whose processes were killed.

    Returns:
        Its path; this process keeps it until it hands it over or ends.
    """
    remove_abandoned()
    made = tempfile.mkdtemp(prefix=_UNFINISHED)
    # Under its name it is kept from the first moment on, so that nobody takes it for abandoned.
    directory = os.path.join(os.path.dirname(made), PREFIX + made.rpartition(_UNFINISHED)[2])
    keep(made)
    os.rename(made, directory)
    _held[directory] = _held.pop(made)
    return directory


def check_private(directory: str) -> None:
    """See that nobody else can have written what stands in a directory.

    Args:
        directory: Its path.

    Raises:
        ArgumentError: it is a link or no directory, belongs to somebody else, or others may enter it.
    """
    try:
        found = os.lstat(directory)
        reason = _not_private(found)
    except OSError as error:
        reason = f"it cannot be read ({error.strerror})"
    if reason is not None:
        raise ArgumentError(
            f'`directory` "{directory}" is not used for a job: {reason}.',
            "Let the job be started again: it makes a directory of its own.",
            argument="directory",
            value=directory,
        )


def is_private(directory: str) -> bool:
    """Say whether ``check_private`` accepts a directory."""
    try:
        check_private(directory)
    except ArgumentError:
        return False
    return True


def check_digest(path: str, digest: str) -> None:
    """See that a file is the one that was written for the job.

    Args:
        path: A file in the private directory.
        digest: What ``digest_of`` gave when it was written.

    Raises:
        ArgumentError: the directory is not private, or the file is missing or another one.
    """
    check_private(os.path.dirname(path))
    try:
        found = digest_of(path)
    except OSError as error:
        found = f"unknown ({error.strerror})"
    if found != digest:
        raise ArgumentError(
            f'`path` "{path}" is not read: it is not what was written for this job (its digest is {found}).',
            "Start the job again, and find out who changes files in that directory.",
            argument="path",
            value=path,
        )


def digest_of(path: str) -> str:
    """Compute the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def keep(directory: str, descriptor: int | None = None) -> int:
    """Hold the lock that says a job is alive.

    Args:
        directory: The private directory.
        descriptor: The lock, where another process hands it over; None to take it.

    Returns:
        The open file that holds the lock.

    Raises:
        ArgumentError: another process holds it.
    """
    if descriptor is None:
        descriptor = os.open(os.path.join(directory, _KEEPER), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise ArgumentError(
                f'`directory` "{directory}" is of another process\'s job: {error.strerror}.',
                "Make a directory for this job.",
                argument="directory",
                value=directory,
            ) from error
    os.set_inheritable(descriptor, False)
    _held[directory] = descriptor
    return descriptor


def held(directory: str) -> int | None:
    """Give the lock that this process holds on a directory; None where it holds none."""
    return _held.get(directory)


def let_go(directory: str) -> None:
    """Leave a directory to the process that took it over, or to nobody."""
    descriptor = _held.pop(directory, None)
    if descriptor is not None:
        os.close(descriptor)


def remove(directory: str) -> None:
    """Remove a directory that this process keeps."""
    shutil.rmtree(directory, ignore_errors=True)
    let_go(directory)


def is_kept(directory: str) -> bool:
    """Say whether a process keeps a directory alive."""
    try:
        descriptor = os.open(os.path.join(directory, _KEEPER), os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        # Closing one of several descriptors of one open file would not free its lock: this is another open file.
        os.close(descriptor)
    return False


def own_directories() -> Iterator[str]:
    """Walk through the private directories of this user's jobs."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if is_private(str(path)):
            yield str(path)


def remove_abandoned() -> None:
    """Remove the directories of jobs that nobody keeps any more."""
    for directory in own_directories():
        if not is_kept(directory):
            shutil.rmtree(directory, ignore_errors=True)


def _not_private(found: os.stat_result) -> str | None:
    if stat.S_ISLNK(found.st_mode):
        return "it is a link"
    if not stat.S_ISDIR(found.st_mode):
        return "it is no directory"
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}"
    if stat.S_IMODE(found.st_mode) & 0o077:
        return "others may enter it"
    return None
