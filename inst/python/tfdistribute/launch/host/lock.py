"""Lock on model_dir: only one job writes a model."""

from __future__ import annotations

import contextlib
import errno
import getpass
import os
import socket
import sys
import time
from pathlib import Path

from tfdistribute.errors import ModelDirectoryError

if sys.platform != "win32":
    import fcntl

NAME = ".lock"

_MAX_OWNER_BYTES = 200


class ModelDirectoryLock:
    """A lock on a local directory, which is created if it is missing.

    It is held until ``release()`` or the end of the process, however it ends.

    Raises:
        ModelDirectoryError: another job holds the lock, or the directory is not writable.
    """

    def __init__(self, model_dir: str) -> None:
        self.path = os.path.join(model_dir, NAME)
        self.is_supported = True
        try:
            os.makedirs(model_dir, exist_ok=True)
            self._descriptor: int | None = self._acquire()
            self._write_owner()
        except OSError as error:
            self.release()
            raise ModelDirectoryError(
                f'`model_dir` "{model_dir}" cannot be written: {error.strerror}.',
                "Choose a directory that you may write to, with space on its disk.",
                argument="model_dir",
                value=model_dir,
            ) from error

    def _acquire(self) -> int:
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(descriptor, _MAX_OWNER_BYTES).decode(errors="replace").strip()
                os.close(descriptor)
                raise self._in_use(owner) from None
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                    raise
                # Some network file systems have no locks; the job runs unprotected.
                self.is_supported = False
            # The previous owner may have removed the file between the two calls.
            with contextlib.suppress(OSError):
                if os.stat(self.path).st_ino == os.fstat(descriptor).st_ino:
                    return descriptor
            os.close(descriptor)

    def _in_use(self, owner: str) -> ModelDirectoryError:
        directory = os.path.dirname(self.path)
        return ModelDirectoryError(
            f'`model_dir` "{directory}" is in use by another job: {owner or "its owner is unknown"}.',
            "Wait until it has ended, stop it, or use another `model_dir`.",
            argument="model_dir",
            value=directory,
        )

    def _write_owner(self) -> None:
        assert self._descriptor is not None
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        text = f"{socket.gethostname()}, pid {os.getpid()}, user {_user()}, since {since}\n"
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, text.encode())

    def release(self) -> None:
        """Release the lock. Idempotent."""
        descriptor, self._descriptor = getattr(self, "_descriptor", None), None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                Path(self.path).unlink()
            os.close(descriptor)


def owner_pid(model_dir: str) -> int | None:
    """Return the process on this host that holds the lock of model_dir; None if none does."""
    text = ""
    try:
        with open(os.path.join(model_dir, NAME), "r+b") as file:
            text = file.read(_MAX_OWNER_BYTES).decode(errors="replace")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        host, _, rest = text.partition(", pid ")
        number = rest.partition(",")[0]
        return int(number) if host == socket.gethostname() and number.isdecimal() else None
    except OSError:
        return None
    return None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid())
