"""Descriptions as a JSON Schema, from which ``make docs`` also writes R/schema.R."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Doc, Expected, Fact, Never, Pattern
from tfdistribute.descriptions.fields import Field, fields_of, options_of

Schema = dict[str, Any]


def schema_of(families: Mapping[str, type[Description]]) -> Schema:
    """Describe the members of families, by the names of the families in R."""
    made: Schema = {}
    for name, family in families.items():
        members = {kind: each for kind, each in family.kinds.items() if issubclass(each, family)}
        made[name] = {kind: _member(each) for kind, each in members.items()} or _member(family)
    return _plain(made, {family: f"#/$defs/{name}" for name, family in families.items()})


def _member(of: type[Description]) -> Schema:
    return member_of(fields_of(of), of.rules)


def member_of(fields: Mapping[str, Field], rules: Sequence[Never] = ()) -> Schema:
    properties = {
        name: _property(field) for name, field in fields.items() if Fact.INTERNAL not in field.facts
    }
    conditions = [
        {"not": _condition(rule.when)} | {k: v for k, v in vars(rule).items() if k != "when"}
        for rule in rules
    ]
    return {"type": "object", "properties": properties, "allOf": conditions}


def _property(field: Field) -> Schema:
    made: Schema = {"anyOf": field.options, "expected": field.in_words}
    made |= {"remedy": field.how_made} if field.how_made else {}
    made |= {"description": doc.documentation} if (doc := field.fact(Doc)) else {}
    expected = field.fact(Expected)
    made |= {"error": expected.error} if expected and expected.error != "argument" else {}
    made |= {fact.name.lower(): True for fact in (Fact.SECRET, Fact.PATH) if fact in field.facts}
    if field.is_required or (field.default == () and not field.may_be_empty):
        return made
    return made | {"default": [] if field.may_be_empty else field.default}


def _condition(when: Mapping[str, Any]) -> Schema:
    properties = {
        name: (
            _condition(cast("dict[str, Any]", hint))
            if isinstance(hint, dict)
            else {"anyOf": options_of(hint)}
        )
        for name, hint in when.items()
    }
    return {"properties": properties, "required": list(when)}


def _plain(value: Any, names: Mapping[Any, str]) -> Any:
    if isinstance(value, Pattern):
        fields = {
            name: each for name, each in vars(value).items() if each not in (None, "argument")
        }
        return fields | {"pattern": f"^(?:{value.pattern})$"}
    if isinstance(value, Description):
        return _plain({"kind": value.kind, **vars(value)}, names)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        # Plain lists in R, which their constructors check.
        known = {name: each for name, each in items if name != "$ref" or each in names}
        return {
            name: _plain(each, names)
            for name, each in known.items()
            if name not in ("instance", "any")
        }
    if isinstance(value, (list, tuple)):
        return [_plain(each, names) for each in cast("list[Any]", value)]
    return names[value] if isinstance(value, type) else value
