"""Models that learn their columns and classes from the rows of a table."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from tfdistribute import engine
from tfdistribute.columns import LOGICAL, InputFacts, ReadTypes
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input
from tfdistribute.models.canned.classifier import Classifier
from tfdistribute.models.canned.description import Canned, Regressor
from tfdistribute.models.canned.table import Table, learn_columns
from tfdistribute.models.canned.validation import log_probabilities
from tfdistribute.models.description import Model
from tfdistribute.models.labels import occurring_classes
from tfdistribute.models.weights import row_weights, weighted_rows


@dataclass(frozen=True)
class Learned(Canned):
    """Fields that several kinds share.

    Args:
        new_levels: How to read labels that the training lacked. `"warn"` counts them as missing, and each verb raises
            one warning of class `tfdistribute_new_levels_warning`, which names them. `"ignore"` counts them as missing,
            too. `"error"` rejects them.
    """

    new_levels: Literal["warn", "error", "ignore"] = "warn"
    learned: Annotated[str | None, Fact.INTERNAL, Fact.NAME] = None

    decided_by_rows = frozenset({"label_dimension", "label_vocabulary", "n_classes"})

    @property
    def table(self) -> Table | None:
        return None if self.learned is None else Table.from_text(self.learned)

    @property
    def limits(self) -> tuple[float, float] | None:
        """Least and largest prediction; None for classes, and if they have no limits."""
        return None

    def with_table(self, **changes: Any) -> Any:
        assert self.table is not None
        return replace(self, learned=replace(self.table, **changes).as_text())

    @property
    def row_loss(self) -> tuple[str, tuple[float, ...] | None]:
        """Name of the loss, as for ``row_losses``, and the shares of its quantiles."""
        raise NotImplementedError

    def truth(self, values: Any) -> Any:
        """Return the values of a response as numbers, or numbers of classes."""
        raise NotImplementedError

    def standardized(self, truth: Any) -> Any:
        """Return what logits learn."""
        return truth

    def in_unit(self, standardized: Any) -> Any:
        return standardized

    def predicted(self, logits: Any) -> Any:
        """Return the predictions of logits, as for ``row_losses``."""
        return log_probabilities(logits)

    def new_table(self, table: Table, rows: int) -> Table:
        """Complete what the model has learned from its columns."""
        raise NotImplementedError

    def head(self, arguments: Mapping[str, Any]) -> Any:
        """Make TensorFlow's head from the arguments of all heads."""
        raise NotImplementedError

    def built_columns(self, arguments: Mapping[str, Any]) -> list[Any]:
        return [column for part in arguments.values() for column in part]

    def learns_columns(self) -> bool:
        return True

    def types_read(self) -> ReadTypes:
        numbers = (each.feature for each in self.required_features() if "float" in each.types)
        # Before it has learned its columns, it reads the digits of all.
        known: ReadTypes = {} if self.table is None else dict.fromkeys(numbers, "float")
        return {**known, **super().types_read()}

    def reading(self, source: Input) -> Input:
        return super().reading(source.with_missing() if self.learns_columns() else source)

    def learning(self, source: Input, in_memory: bool = True) -> Input:
        """Return the rows that the model learns from: rows in memory have no row of weight 0."""
        source = self.reading(source)
        source = source.in_memory() if in_memory else source
        return weighted_rows(source, self.weights_of(source.facts()))

    def complete_from_input(self, facts: InputFacts) -> Model:
        completed: Any = super().complete_from_input(facts)
        if self.learned is not None:
            return completed
        label, weights = None if facts.label is None else facts.label.name, completed.weight_column
        columns = (
            learn_columns(facts, {label, weights}, row_weights(facts, weights))
            if self.learns_columns()
            else ((), ())
        )
        limits = None
        if isinstance(self, Regressor) and facts.label is not None and facts.label.type != "string":
            limits = facts.label_range
        table = self.new_table(Table(*columns, limits), facts.rows or 1)
        return replace(completed, learned=table.as_text())

    def complete_from_signature(self, signature: Mapping[str, Any] | None) -> Model:
        completed: Any = super().complete_from_signature(signature)
        learned = (signature or {}).get("learned")
        if self.learned is not None:
            # Of the session that started a job; the task may have been restarted.
            return completed
        return completed if learned is None else replace(completed, learned=json.dumps(learned))

    def own_structure(self) -> dict[str, Any]:
        return {"learned": None if self.learned is None else json.loads(self.learned)}


@dataclass(frozen=True)
class LearnedRegressor(Learned, Regressor):
    """Fields that several kinds share.

    Args:
        loss: `"squared_error"`, or `"poisson"` for counts: predictions are then positive, and the model learns their
            logarithm.
    """

    standardize_response: bool | None = True
    loss: Literal["squared_error", "poisson"] = "squared_error"

    @property
    def row_loss(self) -> tuple[str, tuple[float, ...] | None]:
        return self.loss, None

    def truth(self, values: Any) -> Any:
        return values.astype(np.float64)

    @property
    def _scale(self) -> tuple[float, float]:
        return (self.response_scale or ((0.0, 1.0),))[0]

    def standardized(self, truth: Any) -> Any:
        mean, spread = self._scale
        return (truth - mean) / spread

    def in_unit(self, standardized: Any) -> Any:
        mean, spread = self._scale
        return standardized.astype(np.float64) * spread + mean

    def predicted(self, logits: Any) -> Any:
        with np.errstate(over="ignore"):
            found = self.in_unit(np.exp(logits) if self.loss == "poisson" else logits)
        return found if self.limits is None else np.clip(found, *self.limits)

    def head(self, arguments: Mapping[str, Any]) -> Any:
        scale = self.response_scale or ((0.0, 1.0),)
        heads = engine.heads
        make = heads.CountHead if self.loss == "poisson" else heads.StandardizedRegressionHead
        return make(scale=scale, limits=self.limits, **arguments)

    def complete_from_input(self, facts: InputFacts) -> Model:
        completed: Any = super().complete_from_input(facts)
        if self.loss != "poisson" or self.learned is not None or facts.label_range is None:
            return completed
        low, _ = facts.label_range
        if low < 0:
            raise InputError(
                f'`loss` is "poisson", but the response has the value {low:g}, which is no count.',
                'Remove such rows, or give the model loss = "squared_error".',
                value="poisson",
            )
        (mean, spread) = (completed.response_scale or ((0.0, 1.0),))[0]
        return replace(completed, response_scale=((0.0, mean or spread),))

    def own_structure(self) -> dict[str, Any]:
        return {**super().own_structure(), "loss": self.loss}


@dataclass(frozen=True)
class LearnedClassifier(Learned, Classifier):
    """A model of classes, which are the values that occur in the response."""

    @property
    def row_loss(self) -> tuple[str, tuple[float, ...] | None]:
        return "log_loss", None

    def truth(self, values: Any) -> Any:
        names = self.label_vocabulary or tuple(map(str, range(self.n_classes)))
        found, places = np.unique(values, return_inverse=True)
        texts = [each if isinstance(each, str) else str(int(each)) for each in found.tolist()]
        if names == LOGICAL:
            texts = [LOGICAL[int(each)] if each.isdecimal() else each for each in texts]
        return np.array([names.index(each) for each in texts])[places]

    def types_read(self) -> ReadTypes:
        # 32 bits round classes such as 20240131.
        return {**super().types_read(), None: "double"}

    def complete_from_input(self, facts: InputFacts) -> Model:
        known = self if self.learned is not None else self.with_classes(facts)
        completed = super(LearnedClassifier, known).complete_from_input(facts)
        if self.learned is not None or not isinstance(completed, LearnedClassifier):
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

    def with_classes(self, facts: InputFacts) -> "LearnedClassifier":
        label = facts.label
        if label is None or facts.values is None or label.type == "logical":
            return self
        names = occurring_classes(label, facts.values(label.name))
        # TensorFlow's own classes have no names.
        counted = label.type != "string" and names == tuple(map(str, range(len(names))))
        return replace(
            self, n_classes=len(names), label_vocabulary=None if counted else tuple(names)
        )
