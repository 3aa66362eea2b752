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
        if self.n_classes > 2:
            return engine.heads.MeanMultiClassHead(**arguments)
        binary = {name: each for name, each in arguments.items() if name != "n_classes"}
        return engine.heads.MeanBinaryHead(**binary)

    def mean_logits(self, program: Program, logits: Result) -> Result:
        if self.n_classes > 2:
            return program.op("logsumexp", program.op("log_softmax", logits), axis=1)
        yes, no = (
            program.op("logsumexp", program.op("log_sigmoid", each), axis=1)
            for each in (logits, program.op("negative", logits))
        )
        return program.op("subtract", yes, no)
