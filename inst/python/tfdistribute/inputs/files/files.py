"""File search by path or pattern, on this machine or on remote storage."""

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import BinaryIO

from tfdistribute import storage
from tfdistribute.errors import BackendError, InputError
from tfdistribute.files import NotRegularError, is_remote

_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True)
class File:
    """Size and modification time (nanoseconds since 1970) of a file when it was found."""

    path: str
    size: int
    modified_ns: int


def find_files(paths: Sequence[str], directories: bool = False) -> tuple[File, ...]:
    """Find the files that match paths and patterns: each once, in the order of the paths.

    If ``directories``, a directory means its files, without names that begin with "." or "_". InputError unless each
    path leads to files that can be read.
    """
    if not paths:
        raise InputError("`paths` names no files.", "Name at least one file.")
    matches: list[str] = []
    for path in map(normalize, paths):
        matches += _files_in(path) if directories and is_directory(path) else _matching(path)
    return tuple(map(file_at, dict.fromkeys(matches)))


def file_at(path: str) -> File:
    path = normalize(path)
    status = _status(path)
    if status is None:
        raise _file_error(path, "does not exist", "Correct the path.")
    if status.is_directory:
        remedy = f"Name its files, for example {_join(path, '*')}."
        raise _file_error(path, "is a directory", remedy)
    if not is_remote(path):
        # The file may be a pipe, or closed to this user.
        open_file(path).close()
    return File(path, status.size, status.modified_ns)


def exists(path: str) -> bool:
    return _status(normalize(path)) is not None


def is_directory(path: str) -> bool:
    status = _status(normalize(path))
    return status is not None and status.is_directory


def open_file(path: str) -> BinaryIO:
    path = normalize(path)
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
    for file in files:
        if not exists(file.path) or file_at(file.path) != file:
            raise changed_error(file.path)


def changed_error(path: str) -> InputError:
    return _file_error(
        path,
        "was changed while it was read",
        "Write other files, or wait until nothing writes to it, and begin again.",
    )


def normalize(path: str) -> str:
    path = path.removeprefix("file://")
    if not is_remote(path):
        return os.path.expanduser(path)
    try:
        storage.of(path)
    except BackendError as error:
        raise InputError(error.problem, error.remedy, argument="paths", value=path) from error
    return path


def _status(path: str) -> storage.Status | None:
    try:
        return storage.of(path).status(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _read_error(path, error) from error


def _matching(path: str) -> list[str]:
    if not _WILDCARDS & set(path) or exists(path):
        return [path]
    files = sorted(match for match in _glob(path) if not is_directory(match))
    if not files:
        raise InputError(
            f'The pattern "{path}" in `paths` matches no file.',
            "Correct the pattern.",
            argument="paths",
            value=path,
        )
    return files


def _glob(path: str) -> list[str]:
    if not is_remote(path):
        return glob.glob(path)
    scheme, _, rest = path.partition("://")
    bucket, *parts = rest.split("/")
    found = [f"{scheme}://{bucket}"]
    try:
        for part in parts:
            found = [_join(each, name) for each in found for name in _named(each, part)]
    except OSError as error:
        raise _read_error(path, error) from error
    return found


def _named(directory: str, pattern: str) -> list[str]:
    if not _WILDCARDS & set(pattern):
        return [pattern]
    names = storage.of(directory).names(directory)
    return [name for name in names if fnmatchcase(name, pattern)]


def _files_in(directory: str) -> list[str]:
    # Marks of success and checksums, which Spark and Hadoop write beside the data.
    names = storage.of(directory).names(directory)
    paths = [_join(directory, name) for name in names if not name.startswith((".", "_"))]
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
        argument="paths",
        value=directory,
    )


def _join(directory: str, name: str) -> str:
    return f"{directory.rstrip('/')}/{name}"


def _read_error(path: str, error: Exception) -> InputError:
    if isinstance(error, FileNotFoundError):
        return _file_error(path, "no longer exists", "Restore it, and begin again.")
    if isinstance(error, NotRegularError):
        return _file_error(
            path,
            "is a pipe or a device, which cannot be read twice",
            "Write its content to a file first.",
        )
    reason = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
    return _file_error(path, f"cannot be read: {reason}", "Allow this user to read the file.")


def _file_error(path: str, problem: str, remedy: str) -> InputError:
    return InputError(f'The file "{path}" {problem}.', remedy, argument="paths", value=path)
