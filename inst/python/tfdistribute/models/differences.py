"""Differences between the structures of two models, as ``Model.structure()`` describes them in JSON."""

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, cast

# The same file may be elsewhere now. Signatures of older versions have no checksum of its lines.
_UNCOMPARED, _ADDED = ("vocabulary_file",), ("lines",)


class Difference(NamedTuple):
    """A field that differs, with both values; ``parts`` are the innermost structures that hold it."""

    field: str
    known: Any
    wanted: Any
    parts: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})

    def of_column(self, column: str) -> str:
        if self.field == "lines":
            was, now = (part["vocabulary_file"] for part in self.parts)
            place = f'"{now}"' if was == now else f'"{now}", in training "{was}",'
            return (
                f"the vocabulary file {place} of its column `{column}` had other lines in training"
            )
        return (
            f"the `{self.field}` of its column `{column}` is {show(self.known)}, this model's is "
            f"{show(self.wanted)}"
        )


def plain(structure: Mapping[str, Any]) -> dict[str, Any]:
    # Through JSON, so that tuples compare equal to the lists that come back from the file.
    return json.loads(json.dumps(structure))


def find_difference(known: Any, wanted: Any, free: Collection[str] = ()) -> Difference | None:
    """Return the first field, by name, in which two plain structures differ, apart from ``free`` fields."""
    if isinstance(known, dict) and isinstance(wanted, dict):
        one, other = cast("dict[str, Any]", known), cast("dict[str, Any]", wanted)
        for name in sorted({*one, *other} - {*free, *_UNCOMPARED}):
            if name in _ADDED and not (name in one and name in other):
                continue
            found = find_difference(one.get(name), other.get(name), free)
            if found is not None:
                return (
                    found
                    if found.field
                    else Difference(name, found.known, found.wanted, (one, other))
                )
        return None
    if isinstance(known, list) and isinstance(wanted, list) and len(known) == len(wanted):
        pairs = zip(cast("list[Any]", known), cast("list[Any]", wanted), strict=True)
        inside = [found for pair in pairs if (found := find_difference(*pair, free)) is not None]
        if not inside or inside[0].field:
            return inside[0] if inside else None
    return None if known == wanted else Difference("", known, wanted)


def columns_of(structure: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the structures of a canned model's columns, by the part of the model ("linear", "dnn") and their name."""
    parts: dict[str, dict[str, dict[str, Any]]] = {"linear": {}, "dnn": {}}
    for argument, columns in structure.items():
        if argument.endswith("feature_columns"):
            deep = argument.startswith("dnn") or str(structure["kind"]) in _DEEP
            parts["dnn" if deep else "linear"] |= {each["name"]: each for each in columns}
    return parts


_DEEP = ("dnn_regressor", "dnn_classifier")


def show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
