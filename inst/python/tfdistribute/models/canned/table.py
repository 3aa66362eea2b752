"""Columns and length of a tabular model, which its first training learns from the rows."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import MISSING_LABEL, ColumnFacts, InputFacts
from tfdistribute.errors import InputError
from tfdistribute.models.canned.validation import Validation
from tfdistribute.models.feature_columns.categorical import VocabularyList
from tfdistribute.models.feature_columns.derived import Embedding, Indicator
from tfdistribute.models.feature_columns.description import FeatureColumn, safe_key
from tfdistribute.models.feature_columns.initializers import NamedInitializer
from tfdistribute.models.feature_columns.numeric import Numeric
from tfdistribute.models.weights import mean_and_spread, quantiles

# More levels than these get an embedding.
_MOST_INDICATED, _EMBEDDED = 9, 8
# Numbers further from the median than these many scales count as that far, so that no value can overflow, and a fill
# value such as 9.97e36 leaves the mean and the spread of the others with digits enough.
_FARTHEST = 1e4
_DAY_S = 86_400.0
_WEEK, _YEAR = 7.0, 365.2425
_PERIODS = {
    "date": (_WEEK, _YEAR),
    "datetime": (_DAY_S, _WEEK * _DAY_S, _YEAR * _DAY_S),
}
# Epochs, unless they are given, and the rows of all of them between these limits.
_LEAST_EPOCHS, _MOST_EPOCHS, _ROWS_OF_EPOCHS = 8, 128, 2**19
# By the least rows of a table. Large batches take less time per row, but small tables need many steps.
_BATCHES = {200_000: 1024, 100_000: 512, 0: 256}
# An ensemble improves small tables most, and costs least there. By the least rows, too.
_ENSEMBLES = {10_001: 1, 0: 2}
_Values = npt.NDArray[np.float64]


def usual_epochs(rows: int) -> int:
    return min(max(_LEAST_EPOCHS, _ROWS_OF_EPOCHS // rows), _MOST_EPOCHS)


def usual_batch(rows: int) -> int:
    return min(_by_rows(_BATCHES, rows), rows)


def usual_ensemble(rows: int) -> int:
    return _by_rows(_ENSEMBLES, rows)


def _by_rows(values: Mapping[int, int], rows: int) -> int:
    return next(value for least, value in values.items() if rows >= least)


@dataclass(frozen=True)
class Number:
    """A feature of numbers or dates: its mean and standard deviation, and its median and a robust scale."""

    name: str
    mean: float
    spread: float
    median: float
    scale: float
    incomplete: bool  # Whether rows of the training lacked it.
    periods: tuple[float, ...] = ()

    @classmethod
    def of(cls, column: ColumnFacts, values: Any, weights: _Values | None = None) -> "Number":
        held = values.astype(np.float64)
        is_known = ~np.isnan(held)
        known, weights = held[is_known], None if weights is None else weights[is_known]
        incomplete = len(known) < len(held)
        if len(known) == 0:
            return cls(column.name, 0.0, 1.0, 0.0, 1.0, incomplete)
        _check_finite(column.name, held, weights)
        low, median, high = quantiles(known, (0.25, 0.5, 0.75), weights)
        width = _width(np.abs(known - median), known, high - low)
        scale = (high - low) or width / 2 or 1.0
        known = np.clip(known, median - _FARTHEST * scale, median + _FARTHEST * scale)
        periods = tuple(each for each in _PERIODS.get(column.type, ()) if width >= each)
        mean, spread = (float(each) for each in mean_and_spread(known, weights))
        return cls(column.name, mean, spread or 1.0, median, scale, incomplete, periods)

    def column(self) -> Numeric:
        # A record without the number lacks it, as a row with NaN does.
        return Numeric(
            self.name, default_value=(math.nan,), center=(self.median,), scale=(self.scale,)
        )


@dataclass(frozen=True)
class Category:
    name: str
    levels: tuple[str, ...]

    def column(self, new_levels: str, linear: bool = False) -> FeatureColumn:
        listed = VocabularyList(
            self.name,
            vocabulary_list=self.levels,
            dtype="string",
            default_value=-1 if new_levels == "ignore" else None,
            warns=new_levels == "warn",
        )
        if linear or len(self.levels) <= _MOST_INDICATED:
            return Indicator(listed)
        normal = NamedInitializer("random_normal", {"mean": 0.0, "stddev": 1.0})
        return Embedding(listed, dimension=_EMBEDDED, initializer=normal)


@dataclass(frozen=True)
class Table:
    """Columns by the order of their names in TensorFlow, and of networks also the length of the training.

    Args:
        limits: Least and largest response of the training; None for classes.
        batch_size: Rows of a step.
        ensemble: Networks that learn side by side.
        steps: Steps of the training after which the last cycle of the rate would end.
        begin: Step at which the training began; more than 0 if it was not the first.
        end: Step at which the training ends; None if it is not chosen yet.
        losses: Losses of the validation part with the layers at the ends of cycles.
        temperature: What divides the logits of classes; None for 1.
        n_classes, label_vocabulary: Classes; None for numbers.
        has_numbers_as_classes: Whether the response of the training held numbers.
        weights: Weights of the parts "linear", "layers" and "trees" in the mean of logits.
        trees: Shapes of the arrays of trees.
        penalty: Of the weights of the linear model.
        validation: The choice of the end; None if no rows were set apart for it.
    """

    numbers: tuple[Number, ...]
    categories: tuple[Category, ...]
    limits: tuple[float, float] | None
    batch_size: int = 0
    ensemble: int = 1
    steps: int = 0
    end: int | None = None
    losses: tuple[float, ...] = ()
    temperature: float | None = None
    n_classes: int | None = None
    label_vocabulary: tuple[str, ...] | None = None
    has_numbers_as_classes: bool = False
    weights: Mapping[str, float] = field(default_factory=lambda: {"layers": 1.0})
    trees: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    penalty: float = 0.0
    begin: int = 0
    validation: Validation | None = None

    def as_text(self) -> str:
        return json.dumps(asdict(self))

    def constants(self) -> dict[str, Any]:
        """Return the constants of ``engine.tabular.Network``."""
        numbers = self.numbers
        return {
            "shift": [(each.median - each.mean) / each.spread for each in numbers],
            "stretch": [each.scale / each.spread for each in numbers],
            "farthest": _FARTHEST,
            "incomplete": [place for place, each in enumerate(numbers) if each.incomplete],
            "cycles": [
                (place, each.scale / period, each.median / period % 1)
                for place, each in enumerate(numbers)
                for period in each.periods
            ],
        }

    def matrix(self, facts: InputFacts) -> npt.NDArray[np.float32]:
        """Return rows in memory as ``engine.trees.Columns`` reads them."""
        columns: list[Any] = []
        for each in self.numbers:
            values = facts.values_of(each.name).reshape(-1).astype(np.float64)
            columns.append((values - each.median) / each.scale)
        missing = [np.isnan(columns[place]) for place in self.constants()["incomplete"]]
        columns = [np.clip(np.nan_to_num(each, nan=0.0), -1e30, 1e30) for each in columns] + missing
        for each in self.categories:
            codes, none = {name: code for code, name in enumerate(each.levels)}, len(each.levels)
            values = facts.values_of(each.name).reshape(-1).tolist()
            columns.append(np.array([codes.get(value, none) for value in values]))
        return np.stack([each.astype(np.float32) for each in columns], axis=1)

    def check_columns(self, facts: InputFacts, weight_column: str | None) -> None:
        label = None if facts.label is None else facts.label.name
        known = {each.name for each in (*self.numbers, *self.categories)} | {label, weight_column}
        for name in facts.features or ():
            if name not in known:
                raise InputError(
                    f"The rows have the feature `{name}`, which the model lacks since its first training.",
                    "Leave it out, or train a new model in another `model_dir`.",
                    argument="features",
                    value=name,
                )

    @classmethod
    @lru_cache(maxsize=8)
    def from_text(cls, text: str) -> "Table":
        read = json.loads(text)
        numbers = (
            Number(**{**each, "periods": tuple(each["periods"])}) for each in read["numbers"]
        )
        categories = (Category(each["name"], tuple(each["levels"])) for each in read["categories"])
        plain = {
            name: tuple(each) if isinstance(each, list) else each for name, each in read.items()
        }
        judged = read.get("validation")
        if judged is not None:
            judged = Validation(**{**judged, "residuals": tuple(judged["residuals"])})
        parts = {"numbers": tuple(numbers), "categories": tuple(categories), "validation": judged}
        shapes = {name: tuple(each) for name, each in read["trees"].items()}
        return cls(**{**plain, **parts, "trees": shapes})


def learn_columns(
    facts: InputFacts, others: Collection[str | None], weights: _Values | None
) -> tuple[tuple[Number, ...], tuple[Category, ...]]:
    """Learn the features of rows in memory, except ``others``; InputError for rows elsewhere, or several numbers."""
    if facts.features is None or facts.values is None:
        raise _not_a_table()
    numbers: list[Number] = []
    categories: list[Category] = []
    for column in sorted(facts.features.values(), key=lambda each: safe_key(each.name)):
        if column.name in others:
            continue
        _check_width(column)
        found = facts.values_of(column.name)
        if found is None:
            raise _not_a_table()
        values = found.reshape(-1)
        if column.type == "string":
            levels = _levels(column, values)
            # Nothing is learned from a column without labels.
            categories += [Category(column.name, levels)] if levels else []
        else:
            numbers.append(Number.of(column, values, weights))
    return tuple(numbers), tuple(categories)


def _not_a_table() -> InputError:
    return InputError(
        "A tabular model learns its columns from a table, and these rows are from a function or from records.",
        "Give a data frame or files that input_parquet(), input_arrow() or input_csv() reads, without `transform`, or "
        "use dnn_regressor() or dnn_classifier().",
        argument="input_fn",
    )


def _check_finite(name: str, values: _Values, weights: _Values | None) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        shown = "Inf" if values[row] > 0 else "-Inf"
        of = "" if weights is None else " of those with a weight above 0"
        raise InputError(
            f"The column `{name}` is {shown} in row {row + 1}{of}, from which nothing can be learned.",
            "Remove these rows, or replace infinite values by NA, which counts as missing.",
            argument=name,
        )


def _width(distances: _Values, values: _Values, middle: float) -> float:
    """Return the range of the values that are not fill values; ``distances`` are theirs from the median."""
    usual = middle or float(np.median(distances[distances > 0])) if distances.any() else 0.0
    return float(np.ptp(values[distances <= _FARTHEST * usual]))


def _levels(column: ColumnFacts, values: npt.NDArray[Any]) -> tuple[str, ...]:
    """Return the labels that occur, in the order of a factor's levels, else sorted."""
    found = {str(each) for each in set(values.tolist())} - {MISSING_LABEL}
    known = [level for level in column.levels or () if level in found]
    return tuple(known or sorted(found))


def _check_width(column: ColumnFacts) -> None:
    if column.width != 1:
        raise InputError(
            f"The feature `{column.name}` has {column.width} values per row, and a tabular model reads one.",
            "Give each of them a column of its own.",
            argument="features",
            value=column.name,
        )
