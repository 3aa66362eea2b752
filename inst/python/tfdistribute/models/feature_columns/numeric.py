"""Numeric columns, raw or bucketized."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from tfdistribute import engine
from tfdistribute.descriptions.constraints import (
    AnyFloat,
    Count,
    Expected,
    Fact,
    Given,
    Gt,
    Len,
    Never,
    Text,
)
from tfdistribute.errors import ArgumentError, ModelError
from tfdistribute.models.conversion.features import Categories, Features
from tfdistribute.models.conversion.program import Result
from tfdistribute.models.feature_columns.description import (
    NUMBERS,
    FeatureColumn,
    FeatureRequirement,
    NumberDtype,
    safe_key,
)

# A float32 has 24 bits. With a center of up to as many scales, 13 of them are left for a number after it is centered.
_MOST_SCALES = 2**11

# One for all, or one per number of a row.
_PerNumber = Annotated[tuple[float, ...], Len(1)]


@dataclass(frozen=True)
class Numeric(FeatureColumn, kind="numeric"):
    """Numeric column.

    Args:
        shape: Dimensions of one row's value, counts: `1` for a vector, `3` for a matrix with three columns.
        default_value: Number (or numbers) for `tf.train.Example` messages without the feature, which [input_tfrecord()]
            or an exported model reads. NULL makes such messages an error. For missing values in R data, see
            [input_fn()].
        dtype: Type of the numbers: `"float32"`, `"float64"`, `"int32"`, `"int64"` or a TensorFlow dtype such as
            `tf$float32`.
        normalizer_fn: Function of a tensor that returns a tensor, such as `function(x) tf$math$log(x)`, or NULL.
        center, scale: Numbers that transform the column to `(x - center) / scale`, like [scale()]. Use one number for
            all values, or one number per value of a row, or NULL. Not together with `normalizer_fn`.
    """

    in_words: ClassVar[str] = "a column_numeric()"
    rules: ClassVar[tuple[Never, ...]] = tuple(
        Never(
            {"normalizer_fn": Given, name: Given},
            f"`normalizer_fn` and `{name}` cannot both be given.",
            "Compute everything in `normalizer_fn`, or leave it out.",
        )
        for name in ("center", "scale")
    )

    key: Annotated[Text, Fact.NAME]
    shape: Annotated[tuple[Count, ...], Len(1)] = (1,)
    # For parsed examples without the feature; None makes them an error.
    default_value: Annotated[tuple[AnyFloat, ...], Len(1)] | None = None
    dtype: NumberDtype = "float32"
    normalizer_fn: Annotated[Callable[..., Any] | None, Fact.CODE] = None
    center: _PerNumber | None = None
    scale: Annotated[tuple[Annotated[float, Gt(0)], ...], Len(1)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        width = math.prod(self.shape)
        for name in ("default_value", "center", "scale"):
            numbers = getattr(self, name)
            if numbers is not None and len(numbers) not in (1, width):
                raise ArgumentError(
                    f"`{name}` must be a number, or as many numbers as `shape` has ({width}), not {len(numbers)}.",
                    value=str(len(numbers)),
                )

    @property
    def name(self) -> str:
        return self.key

    def requirements(self) -> tuple[FeatureRequirement, ...]:
        remedy = "Use a categorical column, such as column_categorical_with_vocabulary_list()."
        width = math.prod(self.shape)
        default = self.default_value
        wide = self.is_wide
        return (
            FeatureRequirement(
                self.key, NUMBERS, width, self.name, remedy, default=default, wide=wide
            ),
        )

    @property
    def is_wide(self) -> bool:
        """Return whether the column's function needs more digits of the feature than 32 bits hold."""
        return self.dtype == "float64" or any(
            abs(center) > _MOST_SCALES * abs(scale)
            for center in self.center or ()
            for scale in self.scale or (1.0,)
        )

    def build(self) -> Any:
        return self.with_function(self.normalizer_fn or self._standardizer(), self.is_wide)

    def with_function(self, function: Callable[..., Any] | None, is_wide: bool) -> Any:
        whole = self.dtype.startswith("int")
        given = self.default_value
        values = None if given is None else [int(value) if whole else value for value in given]
        column = engine.tf.feature_column.numeric_column(
            safe_key(self.key),
            shape=self.shape,
            default_value=values[0] if values is not None and len(values) == 1 else values,
            dtype=engine.tf.as_dtype(self.dtype),
            normalizer_fn=function,
        )
        is_wide = is_wide and function is not None
        return engine.features.WideNumericColumn.of(column) if is_wide else column

    def _standardizer(self) -> Callable[[Any], Any] | None:
        if self.center is None and self.scale is None:
            return None
        return engine.features.Standardizer(self.shape, self.center, self.scale, self.is_wide)

    def numbers(self, features: Features, part: str, scope: str) -> Result:
        return features.cast(self.standardized(features), "float32")

    def standardized(self, features: Features) -> Result:
        return features.once(self, lambda: self._standardized(features))

    def _standardized(self, features: Features) -> Result:
        program, numbers = features.program, features.tensor(self.key)
        if self.normalizer_fn is not None:
            return program.user_function(
                self.normalizer_fn, numbers, f"normalizer_fn of {self.name}"
            )
        is_wide = self.is_wide or features.dtype(self.key) == "float64"
        dtype = "float64" if is_wide else "float32"
        for numbers_of, settings in (
            (self.center, lambda value: {"scale": 1.0, "offset": -value}),
            (self.scale, lambda value: {"scale": 1 / value}),
        ):
            if numbers_of is not None:
                constants = {
                    name: rescaling_constant(value, is_wide)
                    for name, value in settings(np.array(numbers_of)).items()
                }
                numbers = program.layer("Rescaling", numbers, **constants, dtype=dtype)
        return numbers

    def structure(self) -> dict[str, Any]:
        return {
            **super().structure(),
            "shape": list(self.shape),
            "normalized": self.normalizer_fn is not None,
            **{
                name: list(numbers)
                for name, numbers in (("center", self.center), ("scale", self.scale))
                if numbers is not None
            },
        }


@dataclass(frozen=True)
class Bucketized(FeatureColumn, kind="bucketized"):
    """Bucketized column: numbers as ranges.

    Args:
        source_column: A [column_numeric()] that contains one number per row. Several columns give several results.
        boundaries: Bounds of the ranges, increasing numbers. `c(0, 10)` defines three ranges: below 0, from 0 to below
            10, and from 10.
    """

    # Layers can also read it directly.
    is_categorical: ClassVar[bool] = True
    structural: ClassVar[tuple[str, ...]] = ("source_column", "boundaries")

    source_column: Numeric
    # Each belongs to the range above it.
    boundaries: Annotated[
        tuple[float, ...], Len(1, increasing="strictly"), Expected("increasing numbers")
    ]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.source_column.shape) > 1:
            raise ModelError(
                f"`source_column` {self.source_column.name} has shape {list(self.source_column.shape)}; "
                "only one dimension can be bucketized.",
                "Give a column_numeric() with one dimension.",
                value=self.source_column.name,
            )

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    def requirements(self) -> tuple[FeatureRequirement, ...]:
        (required,) = self.source_column.requirements()
        return (replace(required, wide=required.wide or self._is_wide),)

    @property
    def _is_wide(self) -> bool:
        # Float32 holds each whole number up to 2^24.
        return max(map(abs, self.boundaries)) > 2**24 or any(
            max(abs(low), abs(high)) > _MOST_SCALES * (high - low)
            for low, high in pairwise(self.boundaries)
        )

    def categories(self, features: Features) -> Categories:
        return features.once(self, lambda: self._categories(features))

    def numbers(self, features: Features, part: str, scope: str) -> Result:
        return features.counts(self.categories(features))

    def _categories(self, features: Features) -> Categories:
        program, source, boundaries = features.program, self.source_column, list(self.boundaries)
        is_wide = self._is_wide or source.is_wide
        if is_wide or program.is_portable:
            # Keras's own layer has boundaries of 32 bits, and ONNX no such operation.
            dtype = "float64" if is_wide else "float32"
            numbers = features.cast(source.standardized(features), dtype)
            offset = rescaling_constant(-np.array(boundaries), is_wide)
            each = program.op("expand_dims", numbers, -1)
            above = program.layer("Rescaling", each, scale=1.0, offset=offset, dtype=dtype)
            reached = program.op("cast", program.op("greater_equal", above, 0.0), "int32")
            ids = program.op("sum", reached, axis=-1)
        else:
            numbers = source.numbers(features, "", "")
            # JAX may compare in 64 bits, and a number on a boundary has 32.
            narrow = np.array(boundaries, "float32").tolist()
            ids = program.layer("Discretization", numbers, bin_boundaries=narrow)
        buckets, width = len(boundaries) + 1, math.prod(source.shape)
        if width > 1:
            ids = program.op("add", ids, buckets * np.arange(width, dtype="int32"))
        return Categories(ids, buckets * width, has_none=False)

    def build(self) -> Any:
        source, boundaries = self.source_column, list(self.boundaries)
        column = source.build()
        if self._is_wide or source.is_wide:
            number = engine.features.RangeNumber(self.boundaries, column.normalizer_fn)
            column, boundaries = source.with_function(number, True), number.own_boundaries
        return engine.tf.feature_column.bucketized_column(column, boundaries)


def rescaling_constant(values: Any, is_wide: bool) -> Any:
    # Keras converts Python's numbers to 32 bits first.
    return np.ravel(values) if is_wide else np.ravel(values).tolist()
