"""Which columns records have, as users write them, and which of them are read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import ArgumentError, InputError

# What numbers of NumPy and of files become, by their dtype.
TYPES_OF_NUMBERS: Mapping[str, str] = {
    "float16": "float",
    "float32": "float",
    "float64": "float",
    "int8": "integer",
    "uint8": "integer",
    "int16": "integer",
    "uint16": "integer",
    "int32": "integer",
    "uint32": "integer64",
    "int64": "integer64",
    "bool": "logical",
}

_COLUMN = re.compile(r"(\w+)(?:\[(\d+(?:\s*,\s*\d+)*)\])?")


def chosen_columns(
    columns: Sequence[ColumnFacts], features: Sequence[str] | None, response: str | None
) -> list[ColumnFacts]:
    """Choose the columns that are read.

    Args:
        columns: All that the files have.
        features: Names of the features; None: all but the response.
        response: Name of the response, or None.

    Returns:
        The features in their order, then the response.

    Raises:
        InputError: there is no such column.
    """
    known = {column.name: column for column in columns}
    names = [name for name in known if name != response] if features is None else list(features)
    for argument, name in [("features", each) for each in names] + [("response", response)]:
        if name is not None and name not in known:
            listed = ", ".join(f"`{each}`" for each in list(known)[:10])
            raise InputError(
                f"`{argument}` names `{name}`, but the files have no such column.",
                f"The columns are {listed}{', ...' if len(known) > 10 else '.'}",
                argument=argument,
                value=name,
            )
    return [known[name] for name in [*names, *([] if response is None else [response])]]


def parse_column(name: str, text: str, dtypes: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Read what a column is from a text such as "float32[28, 28]".

    Args:
        name: Name of the column.
        text: The text.
        dtypes: The dtypes that there are.

    Returns:
        dtype and shape.

    Raises:
        ArgumentError: it is no such text.
    """
    match = _COLUMN.fullmatch(text.strip())
    if match is None or match[1] not in dtypes:
        raise ArgumentError(
            f'`columns` says that `{name}` is "{text}", which is no dtype.',
            f'Use one of {", ".join(dtypes)}, with a shape such as "{dtypes[0]}[28, 28]" where it has one.',
            argument="columns",
            value=text,
        )
    return match[1], tuple(int(size) for size in match[2].split(",")) if match[2] else ()
