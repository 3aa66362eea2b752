"""Remote storage through TensorFlow's file systems."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import tensorflow as tf

from tfdistribute import storage
from tfdistribute.errors import BackendError
from tfdistribute.storage import Status

# Schemes of storage that has no directories of its own.
_OF_BUCKETS = ("gs", "s3", "az")
_BUFFER_BYTES, _READ_BYTES = 1 << 16, 1 << 24
_CODES = {
    tf.errors.NotFoundError: errno.ENOENT,
    tf.errors.PermissionDeniedError: errno.EACCES,
    tf.errors.UnauthenticatedError: errno.EACCES,
}
_MESSAGE = re.compile(r'"message": *"((?:[^"\\]|\\.)*)"')


class RemoteStorage:
    def open(self, path: str) -> BinaryIO:
        # TensorFlow itself opens it at the first read.
        self.status(path)
        return cast("BinaryIO", io.BufferedReader(_RemoteFile(path), _BUFFER_BYTES))

    def write(self, path: str, content: bytes) -> None:
        with _os_errors(path), tf.io.gfile.GFile(path, "wb") as file:
            file.write(content)

    def status(self, path: str) -> Status:
        with _os_errors(path):
            statistics: Any = tf.io.gfile.stat(path)
        return Status(
            int(statistics.length), int(statistics.mtime_nsec), bool(statistics.is_directory)
        )

    def names(self, directory: str) -> list[str]:
        with contextlib.suppress(FileNotFoundError), _os_errors(directory):
            entries = {name.rstrip("/") for name in tf.io.gfile.listdir(directory)}
            return sorted(name for name in entries if name)
        return []

    def make_directory(self, path: str) -> None:
        """Make a directory; in a bucket it is there as soon as a file is in it."""
        if storage.scheme_of(path) not in _OF_BUCKETS:
            with _os_errors(path):
                tf.io.gfile.makedirs(path)

    def rename(self, path: str, to: str) -> None:
        with _os_errors(path):
            tf.io.gfile.rename(path, to, overwrite=True)

    def remove(self, path: str) -> None:
        with _os_errors(path):
            tf.io.gfile.remove(path)

    def remove_directory(self, path: str) -> None:
        with contextlib.suppress(OSError), _os_errors(path):
            tf.io.gfile.rmtree(path)


class _RemoteFile(io.RawIOBase):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._file: Any = tf.io.gfile.GFile(path, "rb")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def readall(self) -> bytes:
        # TensorFlow would read as many bytes as the file had a few seconds ago.
        return b"".join(iter(lambda: self._read(_READ_BYTES), b""))

    def _read(self, count: int) -> bytes:
        with _os_errors(self._path):
            return self._file.read(count)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _os_errors(self._path):
            self._file.seek(offset, whence)
            return int(self._file.tell())

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()
        super().close()


_STORAGE = RemoteStorage()


def find(path: str) -> RemoteStorage:
    """Return the storage of a path, and import the package that adds its scheme; BackendError without one."""
    scheme = storage.scheme_of(path)
    if scheme not in tf.io.gfile.get_registered_schemes() and scheme in storage.OF_PACKAGE:
        try:
            importlib.import_module(storage.MODULE)
        except Exception as error:
            raise BackendError(
                f'"{path}" has the scheme "{scheme}", which the Python package {storage.PACKAGE} reads, and that '
                f"cannot be imported: {' '.join(str(error).split())[:200]}",
                f"Install the release of {storage.PACKAGE} for TensorFlow {tf.__version__}.",
                value=path,
            ) from error
    if scheme not in tf.io.gfile.get_registered_schemes():
        schemes = ", ".join(f"{each}://" for each in storage.OF_PACKAGE)
        raise BackendError(
            f'"{path}" has the scheme "{scheme}", which nothing installed reads.',
            f"Use a path on this machine, gs://, or one of {schemes} with the Python package {storage.PACKAGE}.",
            value=path,
        )
    return _STORAGE


@contextlib.contextmanager
def _os_errors(path: str) -> Iterator[None]:
    try:
        yield
    except tf.errors.OpError as error:
        code = _CODES.get(type(error), errno.EIO)
        raise OSError(code, _reason(error.message), path) from error


def _reason(text: str) -> str:
    match = _MESSAGE.search(text)
    return (match.group(1) if match else text.splitlines()[0] if text else "no reason").rstrip(".")
