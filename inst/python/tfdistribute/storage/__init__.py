"""Files on this machine or on remote storage, such as the objects of a bucket, in one set of functions.

Local files need Python only, and remote ones pyarrow. A remote file appears whole when it is written, but nothing can
be appended to it, and renaming it copies it. Each failure, on remote storage too, is an ``OSError`` with its reason.
"""

import contextlib
import io
import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Collection, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from tfdistribute import files
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.files import is_remote, open_regular
from tfdistribute.storage import buckets
from tfdistribute.storage.buckets import Status


class _Local:
    """Files of this machine. ``Bucket`` has the same methods, with the same results and errors."""

    def open(self, path: str) -> BinaryIO:
        return open_regular(path)

    def write(self, path: str, content: bytes | BinaryIO) -> None:
        """Write a file atomically: readers see the old content or the new one."""
        new = f"{path}.{secrets.token_hex(8)}.new"
        source = io.BytesIO(content) if isinstance(content, bytes) else content
        try:
            with open(new, "xb") as file:
                shutil.copyfileobj(source, file)
            os.replace(new, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(new)
            raise

    def status(self, path: str) -> Status:
        status = os.stat(path)
        is_directory = stat.S_ISDIR(status.st_mode)
        return Status(
            status.st_size, status.st_mtime_ns, is_directory, status.st_ino, status.st_ctime_ns
        )

    def check(self, path: str) -> None:
        """Raise FileNotFoundError if the bucket of a path does not exist; nothing is done for local paths."""

    def names(self, directory: str) -> list[str]:
        """List the files and directories in a directory, sorted; none if it does not exist."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return sorted(os.listdir(directory))
        return []

    def make_directory(self, path: str) -> None:
        """Make a directory and its parents, if they are missing and the storage has directories."""
        os.makedirs(path, exist_ok=True)

    def rename(self, path: str, to: str) -> None:
        os.rename(path, to)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_directory(self, path: str) -> None:
        if not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)


_LOCAL = _Local()


def of(path: str) -> _Local | buckets.Bucket:
    """Return the storage of a path; BackendError if nothing installed reads its scheme."""
    return buckets.find(path) if is_remote(path) else _LOCAL


def read_bytes(path: str) -> bytes:
    with of(path).open(path) as file:
        return file.read()


def read_if_any(path: str) -> bytes:
    try:
        return read_bytes(path)
    except FileNotFoundError:
        return b""


def open_own(path: str) -> BinaryIO:
    """Open a file that only this package writes, for reading; as ``files.open_own`` on this machine."""
    return of(path).open(path) if is_remote(path) else os.fdopen(files.open_own(path), "rb")


def read_own(path: str) -> bytes:
    with open_own(path) as file:
        return file.read()


def read_object(path: str) -> dict[str, Any] | None:
    """Read a JSON object from a file that only this package writes; None without one that can be read."""
    try:
        return files.parse_object(read_own(path))
    except OSError:
        return None


def write_object(path: str, values: Mapping[str, Any]) -> None:
    """Write a JSON object atomically; may raise OSError."""
    # json.dump() would encode in Python, at many times the cost.
    of(path).write(path, json.dumps(values).encode())


def check_own(path: str) -> None:
    """Check that this package can have written a file of a model directory; ModelDirectoryError if not."""
    try:
        is_own = is_remote(path) or stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return
    if not is_own:
        directory, name = os.path.split(path)
        raise ModelDirectoryError(
            f'`model_dir` "{directory}" holds "{name}", which is not a regular file, so this package did not write it.',
            "Find out who made it and remove it, or use another `model_dir`.",
            argument="model_dir",
            value=directory,
        )


def exists(path: str) -> bool:
    try:
        of(path).status(path)
    except OSError:
        return False
    return True


def is_file(path: str) -> bool:
    try:
        return not of(path).status(path).is_directory
    except OSError:
        return False


def is_directory(path: str) -> bool:
    """Return whether a path leads to a directory: on most storage, whether any name begins with it."""
    try:
        return of(path).status(path).is_directory
    except OSError:
        return False


def copy(path: str, to: str) -> None:
    with of(path).open(path) as file:
        of(to).write(to, file)


def files_below(directory: str) -> Iterator[str]:
    """Iterate over the paths of all files in a directory, at any depth, relative to it."""
    for name in of(directory).names(directory):
        path = f"{directory}/{name}"
        if is_directory(path):
            yield from (f"{name}/{each}" for each in files_below(path))
        else:
            yield name


@contextlib.contextmanager
def local_copy(path: str) -> Generator[str]:
    if not is_remote(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as directory:
        local = os.path.join(directory, os.path.basename(path))
        copy(path, local)
        yield local


def copy_directory(directory: str, to: str, last: Collection[str] = ()) -> None:
    """Copy the files of a local directory, at any depth; names in ``last`` after all others."""
    files = sorted(path for path in Path(directory).rglob("*") if path.is_file())
    for path in sorted(files, key=lambda path: path.name in last):
        place = os.path.join(to, path.relative_to(directory).as_posix())
        of(place).make_directory(os.path.dirname(place))
        copy(str(path), place)
