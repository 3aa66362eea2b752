"""File search by path or pattern, on this machine or any TensorFlow file system."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from tfdistribute import engine, storage
from tfdistribute.errors import BackendError, InputError
from tfdistribute.files import NotRegularError, open_regular

_WILDCARDS = frozenset("*?[")
_FILE_SCHEME = "file://"


@dataclass(frozen=True)
class File:
    """Size and modification time (nanoseconds since 1970) of a file when it was found."""

    path: str
    size: int
    modified_ns: int


class Stream(Protocol):
    def read(self, n: int = -1, /) -> bytes: ...

    def seek(self, offset: int, /) -> Any: ...

    def __enter__(self) -> Stream: ...

    def __exit__(self, kind: Any, error: Any, traceback: Any, /) -> Any: ...


def is_local(path: str) -> bool:
    """Return whether Python can open a path without TensorFlow."""
    return "://" not in path or path.startswith(_FILE_SCHEME)


def find_files(
    paths: Sequence[str], argument: str = "paths", directories: bool = False
) -> tuple[File, ...]:
    """Find the files that match paths and patterns: each once, in the order of the paths.

    ``argument`` is the user's, for errors. If ``directories``, a directory means its files, without those whose names
    begin with "." or "_". InputError unless each path leads to files that can be read.
    """
    if not paths:
        raise InputError(
            f"`{argument}` names no files.", "Name at least one file.", argument=argument
        )
    found: list[str] = []
    for path in (normalised(path, argument) for path in paths):
        whole = directories and is_directory(path)
        found += _files_in(path, argument) if whole else _matching(path, argument)
    return tuple(file_at(path, argument) for path in dict.fromkeys(found))


def file_at(path: str, argument: str = "paths") -> File:
    path = normalised(path, argument)
    if is_directory(path):
        raise _file_error(
            path, "is a directory", f"Name its files, for example {_join(path, '*')}.", argument
        )
    if not exists(path):
        raise _file_error(path, "does not exist", "Correct the path.", argument)
    if is_local(path):
        with _open_local(path, argument) as file:
            status = os.fstat(file.fileno())
        return File(path, status.st_size, status.st_mtime_ns)
    with _remote_errors(path, argument):
        status = engine.tf.io.gfile.stat(path)
    return File(path, int(status.length), int(status.mtime_nsec))


def exists(path: str) -> bool:
    path = normalised(path)
    if is_local(path):
        return os.path.exists(path)
    with _remote_errors(path):
        return bool(engine.tf.io.gfile.exists(path))


def is_directory(path: str) -> bool:
    path = normalised(path)
    if is_local(path):
        return os.path.isdir(path)
    with _remote_errors(path):
        return bool(engine.tf.io.gfile.isdir(path))


def open_file(path: str) -> Stream:
    """Open a file for reading bytes, as a context manager; InputError if it cannot be read."""
    path = normalised(path)
    if is_local(path):
        return _open_local(path)
    try:
        return storage.of(path).open(path)
    except OSError as error:
        raise _read_error(path, error) from error


def read_bytes(path: str, offset: int, count: int) -> bytes:
    """Read exactly ``count`` bytes of a file; InputError if it is shorter, or cannot be read."""
    with open_file(path) as stream:
        try:
            stream.seek(offset)
            content = stream.read(count)
        except OSError as error:
            raise _read_error(path, error) from error
    if len(content) != count:
        raise changed_error(path)
    return content


def check_unchanged(files: Iterable[File]) -> None:
    """Check that no file was modified, replaced or removed since it was found; InputError if one was."""
    for file in files:
        if not exists(file.path) or file_at(file.path) != file:
            raise changed_error(file.path)


def changed_error(path: str) -> InputError:
    return _file_error(
        path,
        "was changed while it was read",
        "Write other files, or wait until nothing writes to it, and begin again.",
        "paths",
    )


def normalised(path: str, argument: str = "paths") -> str:
    """Return a path as ``File`` names it; InputError if TensorFlow does not read its scheme."""
    path = path.removeprefix(_FILE_SCHEME)
    if is_local(path):
        return os.path.expanduser(path)
    try:
        storage.of(path)
    except BackendError as error:
        raise InputError(error.problem, error.remedy, argument=argument, value=path) from error
    return path


def _matching(path: str, argument: str) -> list[str]:
    if not _WILDCARDS & set(path) or exists(path):
        return [path]
    local = is_local(path)
    with _remote_errors(path, argument):
        matches = glob.glob(path) if local else engine.tf.io.gfile.glob(path)
    files = sorted(match for match in matches if not is_directory(match))
    if not files:
        raise InputError(
            f'The pattern "{path}" in `{argument}` matches no file.',
            "Correct the pattern.",
            argument=argument,
            value=path,
        )
    return files


def _open_local(path: str, argument: str = "paths") -> BinaryIO:
    try:
        return open_regular(path)
    except OSError as error:
        raise _read_error(path, error, argument) from error


@contextlib.contextmanager
def _remote_errors(path: str, argument: str = "paths") -> Iterator[None]:
    """Re-raise TensorFlow's errors about a remote path with its name."""
    if is_local(path):
        yield
        return
    try:
        yield
    except engine.tf.errors.OpError as error:
        raise _read_error(path, error, argument) from error


def _files_in(directory: str, argument: str) -> list[str]:
    names = os.listdir(directory) if is_local(directory) else engine.tf.io.gfile.listdir(directory)
    # Marks of success and checksums, which Spark and Hadoop write beside the data.
    shown = sorted(name.rstrip("/") for name in names if not name.startswith((".", "_")))
    paths = [_join(directory, name) for name in shown]
    inner = next((path for path in paths if is_directory(path)), None)
    if inner is None and paths:
        return paths
    raise InputError(
        f'The directory "{directory}" has no files.'
        if inner is None
        else f'The directory "{directory}" has directories in it, such as "{inner}".',
        "Write files there first, or correct the path."
        if inner is None
        else f'Name the files with a pattern, such as "{_join(directory, "*/*")}".',
        argument=argument,
        value=directory,
    )


def _join(directory: str, name: str) -> str:
    return f"{directory.rstrip('/')}/{name}"


def _read_error(path: str, error: Exception, argument: str = "paths") -> InputError:
    if isinstance(error, FileNotFoundError):
        return _file_error(path, "no longer exists", "Restore it, and begin again.", argument)
    if isinstance(error, NotRegularError):
        return _file_error(
            path,
            "is a pipe or a device, which cannot be read twice",
            "Write its content to a file first.",
            argument,
        )
    reason = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
    return _file_error(
        path, f"cannot be read: {reason}", "Allow this user to read the file.", argument
    )


def _file_error(path: str, problem: str, remedy: str, argument: str) -> InputError:
    return InputError(f'The file "{path}" {problem}.', remedy, argument=argument, value=path)
