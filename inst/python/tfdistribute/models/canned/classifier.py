"""Base class of canned classifiers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from tfdistribute.columns import LOGICAL, AcceptedValues, InputFacts
from tfdistribute.descriptions.constraints import Fact, Ge, Len, Text
from tfdistribute.errors import ModelError
from tfdistribute.models.canned.description import Canned
from tfdistribute.models.conversion.parts import class_outputs
from tfdistribute.models.conversion.program import Program, Result
from tfdistribute.models.description import (
    Model,
)
from tfdistribute.models.labels import (
    check_class_label,
    check_no_empty_label,
    check_vocabulary,
    class_names,
)


@dataclass(frozen=True)
class Classifier(Canned):
    """Fields that several kinds share.

    Args:
        n_classes: Number of classes, a count of at least 2.
        label_vocabulary: Names of the classes, strings, of which the last of two is the positive class (see
            [estimators]). NULL uses a factor's levels, or else expects whole numbers from 0, or TRUE and FALSE.
    """

    n_classes: Annotated[int, Ge(2)] = 2
    # None for a factor's levels, or for numbers from 0 to n_classes - 1.
    label_vocabulary: Annotated[Annotated[tuple[Text, ...], Len(1)] | None, Fact.NAME] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_vocabulary(self.n_classes, self.label_vocabulary)

    def head_arguments(self) -> dict[str, Any]:
        vocabulary = None if self.label_vocabulary is None else list(self.label_vocabulary)
        return {"n_classes": self.n_classes, "label_vocabulary": vocabulary}

    def estimator_options(self) -> dict[str, Any]:
        return {
            **super().estimator_options(),
            "whole_labels": self.label_vocabulary is None,
            "classes": self.label_vocabulary or self.n_classes,
        }

    @property
    def units(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def outputs(self, program: Program, logits: Result) -> dict[str, Result]:
        return class_outputs(program, logits, self.n_classes)

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        super().check(facts, needs_label)
        if needs_label:
            check_class_label(facts, self.n_classes, self.label_vocabulary)

    def accepted_values(self, facts: InputFacts, needs_label: bool) -> AcceptedValues:
        label, values = facts.label, super().accepted_values(facts, needs_label)
        if not needs_label or self.label_vocabulary is None or label is None:
            return values
        argument = self.argument("label_vocabulary")
        named = class_names(label.name, self.label_vocabulary, label.type != "string", argument)
        return [*values, (label.name, named)]

    def complete_from_input(self, facts: InputFacts) -> Model:
        label, weighted = facts.label, super().complete_from_input(facts)
        if self.label_vocabulary is not None or label is None:
            return weighted
        if label.type == "logical" and self.n_classes == len(LOGICAL):
            return replace(weighted, label_vocabulary=LOGICAL)
        if label.type != "string" or label.levels is None:
            return weighted
        check_no_empty_label(label.name, label.levels)
        if len(label.levels) != self.n_classes:
            raise ModelError(
                f'`n_classes` is {self.n_classes}, but the response "{label.name}" has {len(label.levels)} levels.',
                f"Give n_classes = {len(label.levels)}, or drop unused levels with droplevels().",
                value=str(self.n_classes),
            )
        return replace(weighted, label_vocabulary=tuple(label.levels))

    def complete_from_signature(self, signature: Mapping[str, Any] | None) -> Model:
        names = None if signature is None else signature.get("label_vocabulary")
        if self.label_vocabulary is not None or names is None or len(names) != self.n_classes:
            return self
        return replace(self, label_vocabulary=tuple(str(name) for name in names))

    def structure(self) -> dict[str, Any]:
        names = None if self.label_vocabulary is None else list(self.label_vocabulary)
        return {**super().structure(), "n_classes": self.n_classes, "label_vocabulary": names}
