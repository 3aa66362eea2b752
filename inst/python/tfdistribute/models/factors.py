"""Factors that a model reads as codes: the positions of their levels, from 0."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tfdistribute.columns import Accepted, AcceptedValues, ColumnFacts, InputFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input
from tfdistribute.models.description import Model

Levels = tuple[str, ...]


@dataclass(frozen=True)
class FactorCodes:
    """Levels of the factors that a model reads as codes, from the data of its first training.

    Any level will do for factors that a model function is given, but that it left ``unread`` in the last training.
    """

    features: Mapping[str, Levels] = field(default_factory=dict[str, Levels])
    label: Levels | None = None
    unread: frozenset[str] = frozenset()

    @classmethod
    def of(cls, model: Model, facts: InputFacts, known: "FactorCodes") -> "FactorCodes":
        features = facts.features or {}
        factors = {
            name: known.features.get(name) or column.levels
            for name, column in features.items()
            if _is_factor(column, known.features.get(name))
        }
        coded = model.coded_features(factors) if factors else set[str]()
        label = None
        if _is_factor(facts.label, known.label) and facts.label and model.codes_label():
            label = known.label or facts.label.levels
        return cls(
            {name: levels for name, levels in factors.items() if name in coded and levels},
            known.label if facts.label is None else label,
            known.unread,
        )

    def applied(self, facts: InputFacts) -> InputFacts:
        features = facts.features and {
            name: _coded(column) if name in self.features else column
            for name, column in facts.features.items()
        }
        label, label_range = facts.label, facts.label_range
        if label is not None and self.label is not None and label.type == "string":
            label, label_range = _coded(label), (0.0, len(self.label) - 1.0)
        return replace(facts, features=features, label=label, label_range=label_range)

    def accepted_values(
        self, facts: InputFacts, by_model: AcceptedValues, needs_label: bool
    ) -> AcceptedValues:
        """Return the values that a model accepts, with labels in place of codes."""
        given = dict(facts.features or {})
        levels = {name: known for name, known in self.features.items() if name not in self.unread}
        if needs_label and facts.label is not None and self.label is not None:
            given[facts.label.name] = facts.label
            levels[facts.label.name] = self.label
        coded = {
            name: known
            for name, known in levels.items()
            if name in given and given[name].type == "string"
        }
        return [
            *((name, _levels_accepted(name, known)) for name, known in coded.items()),
            *(
                (name, _by_label(each, coded[name]) if name in coded else each)
                for name, each in by_model
            ),
        ]

    def accepting(self, source: Input, model: Model, needs_label: bool) -> Input:
        """Make an input raise an error at any value that a model cannot use, and fill in the model's defaults.

        See ``Input.accepting`` and ``Input.with_defaults``.
        """
        facts = source.facts()
        if needs_label:
            facts.check_rows()
        by_model = model.accepted_values(facts, needs_label)
        checked = source.accepting(self.accepted_values(facts, by_model, needs_label))
        return checked.with_defaults(
            {each.feature: each.default for each in model.required_features() if each.default}
        )

    def notes(self, facts: InputFacts, known: "FactorCodes") -> list[str]:
        new = {name: levels for name, levels in self.features.items() if name not in known.features}
        if self.label is not None and known.label is None and facts.label is not None:
            new[facts.label.name] = self.label
        return [f"The factor `{name}` is read as codes: {_list_codes(new[name])}." for name in new]

    def as_values(self) -> dict[str, Any]:
        label = None if self.label is None else list(self.label)
        features = {name: list(levels) for name, levels in self.features.items()}
        return {"features": features, "label": label, "unread": sorted(self.unread)}

    @classmethod
    def from_values(cls, values: Any) -> "FactorCodes":
        if not isinstance(values, Mapping):
            return cls()
        features = {str(name): tuple(levels) for name, levels in values["features"].items()}
        label, unread = values["label"], frozenset[str](values.get("unread", ()))
        return cls(features, None if label is None else tuple(label), unread)


def _is_factor(column: ColumnFacts | None, known: Levels | None) -> bool:
    if column is None or column.type != "string" or column.as_labels:
        return False
    return column.levels is not None or known is not None


def _coded(column: ColumnFacts) -> ColumnFacts:
    return replace(column, type="integer", levels=None)


def _by_label(accepted: Accepted, levels: Levels) -> Accepted:
    labels = frozenset(label for code, label in enumerate(levels) if code in accepted.values)
    return Accepted(
        labels,
        lambda found, place: accepted.error([levels.index(label) for label in found], place),
    )


def _levels_accepted(name: str, levels: Levels) -> Accepted:
    def error(found: Sequence[Any], place: str) -> InputError:
        return InputError(
            f'The factor "{name}" has the level "{found[0]}" in {place}, which the model was not trained on: '
            f"its codes are {_list_codes(levels)}.",
            "Give the factor the levels of the training data, as in factor(x, levels = ), or use "
            '`factors = "labels"` with a model that reads strings.',
            argument="factors",
            value=str(found[0]),
        )

    return Accepted(frozenset(levels), error)


def _list_codes(levels: Levels) -> str:
    codes = [f"{code} = {level}" for code, level in enumerate(levels)]
    if len(codes) > 10:
        codes = [*codes[:9], "...", codes[-1]]
    return ", ".join(codes)
