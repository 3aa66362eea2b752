"""Write a new field of a dataclass into R's constructor, as an argument with its help, unless it is there already."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

from tfdistribute.descriptions.constraints import Doc
from tfdistribute.descriptions.fields import Field

# Constructors that are not called by their family and kind.
CONSTRUCTORS = {
    "cluster": "{}_cluster",
    "feature_column": "column_{}",
    "hook": "hook_{}",
    "input": "input_{}",
    "strategy": "strategy_{}",
    "tracker": "track_{}",
}
RENAMED = {
    "addresses_cluster": "address_cluster",
    "custom": "estimator",
    "keras": "keras_model_to_estimator",
}


def constructor_of(family: str, kind: str) -> str:
    name = CONSTRUCTORS.get(family, "{}").format(kind or family)
    return RENAMED.get(name, name)


def known_fields(schema_in_r: str) -> dict[str, set[str]]:
    """Return the names of fields by the place of their member, such as "cluster$local", from R/schema.R."""
    classes = {
        name: set(re.findall(r"^  `?(\w+)`? = ", fields, re.M))
        for name, fields in re.findall(
            r"^declared\$(\w+) <- list\((.*?)^\)", schema_in_r, re.M | re.S
        )
    }
    members = re.findall(r"^schema\$(\S+) <- fields_of\((.*)\)$", schema_in_r, re.M)
    return {
        place: set().union(*(classes[name] for name in re.findall(r"\w+", names)))
        for place, names in members
    }


def add_argument(folder: Path, constructor: str, field: Field) -> None:
    """Add an argument to the constructor in one of R's files; RuntimeError if there is none."""
    for path in sorted(folder.glob("*.R")):
        text = path.read_text(encoding="utf-8")
        if (start := re.search(rf"^{constructor} <- function\(", text, re.M)) is not None:
            end = _closing(text, start.end())
            if not re.search(rf"\b{field.name}\b *(=|,|$)", text[start.end() : end], re.M):
                path.write_text(_with_argument(text, start, end, field), encoding="utf-8")
            return
    raise RuntimeError(
        f"{constructor}() has no argument `{field.name}`, and is not found in {folder}."
    )


def _with_argument(text: str, start: re.Match[str], end: int, field: Field) -> str:
    given = text[start.end() : end].strip().rstrip(",")
    own = given.removesuffix("...").rstrip().rstrip(",")
    last = ",\n  ..." if own != given else ""
    written = ",\n  ".join(filter(None, [own, field.name + _default(field)])) + last
    before = text[: start.start()]
    return before[: (at := _place_of_help(before))] + (
        _help(field)
        + before[at:]
        + text[start.start() : start.end()]
        + f"\n  {written}\n"
        + text[end:]
    )


def _closing(text: str, start: int) -> int:
    """Return the position of the parenthesis that closes the one before ``start``; text may contain others."""
    depth = 1
    for found in re.finditer(r'"(?:\\.|[^"\\])*"|#.*|[()]', text[start:]):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return start + found.start()
    raise RuntimeError("An argument list does not end.")


def _default(field: Field) -> str:
    """Return " = " and the default in R; all choices are named, and the first applies."""
    if field.is_required:
        return ""
    default, options = [] if field.may_be_empty else field.default, field.options
    choices = options[0].get("enum", []) if len(options) == 1 else []
    if len(choices) > 1 and choices[0] == default:
        default = choices
    if isinstance(default, (list, tuple)):
        return f" = c({', '.join(map(_value, default))})" if default else " = NULL"
    return f" = {_value(default)}"


def _value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _place_of_help(before: str) -> int:
    """Return where the help of an argument belongs in the comment at the end of the text: behind the other ones."""
    lines = re.search(r"(?:^#'.*\n)*\Z", before, re.M)
    assert lines is not None
    params = re.search(r"(?:^#' @param .*\n(?:^#' (?!@).*\n)*)+", lines[0], re.M)
    tag = re.search(r"^#' @(?!param)", lines[0], re.M)
    return lines.start() + (params.end() if params else tag.start() if tag else 0)


def _help(field: Field) -> str:
    expected = re.sub(r'(NULL|TRUE|FALSE|"[^"]*")', r"`\1`", field.in_words)
    doc = field.fact(Doc)
    words = [doc.documentation if doc else "", f"{expected[0].upper()}{expected[1:]}."]
    return (
        textwrap.fill(
            f"@param {field.name} {' '.join(filter(None, words))}",
            width=120,
            initial_indent="#' ",
            subsequent_indent="#'   ",
            break_long_words=False,
        )
        + "\n"
    )
