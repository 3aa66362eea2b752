"""Plain values as YAML, which people can read and change before they send it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

# Text that no reader of YAML takes for anything else. A word such as "no" or "1e3" is quoted.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9./_-]*")
_WORDS = re.compile(r"y|n|yes|no|on|off|true|false|null", re.IGNORECASE)
_INDENT = "  "


def documents(values: Sequence[Mapping[str, Any]]) -> str:
    """Write documents, one after the other. Other text than plain words is quoted as in JSON, which is YAML, too."""
    return "---\n".join("\n".join(_lines(each)) + "\n" for each in values)


def _lines(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _entry(f"{_scalar(name)}:", each)
        return
    for each in value:
        if _is_nested(each):
            first, *rest = _lines(each)
            yield f"- {first}"
            yield from (f"{_INDENT}{line}" for line in rest)
        else:
            yield f"- {_scalar(each)}"


def _entry(name: str, value: Any) -> Iterator[str]:
    if _is_nested(value):
        yield name
        # A list may stand where its name stands.
        indent = _INDENT if isinstance(value, Mapping) else ""
        yield from (f"{indent}{line}" for line in _lines(cast("Any", value)))
    else:
        yield f"{name} {_scalar(value)}"


def _is_nested(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple)) and bool(cast("Any", value))


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _WORDS.fullmatch(value):
        return value
    return json.dumps(value)
