"""Kinds of fields of a saved model: numbers, names, files and code.

Code is whatever decides which program runs, what it is told, or which file or machine outside of the model is read.
Numbers and choices never do, so only other fields are annotated by a ``Fact``. A field that nobody has judged counts
as code.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.descriptions.fields import fields_of, is_closed


def code_in(description: Description) -> list[str]:
    """Return the fields that hold code, such as "optimizer$function"."""
    return list(_code_in(description, "", is_name=False))


def files_in(description: Description) -> Iterator[tuple[str, str]]:
    for name, value in _fields(description):
        if value is not None and Fact.FILE in fields_of(type(description))[name].facts:
            yield name, value
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Description):
                yield from files_in(part)


def _fields(description: Description) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(cast(Any, description)):
        yield field.name, getattr(description, field.name)


def _code_in(value: Any, place: str, *, is_name: bool) -> Iterator[str]:
    if value is None or isinstance(value, (int, float)) or (is_name and isinstance(value, str)):
        return
    if isinstance(value, Description):
        for name, inner in _fields(value):
            yield from _code_in_field(type(value), name, inner, f"{place}${name}".lstrip("$"))
    elif isinstance(value, (tuple, list, Mapping)):
        parts = value.values() if isinstance(value, Mapping) else value
        for each in cast("Iterator[Any]", parts):
            yield from _code_in(each, place, is_name=is_name)
    else:
        yield place


def _code_in_field(of: type[Description], name: str, value: Any, place: str) -> Iterator[str]:
    facts = fields_of(of)[name].facts
    if Fact.CODE in facts:
        yield from (place,) if value not in (None, {}) else ()
    else:
        is_name = not {Fact.NAME, Fact.FILE}.isdisjoint(facts)
        is_name = is_name or is_closed(fields_of(of)[name].options)
        yield from _code_in(value, place, is_name=is_name)
