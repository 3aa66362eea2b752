"""The lock on model_dir, by which two jobs do not write one model. Plain Python."""

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

_DIGITS = 200


class ModelDirectoryLock:
    """Held from the making of this object until ``release()``, or until the process ends in any way.

    Args:
        model_dir: A local directory; it is made where it is missing.

    Raises:
        ModelDirectoryError: another job holds it, or nothing can be written there.
    """

    def __init__(self, model_dir: str) -> None:
        self.path = os.path.join(model_dir, NAME)
        self.is_supported = True
        try:
            os.makedirs(model_dir, exist_ok=True)
            self._descriptor: int | None = self._taken()
            self._write_owner()
        except OSError as error:
            self.release()
            raise ModelDirectoryError(
                f'`model_dir` "{model_dir}" cannot be written: {error.strerror}.',
                "Choose a directory that you may write to, with space on its disk.",
                argument="model_dir",
                value=model_dir,
            ) from error

    def _taken(self) -> int:
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(descriptor, _DIGITS).decode(errors="replace").strip()
                os.close(descriptor)
                raise self._taken_by(owner) from None
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                    raise
                # Some network file systems have no locks; a job there is as safe as before.
                self.is_supported = False
            # The last owner may have removed the file between the two calls.
            with contextlib.suppress(OSError):
                if os.stat(self.path).st_ino == os.fstat(descriptor).st_ino:
                    return descriptor
            os.close(descriptor)

    def _taken_by(self, owner: str) -> ModelDirectoryError:
        directory = os.path.dirname(self.path)
        return ModelDirectoryError(
            f'`model_dir` "{directory}" is in use by another job: {owner or "its owner is not known"}.',
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
        """Let others have model_dir; a second call changes nothing."""
        descriptor, self._descriptor = getattr(self, "_descriptor", None), None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                Path(self.path).unlink()
            os.close(descriptor)


def owner_pid(model_dir: str) -> int | None:
    """Say which process on this host holds model_dir; None where none does."""
    text = ""
    try:
        with open(os.path.join(model_dir, NAME), "r+b") as file:
            text = file.read(_DIGITS).decode(errors="replace")
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
