"""Words for the values of a field, from its options."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfdistribute.descriptions.constraints import Ge, Gt, Le, Lt, MinLen, Takes

if TYPE_CHECKING:
    from tfdistribute.descriptions.fields import Option

_BOUNDS = {Ge: " of at least ", Gt: " above ", Le: " of at most ", Lt: " and below "}
_PLAIN = {"boolean": "TRUE or FALSE", "integer": "a whole number", "number": "a number"}


def in_words(options: "Sequence[Option]") -> str:
    """Return what a value must be, such as "a whole number of at least 1 or NULL"."""
    words = [_words(each) for each in options if each.kind != "null"]
    words += ["NULL"] * (len(options) - len(words))
    parts = ", ".join(words).replace("TRUE or FALSE,", "TRUE, FALSE,").rsplit(", ", 1)
    return words[0] if len(words) == 1 else " or ".join(parts)


def _words(option: "Option") -> str:
    if option.kind == "choice":
        choices = ", ".join(f'"{each}"' for each in option.choices)
        return choices if len(option.choices) == 1 else f"one of {choices}"
    if option.kind == "description":
        return option.of.in_words or f"a {option.of.__name__}"
    if option.kind == "list":
        return re.sub(
            r"^an? ((?:(?:feature|named|non-empty|positive|whole) )?[a-z]+)",
            r"\1s",
            _words(option.items[0]),
        )
    if option.kind == "named":
        return _words_of_mapping(option.items[0])
    if option.kind == "string":
        return "a non-empty string" if option.mark(MinLen) else "a string"
    if option.kind not in _PLAIN:
        takes = option.mark(Takes)
        return (
            f"a function of ({', '.join(takes.takes)})" if takes and takes.takes else "a function"
        )
    bounds = {of: f"{option.mark(of).bound:.15g}" for of in _BOUNDS if option.mark(of)}
    if {Ge, Le} <= bounds.keys():
        return f"{_PLAIN[option.kind]} from {bounds[Ge]} to {bounds[Le]}"
    return _PLAIN[option.kind] + "".join(_BOUNDS[of] + bound for of, bound in bounds.items())


def _words_of_mapping(value: "Option") -> str:
    if value.kind == "choice":
        return f"a named list of {_words(value).removeprefix('one of ')}"
    is_text = value.kind == "string"
    return "strings in UTF-8 with different names" if is_text else "a named list"
