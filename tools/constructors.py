"""The signatures of R's constructors: their arguments are the fields of dataclasses.

``make docs`` writes the arguments behind a line such as ``# Fields of cluster$local``, up to ``...`` or the end, which
may name fields that are no arguments: ``# Fields of estimator$custom without model_class``. Arguments keep their order,
and a new field becomes the last one. R's own arguments stay as they are, and so does a default that R computes, or that
R or Python does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tfdistribute.descriptions import Description
from tfdistribute.descriptions.fields import Field

MARKER = "  # Fields of "
Fields = Mapping[str, Field]


def write_arguments(folder: Path, fields_at: Mapping[str, Fields]) -> None:
    for path in sorted(folder.glob("*.R")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for start, end in reversed(list(_regions(lines))):
            place, without = _marked(lines[start])
            fields = {name: each for name, each in fields_at[place].items() if name not in without}
            is_last = lines[end] != "  ..."
            lines[start + 1 : end] = _arguments(lines[start + 1 : end], fields, is_last)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def constructors(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name of each constructor, the place of its member, and its generated arguments."""
    for path in sorted(folder.glob("*.R")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for start, end in _regions(lines):
            head = next(line for line in reversed(lines[:start]) if line.endswith("<- function("))
            place, without = _marked(lines[start])
            names = [_split(line)[0] for line in lines[start + 1 : end]]
            yield head.partition(" ")[0], place, [each for each in names if each not in without]


def _marked(line: str) -> tuple[str, list[str]]:
    place, _, without = line.removeprefix(MARKER).partition(" without ")
    return place, without.split(", ")


def _regions(lines: list[str]) -> Iterator[tuple[int, int]]:
    for start, line in enumerate(lines):
        if line.startswith(MARKER):
            ends = (at for at in range(start, len(lines)) if lines[at].startswith(("  ...", ")")))
            yield start, next(ends)


def _split(line: str) -> tuple[str, str]:
    name, _, default = line.strip().removesuffix(",").partition(" = ")
    return name, default


def _arguments(lines: list[str], fields: Fields, is_last: bool) -> list[str]:
    own = dict(map(_split, lines))
    defaults = {
        name: own.get(name) for name in [*own, *(each for each in fields if each not in own)]
    }
    for name, default in defaults.items():
        if name in fields and not _is_of_r(fields[name], default):
            defaults[name] = _in_r(fields[name])
    written = [
        f"  {name} = {default}," if default else f"  {name}," for name, default in defaults.items()
    ]
    return [*written[:-1], written[-1].removesuffix(",")] if is_last else written


def _is_of_r(field: Field, default: str | None) -> bool:
    """Return whether R has a default of its own, or deliberately none."""
    if default is None:
        return False
    is_computed = "(" in default and not default.startswith("c(")
    return not default or is_computed or field.is_required or isinstance(field.default, Description)


def _in_r(field: Field) -> str:
    """Return the default in R; all choices are named, and the first applies."""
    if field.is_required:
        return ""
    options = field.options
    choices = options[0].choices if len(options) == 1 else ()
    if len(choices) > 1 and choices[0] == field.default:
        return _value(choices)
    return "NULL" if field.may_be_empty else _value(field.default)


def _value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, (list, tuple)):
        values = [_value(each) for each in value]
        return values[0] if len(values) == 1 else f"c({', '.join(values)})"
    return f'"{value}"' if isinstance(value, str) else f"{value:.15g}"
