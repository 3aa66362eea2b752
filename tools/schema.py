"""Write R/schema.R: what R knows of the fields of descriptions, from the annotations of Python's dataclasses.

A field that R/schema.R did not have becomes an argument of R's constructor, with its help.

tools/env python tools/schema.py          writes R/schema.R, or another file
tools/env python tools/schema.py --json   prints a JSON Schema for other tools
"""

from __future__ import annotations

import json
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from new_arguments import add_argument, constructor_of, known_fields

from tfdistribute import engine
from tfdistribute.bridge import functions  # noqa: F401 - All descriptions are known.
from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions.fields import fields_of
from tfdistribute.descriptions.schema import member_of, schema_of
from tfdistribute.inputs import Input
from tfdistribute.models import FeatureColumn, Model
from tfdistribute.models.canned.parts import ActivationName
from tfdistribute.models.feature_columns import initializers
from tfdistribute.models.optimizers import OPTIMIZERS, Optimizer, settings_of
from tfdistribute.models.warm_start import WarmStart
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies import Strategy
from tfdistribute.trackers import Tracker
from tfdistribute.training.hooks import Hook
from tfdistribute.training.specs import EvalSpec, TrainSpec

FAMILIES = {
    "strategy": Strategy,
    "cluster": Cluster,
    "run_config": RunSettings,
    "tracker": Tracker,
    "hook": Hook,
    "train_spec": TrainSpec,
    "eval_spec": EvalSpec,
    "optimizer": Optimizer,
    "initializer": initializers.Initializer,
    "feature_column": FeatureColumn,
    "input": Input,
    "estimator": Model,
}


NAMES = {
    "activations": list(typing.get_args(ActivationName)),
    "schedules": list(engine.optimizers.SCHEDULES),
}


def in_r(value: Any) -> str:
    if isinstance(value, dict):
        return f"list({', '.join(f'{_name(name)} = {in_r(each)}' for name, each in value.items())})"
    if isinstance(value, list):
        function = "c" if value and all(isinstance(each, str) for each in value) else "list"
        return f"{function}({', '.join(map(in_r, value))})"
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return f"{value}L" if isinstance(value, int) else json.dumps(value)


def _name(name: str) -> str:
    return name if name.isidentifier() and name != "function" else f"`{name}`"


class Fields:
    """Fields by their text: what several members share is written once."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def name_of(self, field: str, text: str) -> str:
        same = [name for name in self.names.values() if name.rpartition(".")[0] == field]
        return self.names.setdefault(text, f"{field}.{len(same) + 1}")

    def in_r(self) -> list[str]:
        lines = [f"  {name} = {text}" for text, name in self.names.items()]
        return ["schema_fields <- list(", ",\n".join(lines), ")"]


def member_in_r(place: str, member: dict[str, Any], fields: Fields) -> str:
    used = {
        name: fields.name_of(name, in_r({k: v for k, v in each.items() if k != "description"}))
        for name, each in member["properties"].items()
    }
    rules = [fields.name_of("rule", in_r(each)) for each in member.get("allOf", [])]
    listed = ", ".join(f"{_name(name)} = {json.dumps(each)}" for name, each in used.items())
    return f"schema${place} <- member_of(c({listed}), c({', '.join(map(json.dumps, rules))}))"


def names_in_r(names: dict[str, Any]) -> list[str]:
    lines = [f"  {name} = {in_r(each)}" for name, each in names.items()]
    return ["schema_names <- list(", ",\n".join(lines), ")"]


def members_of(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the family, the kind and the schema of each member; "" for a family without kinds."""
    for family, kinds in schema.items():
        for kind, member in ({"": kinds} if "properties" in kinds else kinds).items():
            yield family, kind, member


def place_in_r(family: str, kind: str) -> str:
    return f"{family}${_name(kind)}" if kind else family


def add_new_arguments(schema: dict[str, Any], before: str, folder: Path) -> None:
    known = known_fields(before)
    for family, kind, member in members_of(schema):
        old = known.get(place_in_r(family, kind), member["properties"].keys())
        for name in member["properties"].keys() - old:
            add_argument(folder, constructor_of(family, kind), name, member["properties"][name])


def in_json(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema with a definition for each family, and for each kind as "family.kind"."""
    definitions: dict[str, Any] = {}
    for family, kind, member in members_of(schema):
        fields = member["properties"]
        made = {name: each for name, each in member.items() if each}
        made["required"] = [name for name, each in fields.items() if "default" not in each]
        if kind:
            made["properties"] = {"kind": {"const": kind}} | fields
            made["required"].insert(0, "kind")
            options = definitions.setdefault(family, {"oneOf": []})["oneOf"]
            options.append({"$ref": f"#/$defs/{family}.{kind}"})
        definitions[f"{family}.{kind}" if kind else family] = made
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions}


def main() -> None:
    schema = schema_of(FAMILIES)
    if "--json" in sys.argv:
        print(json.dumps(in_json(schema), indent=1))
        return
    own = Path(__file__).parents[1] / "R" / "schema.R"
    if len(sys.argv) == 1:
        add_new_arguments(schema, own.read_text(encoding="utf-8"), own.parent)
    schema["optimizer_settings"] = {name: member_of(settings_of(name)) for name in OPTIMIZERS}
    schema["warm_start"] = member_of(fields_of(WarmStart))
    fields, members = Fields(), list[str]()
    for family, kind, member in members_of(schema):
        members.append(member_in_r(place_in_r(family, kind), member, fields))
    lines = [
        "# Written by `make docs` from the dataclasses in inst/python/tfdistribute. Do not edit.",
        "# fmt: skip file",
        "# nolint start",
        *("", *fields.in_r()),
        *("", "member_of <- function(properties, rules) {"),
        *(
            "  named <- stats::setNames(unname(schema_fields[properties]), names(properties))",
            "  list(properties = named, rules = unname(schema_fields[rules]))",
            "}",
        ),
        *("", "schema <- list()"),
        *members,
        *("", "# Names that are not fields of their own."),
        *(f"{line}" for line in names_in_r(NAMES)),
    ]
    lines.append("# nolint end")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else own
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
