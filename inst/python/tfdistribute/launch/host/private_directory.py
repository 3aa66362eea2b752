"""Private directory of a job, which only its owner can read and which is removed with the job."""

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
from tfdistribute.files import is_remote, open_regular

if sys.platform != "win32":
    import fcntl

_PREFIX = "tfdistribute-job-"
_UNFINISHED = "tfdistribute-new-"

# Subdirectory for private directories of jobs in a directory that several hosts share.
JOBS = ".jobs"

# A job is alive while a process holds the lock on this file. It names the host, because the lock of another host may
# not be visible.
_LOCK = "lock"
_MACHINE_ID = Path("/etc/machine-id")

_locks: dict[str, int] = {}


def new_directory(parent: str | None = None, *, runs_elsewhere: bool = False) -> str:
    """Create and lock a directory in ``parent``, or a temporary one.

    Temporary directories of killed jobs are removed. Raises UnsupportedError where this is not Linux, unless the
    supervisor of the job ``runs_elsewhere``.
    """
    if sys.platform != "linux" and not runs_elsewhere:
        raise UnsupportedError(
            "The supervisor of a job needs Linux, whose kernel ends the processes with it, and this is "
            f'"{sys.platform}".',
            "Use Linux, a cluster with a supervisor of its own, such as kubernetes_cluster(), or train in this "
            "process: without `cluster`, and with `wait = TRUE`.",
            argument="cluster",
        )
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


def jobs_directory(model_dir: str | None, working_directory: str) -> str:
    """Return where jobs of schedulers have their directories, which their hosts share."""
    is_local = model_dir is not None and not is_remote(model_dir)
    return os.path.join(model_dir if is_local and model_dir else working_directory, JOBS)


def job_id(directory: str) -> str:
    return os.path.basename(directory).removeprefix(_PREFIX)


def check_private(directory: str) -> None:
    """Raise ArgumentError if others can have written the content of a directory, or it is a link or not a directory."""
    try:
        status = os.lstat(directory)
        reason = _why_not_private(status)
    except OSError as error:
        reason = f"it cannot be read ({error.strerror})"
    if reason is not None:
        raise ArgumentError(
            f'`directory` "{directory}" is not used for a job: {reason}.',
            "Start the job again: it makes a directory of its own.",
            value=directory,
        )


def is_private(directory: str) -> bool:
    try:
        check_private(directory)
    except ArgumentError:
        return False
    return True


def check_digest(path: str, digest: str) -> None:
    """Raise ArgumentError if the directory is not private, or the file is missing or has another SHA-256."""
    check_private(os.path.dirname(path))
    try:
        own_digest = digest_of(path)
    except OSError as error:
        own_digest = f"unknown ({error.strerror})"
    if own_digest != digest:
        raise ArgumentError(
            f'`path` "{path}" is not what was written for this job: its digest is {own_digest}.',
            "Find out what changes files in that directory, and start the job again.",
            value=path,
        )


def digest_of(path: str) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def lock(directory: str, descriptor: int | None = None) -> int:
    """Hold the lock that marks a job as alive, and return its open file; ArgumentError if another process holds it.

    ``descriptor`` is the open lock file of a process that hands the lock over.
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
                value=directory,
            ) from error
        os.pwrite(descriptor, this_host().encode(), 0)
    os.set_inheritable(descriptor, False)
    _locks[directory] = descriptor
    return descriptor


def release(directory: str) -> None:
    descriptor = _locks.pop(directory, None)
    if descriptor is not None:
        os.close(descriptor)


def remove(directory: str) -> None:
    """Remove a directory, and its lock last, so that a job counts as alive until nothing else of it is left."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(directory):
            # A session or a task may write at the same time.
            with contextlib.suppress(FileNotFoundError):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                elif entry.name != _LOCK:
                    os.unlink(entry.path)
    shutil.rmtree(directory, ignore_errors=True)
    release(directory)
    parent = os.path.dirname(directory)
    if os.path.basename(parent) == JOBS:
        with contextlib.suppress(OSError):
            os.rmdir(parent)


def is_locked(directory: str) -> bool:
    try:
        descriptor = os.open(os.path.join(directory, _LOCK), os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        # Closing this other open file does not release a lock that this process holds.
        os.close(descriptor)
    return False


def own_directories(parent: str | None = None) -> Iterator[str]:
    for path in Path(parent or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if is_private(str(path)):
            yield str(path)


def remove_abandoned() -> None:
    for directory in own_directories():
        if is_abandoned(directory):
            shutil.rmtree(directory, ignore_errors=True)


def this_host() -> str:
    """Identify this host by its name and its machine id. Copied containers share only the id."""
    try:
        machine = _MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        machine = ""
    return f"{socket.gethostname()} {machine}"


def is_abandoned(directory: str) -> bool:
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
