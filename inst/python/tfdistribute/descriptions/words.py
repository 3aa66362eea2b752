"""Words for the values of a field, from its JSON Schema."""

import re
from typing import Any

_BOUNDS = {
    "minimum": " of at least ",
    "exclusiveMinimum": " above ",
    "maximum": " of at most ",
    "exclusiveMaximum": " and below ",
}


def in_words(options: list[dict[str, Any]]) -> str:
    """Return what a value must be, such as "a whole number of at least 1 or NULL"."""
    last = [each for each in options if each.get("type") == "null"]
    words = [_words(each) for each in options if each not in last] + ["NULL"] * len(last)
    parts = ", ".join(words).replace("TRUE or FALSE,", "TRUE, FALSE,").rsplit(", ", 1)
    return words[0] if len(words) == 1 else " or ".join(parts)


def _words(option: dict[str, Any]) -> str:
    if "enum" in option:
        choices = ", ".join(f'"{each}"' for each in option["enum"])
        return choices if len(option["enum"]) == 1 else f"one of {choices}"
    if "$ref" in option:
        return option["$ref"].in_words or f"a {option['$ref'].__name__}"
    if "type" not in option:
        return (
            f"a function of ({', '.join(option['takes'])})" if option.get("takes") else "a function"
        )
    if option["type"] == "array":
        item = _words(option["items"]["anyOf"][0])
        return re.sub(
            r"^an? ((?:(?:feature|named|non-empty|positive|whole) )?[a-z]+)", r"\1s", item
        )
    if option["type"] == "object":
        value = option["additionalProperties"]["anyOf"][0]
        if "enum" in value:
            return f"a named list of {_words(value).removeprefix('one of ')}"
        is_text = value.get("type") == "string"
        return "strings in UTF-8 with different names" if is_text else "a named list"
    plain = {"boolean": "TRUE or FALSE", "integer": "a whole number", "number": "a number"}
    text = "a non-empty string" if "minLength" in option else "a string"
    bounds = {name: f"{limit:.15g}" for name, limit in option.items() if name in _BOUNDS}
    if {"minimum", "maximum"} <= bounds.keys():
        return f"{plain[option['type']]} from {bounds['minimum']} to {bounds['maximum']}"
    return plain.get(option["type"], text) + "".join(
        _BOUNDS[name] + bound for name, bound in bounds.items()
    )
