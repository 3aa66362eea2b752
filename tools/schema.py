"""Write R/schema.R: what R checks of the fields of descriptions, from the annotations of Python's dataclasses.

It also writes the arguments of R's constructors.

tools/env python tools/schema.py          writes R/schema.R, or another file
tools/env python tools/schema.py --help   prints the help of the arguments of constructors as JSON, for document.R
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from constructors import constructors, write_arguments

from tfdistribute import engine
from tfdistribute.bridge import functions  # noqa: F401 - All descriptions are known.
from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Expected, Fact, Ge, Le, MinLen, Takes
from tfdistribute.descriptions.fields import Field, Option, fields_of
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

Fields = Mapping[str, Field]

FAMILIES: dict[str, type[Description]] = {
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
FAMILY_OF = {family: name for name, family in FAMILIES.items()}
NAMES = {
    "activations": list(typing.get_args(ActivationName)),
    "schedules": list(engine.optimizers.SCHEDULES),
}
PLAIN = ("integer", "number", "string")
# What R checks of the limits of a value.
MARKS: tuple[tuple[str, type, Callable[[Any], Any]], ...] = (
    ("minimum", Ge, lambda limit: limit.bound),
    ("maximum", Le, lambda limit: limit.bound),
    ("filled", MinLen, lambda _: True),
    ("takes", Takes, lambda takes: list(takes.takes)),
    ("remedy", Takes, lambda takes: takes.remedy),
)
# The fields of a class in R: a field of a base class may have another type in it.
OF_CLASSES = (
    "fields_of <- function(...) {",
    "  fields <- list()",
    "  for (own in declared[c(...)]) fields[names(own)] <- own",
    "  fields",
    "}",
)


def in_r(value: Any) -> str:
    if isinstance(value, dict):
        return f"list({', '.join(f'{_name(name)} = {in_r(each)}' for name, each in value.items())})"
    if isinstance(value, (list, tuple)):
        if len(value) == 1:
            return in_r(value[0])
        return f"c({', '.join(map(in_r, value))})" if value else "character()"
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return f"{value}L" if isinstance(value, int) else json.dumps(value)


def _name(name: str) -> str:
    return name if name.isidentifier() and name != "function" else f"`{name}`"


def checks_of(options: Sequence[Option]) -> dict[str, Any]:
    """Return the names of types for R's reader, in description-check.R, and what it knows of their values."""
    read = [check_of(each) for each in options]
    checks: dict[str, Any] = {"types": [each.pop("type") for each in read]}
    for each in read:
        checks |= each
    return checks


def check_of(option: Option) -> dict[str, Any]:
    if option.kind == "choice":
        return {"type": "choice", "choices": list(option.choices)}
    if option.kind in ("description", "object"):
        family = FAMILY_OF.get(option.of)
        return {"type": "any"} if family is None else {"type": "description", "family": family}
    if option.kind == "list" and len(option.items) == 1 and option.items[0].kind in PLAIN:
        return {**check_of(option.items[0]), "type": f"{option.items[0].kind}s"}
    if option.kind in ("list", "named"):
        inner = checks_of(option.items)
        return {"type": option.kind} | ({} if inner["types"] == ["any"] else {"items": inner})
    known = {name: read(option.mark(of)) for name, of, read in MARKS if option.mark(of) is not None}
    return {"type": option.kind, **{name: each for name, each in known.items() if each is not None}}


def field_in_r(field: Field) -> str:
    checks = checks_of(field.options)
    if field.may_be_empty:
        checks["types"].insert(0, "null")
    checks["expected"] = field.in_words
    checks |= {"remedy": field.how_made} if field.how_made else {}
    expected = field.fact(Expected)
    checks |= {"error": expected.error} if expected and expected.error != "argument" else {}
    facts = (Fact.SECRET, Fact.PATH, Fact.FILE)
    checks |= {fact.name.lower(): True for fact in facts if fact in field.facts}
    return in_r(checks)


def members() -> Iterator[tuple[str, str, type[Description]]]:
    """Yield the family, the kind and the class of each member; "" for a family without kinds."""
    for name, family in FAMILIES.items():
        own = {kind: each for kind, each in family.kinds.items() if issubclass(each, family)}
        for kind, member in (own or {"": family}).items():
            yield name, kind, member
    yield "warm_start", "", WarmStart


def place_in_r(family: str, kind: str) -> str:
    return f"{family}${_name(kind)}" if kind else family


def for_users(fields: Fields) -> Fields:
    return {name: each for name, each in fields.items() if Fact.INTERNAL not in each.facts}


def list_in_r(target: str, fields: Fields) -> str:
    lines = [f"  {_name(name)} = {field_in_r(each)}" for name, each in fields.items()]
    return "\n".join([f"{target} <- list(", ",\n".join(lines), ")"])


def classes_in_r() -> list[str]:
    """Write the fields of each class once, and each member as the classes whose fields it has."""
    declared: dict[str, str] = {}
    lines: list[str] = []
    for family, kind, member in members():
        having: list[str] = []
        for of in filter(dataclasses.is_dataclass, reversed(member.__mro__)):
            names = vars(of).get("__annotations__", {})
            own = {name: each for name, each in for_users(fields_of(of)).items() if name in names}
            if own:
                having.append(of.__name__)
                declared.setdefault(of.__name__, list_in_r(f"declared${of.__name__}", own))
        lines.append(
            f"schema${place_in_r(family, kind)} <- fields_of({', '.join(map(json.dumps, having))})"
        )
    return [*declared.values(), "", *OF_CLASSES, "schema <- list()", *lines]


def optimizers_in_r() -> list[str]:
    settings = {name: each for kind in OPTIMIZERS for name, each in settings_of(kind).items()}
    return [
        list_in_r("settings", settings),
        *(
            f"schema$optimizer_settings${name} <- settings[{in_r(list(settings_of(name)))}]"
            for name in OPTIMIZERS
        ),
    ]


def names_in_r(names: dict[str, Any]) -> list[str]:
    lines = [f"  {name} = {in_r(each)}" for name, each in names.items()]
    return ["schema_names <- list(", ",\n".join(lines), ")"]


def help_of(member: type[Description], name: str) -> str:
    """Return the help of a field: the text of the nearest class that documents it, or else words for its values."""
    for of in member.__mro__:
        if name in (documented := documented_in(of.__doc__ or "")):
            return with_names(documented[name])
    expected = re.sub(r'(NULL|TRUE|FALSE|"[^"]*")', r"`\1`", fields_of(member)[name].in_words)
    return f"{expected[0].upper()}{expected[1:]}."


def with_names(text: str) -> str:
    """Replace ``{activations}`` and ``{initializers}`` by their names."""
    (initializer,) = fields_of(initializers.NamedInitializer)["name"].options
    for name, known in (NAMES | {"initializers": initializer.choices}).items():
        text = text.replace(f"{{{name}}}", ", ".join(map(json.dumps, known)))
    return text


def documented_in(docstring: str) -> dict[str, str]:
    """Return the texts of a docstring's arguments by name; several names may share one."""
    lines = inspect.cleandoc(docstring).splitlines()
    found: dict[str, str] = {}
    names: list[str] = []
    for line in lines[lines.index("Args:") + 1 :] if "Args:" in lines else []:
        if not line.startswith(" "):
            break
        if line.startswith(" " * 5):
            found |= {name: f"{found[name]}\n{line.strip()}" for name in names}
        else:
            listed, _, text = line.strip().partition(": ")
            names = listed.split(", ")
            found |= dict.fromkeys(names, text)
    return found


def help_of_constructors(folder: Path) -> dict[str, dict[str, str]]:
    at = {place_in_r(family, kind): member for family, kind, member in members()}
    return {
        name: {each: help_of(at[place], each) for each in arguments if each in fields_of(at[place])}
        for name, place, arguments in constructors(folder)
    }


def main() -> None:
    own = Path(__file__).parents[1] / "R" / "schema.R"
    if "--help" in sys.argv:
        print(json.dumps(help_of_constructors(own.parent)))
        return
    if len(sys.argv) == 1:
        fields_at = {
            place_in_r(family, kind): for_users(fields_of(member))
            for family, kind, member in members()
        }
        write_arguments(own.parent, fields_at)
    lines = [
        "# Written by `make docs` from the dataclasses in inst/python/tfdistribute. Do not edit.",
        "# fmt: skip file",
        "# nolint start",
        *("", "# The fields that each class declares."),
        "declared <- list()",
        *classes_in_r(),
        *("", "# The settings of optimizers.", *optimizers_in_r()),
        *("", "# Names that are not fields of their own."),
        *names_in_r(NAMES),
        "# nolint end",
    ]
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else own
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
