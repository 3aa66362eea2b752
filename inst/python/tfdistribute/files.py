"""Paths, and files and JSON that another program may have written."""

import errno
import json
import math
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, cast

# How new_estimator() in R names the directory of a model that was not given one.
_UNNAMED_MODEL = "tfdistribute-model-"

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

# Control characters of a terminal, of writing directions, and halves of characters, but not line ends and tabs. Colors
# are sequences that only change how the text after them looks.
_COLOR = r"\x1b\[[0-9;]*m"
_CONTROL = re.compile(
    rf"({_COLOR})|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

# Whole numbers beyond 64 bits are not counts, sizes or indexes.
_MOST_DIGITS = 20


class NotRegularError(OSError):
    """The path leads to a pipe, a device, a directory or a link that is not followed."""


def is_remote(path: str) -> bool:
    return _REMOTE.match(path) is not None


def is_unnamed_model(path: str) -> bool:
    return os.path.basename(path).startswith(_UNNAMED_MODEL) and not is_remote(path)


def absolute_path(path: str) -> str:
    """Make a path independent of the working directory; a path on remote storage stays as it is."""
    return path if not path or is_remote(path) else os.path.abspath(os.path.expanduser(path))


def canonical_path(path: str) -> str:
    return path.rstrip("/") if is_remote(path) else os.path.realpath(os.path.expanduser(path))


def umask() -> int:
    # It can only be read by setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading bytes; NotRegularError for a pipe or a device, which is never waited for."""
    return os.fdopen(_regular(path, os.O_RDONLY), "rb")


def open_own(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a file that only this package writes, such as a log in model_dir, and return its descriptor.

    Another user of the directory could leave a link to another file there, a pipe or a device. None is followed,
    written to or waited for (NotRegularError).
    """
    return _regular(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _regular(path: str, flags: int) -> int:
    # Opening a pipe would wait for its other end.
    safe = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags | safe, 0o644)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise NotRegularError(f'"{path}" is not a regular file') from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotRegularError(f'"{path}" is not a regular file')
    return descriptor


def parse_json(
    text: str | bytes, make_object: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> object:
    """Parse JSON; ValueError if it is none, is nested too deeply, or has a number that is too long."""
    try:
        return json.loads(text, parse_int=_whole_number, object_pairs_hook=make_object)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_object(line: str | bytes) -> dict[str, Any] | None:
    """Parse a line that holds a JSON object; None for others, such as the last line of a killed process."""
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def read_json(path: str) -> object:
    """Parse the JSON in a regular file; OSError as ``open_regular``, ValueError as ``parse_json``."""
    with open_regular(path) as file:
        return parse_json(file.read())


def printable(text: str, colors: bool = False) -> str:
    """Write the control characters of a text as escapes that are visible; with ``colors``, keep colors."""
    return _CONTROL.sub(
        lambda found: (
            found[0]
            if colors and found[1]
            else found[0].encode("unicode_escape", "surrogatepass").decode()
        ),
        text,
    )


def without_colors(text: str) -> str:
    return re.sub(_COLOR, "", text)


def json_values(value: Any) -> Any:
    """Turn mappings and sequences into JSON's kinds; numbers that are not finite become None."""
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {str(name): json_values(each) for name, each in items}
    if isinstance(value, (list, tuple)):
        return [json_values(each) for each in cast("Sequence[Any]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _whole_number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)
