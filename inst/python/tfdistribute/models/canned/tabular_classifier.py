"""Tabular models of classes, which are the values that occur in the response."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tfdistribute import engine
from tfdistribute.columns import InputFacts, ReadTypes
from tfdistribute.models.canned.classifier import Classifier
from tfdistribute.models.canned.table import Table
from tfdistribute.models.canned.tabular import Tabular
from tfdistribute.models.conversion.program import Program, Result
from tfdistribute.models.description import Model
from tfdistribute.models.labels import occurring_classes


@dataclass(frozen=True)
class TabularClassifier(Tabular, Classifier, kind="tabular_classifier"):
    def head(self, arguments: Mapping[str, Any], table: Table) -> Any:
        if self.n_classes > 2:
            return engine.heads.MeanMultiClassHead(table.temperature, **arguments)
        binary = {name: each for name, each in arguments.items() if name != "n_classes"}
        return engine.heads.MeanBinaryHead(table.temperature, **binary)

    def mean_logits(self, program: Program, logits: Result) -> Result:
        if self.n_classes > 2:
            mean = program.op("logsumexp", program.op("log_softmax", logits), axis=1)
        else:
            yes, no = (
                program.op("logsumexp", program.op("log_sigmoid", each), axis=1)
                for each in (logits, program.op("negative", logits))
            )
            mean = program.op("subtract", yes, no)
        temperature = self.table and self.table.temperature
        return program.op("divide", mean, temperature or 1.0)

    def types_read(self) -> ReadTypes:
        # 32 bits round classes such as 20240131.
        return {**super().types_read(), None: "double"}

    def complete_from_input(self, facts: InputFacts) -> Model:
        known = self if self.learned is not None else self._with_classes(facts)
        completed = super(TabularClassifier, known).complete_from_input(facts)
        if self.learned is not None or not isinstance(completed, TabularClassifier):
            return completed
        return completed.with_table(
            n_classes=completed.n_classes,
            label_vocabulary=completed.label_vocabulary,
            has_numbers_as_classes=facts.label is not None
            and facts.label.type not in ("string", "logical"),
        )

    def __post_init__(self) -> None:
        table = self.table
        if table is not None and table.n_classes is not None:
            object.__setattr__(self, "n_classes", table.n_classes)
            object.__setattr__(self, "label_vocabulary", table.label_vocabulary)
        super().__post_init__()

    def _with_classes(self, facts: InputFacts) -> "TabularClassifier":
        label = facts.label
        if label is None or facts.values is None or label.type == "logical":
            return self
        names = occurring_classes(label, facts.values(label.name))
        # TensorFlow's own classes have no names.
        counted = label.type != "string" and names == tuple(map(str, range(len(names))))
        return replace(
            self, n_classes=len(names), label_vocabulary=None if counted else tuple(names)
        )
