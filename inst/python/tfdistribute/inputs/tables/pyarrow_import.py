"""The door to pyarrow, which only inputs from CSV, Parquet and Arrow files need."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from typing import Any

from tfdistribute.errors import BackendError, InputError
from tfdistribute.inputs.files.files import File, check_unchanged, is_local, open_file


def arrow_module(name: str) -> Any:
    """Import a module of pyarrow.

    Args:
        name: Its full name, such as "pyarrow.csv".

    Returns:
        The module.

    Raises:
        BackendError: pyarrow is missing, or does not fit this NumPy.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BackendError(
            f"pyarrow cannot be imported by {sys.executable}: {error}.",
            'Run install_tfdistribute() in R, or `pip install "pyarrow<21"`.',
        ) from error


@contextlib.contextmanager
def open_for_arrow(file: File) -> Iterator[Any]:
    """Open a file as pyarrow takes it. It is not mapped into memory: a file that shrinks would end the process.

    Args:
        file: The file.

    Yields:
        A ``pyarrow.NativeFile``.

    Raises:
        InputError: it may not be read.
    """
    pyarrow = arrow_module("pyarrow")
    if is_local(file.path):
        try:
            opened = pyarrow.OSFile(file.path)
        except OSError:
            # It was readable before.
            check_unchanged([file])
            raise
        with opened:
            yield opened
    else:
        with open_file(file.path) as stream:
            yield pyarrow.BufferReader(stream.read())


@contextlib.contextmanager
def reading(file: File, kind: str, remedy: str) -> Iterator[None]:
    """Name the file in what pyarrow raises.

    Args:
        file: What is read.
        kind: What it should be, such as "a Parquet file".
        remedy: What to do where it is not.

    Raises:
        InputError: pyarrow cannot read it, or it was changed.
    """
    pyarrow = arrow_module("pyarrow")
    try:
        yield
    except (pyarrow.ArrowException, OSError, EOFError) as error:
        check_unchanged([file])
        said = str(error).strip().splitlines()
        raise InputError(
            f'The file "{file.path}" cannot be read as {kind}: {said[0] if said else type(error).__name__}',
            remedy,
            argument="paths",
            value=file.path,
        ) from error
