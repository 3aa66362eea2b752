"""Lock on model_dir, which only one job may write."""

import contextlib
import errno
import os
import re
import socket
import sys
from pathlib import Path

from tfdistribute.environment import describe_process
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.files import NotRegularError, open_own

if sys.platform != "win32":
    import fcntl

NAME = ".lock"

_MAX_OWNER_BYTES = 200
# Only a file with such a line from ``_write_owner``, or an empty one, is overwritten.
_OWNER = re.compile(r"(\S*, pid \d+, user .*, since [\d :-]+\n)?")


class ModelDirectoryLock:
    """A lock on a local directory; ModelDirectoryError if another job holds it, or the directory is not writable."""

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
                value=model_dir,
            ) from error

    def _acquire(self) -> int:
        while True:
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = _read_owner(descriptor).strip()
                os.close(descriptor)
                raise self._in_use(owner) from None
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                    raise
                # Some network file systems have no locks. The job then runs unprotected.
                self.is_supported = False
            # The previous owner may have removed the file between the two calls.
            with contextlib.suppress(OSError):
                if os.stat(self.path).st_ino == os.fstat(descriptor).st_ino:
                    return descriptor
            os.close(descriptor)

    def _open(self) -> int:
        try:
            descriptor = open_own(self.path, os.O_RDWR | os.O_CREAT)
        except NotRegularError as error:
            raise self._foreign("is not a file") from error
        why = None
        if os.fstat(descriptor).st_nlink > 1:
            why = "is also the file of another name"
        elif _OWNER.fullmatch(_read_owner(descriptor)) is None:
            why = "has content that is not a lock's"
        if why is not None:
            os.close(descriptor)
            raise self._foreign(why)
        return descriptor

    def _foreign(self, why: str) -> ModelDirectoryError:
        return ModelDirectoryError(
            f'`model_dir` cannot be locked: "{self.path}" {why}, so this package did not write it.',
            "Find out who made it and remove it, or use another `model_dir`.",
            value=os.path.dirname(self.path),
        )

    def _in_use(self, owner: str) -> ModelDirectoryError:
        directory = os.path.dirname(self.path)
        remedy = "Wait until it has ended, stop it, or use another `model_dir`."
        if os.environ.get("TF_CONFIG"):
            remedy += " A task of the same cluster needs its own `task` in TF_CONFIG."
        return ModelDirectoryError(
            f'`model_dir` "{directory}" is in use by another training: {owner or "its owner is unknown"}.',
            remedy,
            value=directory,
        )

    def _write_owner(self) -> None:
        assert self._descriptor is not None
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"{describe_process()}\n".encode())

    def release(self) -> None:
        descriptor, self._descriptor = getattr(self, "_descriptor", None), None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                Path(self.path).unlink()
            os.close(descriptor)


def owner_pid(model_dir: str) -> int | None:
    try:
        descriptor = open_own(os.path.join(model_dir, NAME))
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        host, _, rest = _read_owner(descriptor).partition(", pid ")
        number = rest.partition(",")[0]
        return int(number) if host == socket.gethostname() and number.isdecimal() else None
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _read_owner(descriptor: int) -> str:
    return os.pread(descriptor, _MAX_OWNER_BYTES, 0).decode(errors="replace")
