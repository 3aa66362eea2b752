"""Files as pyarrow reads them, and its errors."""

import contextlib
from collections.abc import Iterator
from typing import Any

from tfdistribute.errors import InputError
from tfdistribute.files import is_remote
from tfdistribute.inputs.files.files import File, check_unchanged, open_file
from tfdistribute.storage.buckets import arrow_module


@contextlib.contextmanager
def open_for_arrow(file: File, mapped: bool = False) -> Iterator[Any]:
    """Open a file for pyarrow, ``mapped`` into memory or not.

    Rows are read without a map: if a file shrinks while its pages are read, the process crashes, and reading the pages
    is no faster.
    """
    pyarrow = arrow_module("pyarrow")
    if not is_remote(file.path):
        try:
            opened = (pyarrow.memory_map if mapped else pyarrow.OSFile)(file.path)
        except OSError:
            # The file was readable when it was found.
            check_unchanged([file])
            raise
        with opened:
            yield opened
    else:
        # The reader asks for the parts that it needs.
        with open_file(file.path) as stream, pyarrow.PythonFile(stream, mode="r") as opened:
            yield opened


@contextlib.contextmanager
def explain_arrow_errors(file: File, kind: str, remedy: str) -> Iterator[None]:
    pyarrow = arrow_module("pyarrow")
    try:
        yield
    except (pyarrow.ArrowException, OSError, EOFError) as error:
        check_unchanged([file])
        lines = str(error).strip().splitlines()
        raise InputError(
            f'The file "{file.path}" cannot be read as {kind}: {lines[0] if lines else type(error).__name__}',
            remedy,
            argument="paths",
            value=file.path,
        ) from error
