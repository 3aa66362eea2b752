"""Tabular models of classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.models.canned.learned import LearnedClassifier
from tfdistribute.models.canned.tabular import Tabular
from tfdistribute.models.conversion.program import Program, Result


@dataclass(frozen=True)
class TabularClassifier(Tabular, LearnedClassifier, kind="tabular_classifier"):
    def head(self, arguments: Mapping[str, Any]) -> Any:
        assert self.table is not None
        if self.n_classes > 2:
            return engine.heads.MeanMultiClassHead(self.table.temperature, **arguments)
        binary = {name: each for name, each in arguments.items() if name != "n_classes"}
        return engine.heads.MeanBinaryHead(self.table.temperature, **binary)

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
