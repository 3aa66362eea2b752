"""Record columns: text notation and selection."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tfdistribute.columns import MOST_VALUES, TYPES_OF_DTYPES, ColumnFacts, list_columns
from tfdistribute.errors import ArgumentError, InputError

_COLUMN = re.compile(r"(\w+)(?:\[(\d+(?:\s*,\s*\d+)*)\])?")


def choose_columns(
    columns: Sequence[ColumnFacts], features: Sequence[str] | None, response: str | None
) -> list[ColumnFacts]:
    known = {column.name: column for column in columns}
    names = [name for name in known if name != response] if features is None else list(features)
    for argument, name in [("features", each) for each in names] + [("response", response)]:
        if name is not None and name not in known:
            raise InputError(
                f"`{argument}` names `{name}`, but the files have no such column.",
                list_columns(known),
                argument=argument,
                value=name,
            )
    return [known[name] for name in [*names, *([] if response is None else [response])]]


def parse_column(name: str, text: str, dtypes: Sequence[str]) -> tuple[str, ColumnFacts]:
    """Parse a column from text such as "float32[28, 28]"."""
    match = _COLUMN.fullmatch(text.strip())
    if match is None or match[1] not in dtypes:
        raise ArgumentError(
            f'`columns${name}` is "{text}", which is not a dtype.',
            f'Use one of {", ".join(dtypes)}, with a shape such as "{dtypes[0]}[28, 28]" if it has one.',
            argument="columns",
            value=text,
        )
    shape = tuple(int(size[:20]) for size in match[2].split(",")) if match[2] else ()
    facts = ColumnFacts(name, TYPES_OF_DTYPES[match[1]], shape)
    if not 1 <= facts.width <= MOST_VALUES:
        raise ArgumentError(
            f'`columns${name}` is "{text[:100]}", which has {"no" if facts.width == 0 else "too many"} values.',
            f"Give each row between 1 and {MOST_VALUES:,} values.",
            argument="columns",
            value=text[:100],
        )
    return match[1], facts
