"""Features, categories and lookups of columns as statements of Keras."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import UnsupportedError
from tfdistribute.models.conversion.program import Program, Read, Result

if TYPE_CHECKING:
    from tfdistribute.models.feature_columns.description import FeatureColumn, FeatureRequirement


@dataclass(frozen=True)
class Categories:
    """Numbers of categories, one or more per row, with ``size`` categories.

    With ``has_none``, they count from 1, and 0 is no category.
    """

    ids: Result
    size: int
    has_none: bool = True

    @property
    def rows(self) -> int:
        return self.size + self.has_none


@dataclass
class Features:
    """The features of a model, made when a column first reads them.

    Args:
        facts: Features of the training, None if it did not know them.
        levels: Levels of the factors that the model reads as codes.
        replacements: Replacements for missing values, by feature.
    """

    program: Program
    required: "Sequence[FeatureRequirement]"
    facts: Mapping[str, ColumnFacts] | None
    levels: Mapping[str, Sequence[str]]
    replacements: Mapping[str, Any]
    _made: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def dtype(self, feature: str) -> str:
        """Return the dtype of a feature's tensor: string, int64, float32 or float64."""
        required = [each for each in self.required if each.feature == feature]
        known = None if self.facts is None else self.facts.get(feature)
        if any("float" in each.types for each in required):
            whole = any("float" not in each.types for each in required)
            wide = any(each.wide for each in required)
            return "int64" if whole else "float64" if wide else "float32"
        if not required and known is not None and known.type != "string":
            return "float32"
        is_text = all("string" in each.types for each in required)
        if known is not None and feature not in self.levels:
            is_text = known.type == "string"
        return "string" if is_text else "int64"

    def width(self, feature: str) -> int:
        known = None if self.facts is None else self.facts.get(feature)
        if known is not None:
            return math.prod(known.shape)
        required = [each.width for each in self.required if each.feature == feature]
        return next((width for width in required if width is not None), 1)

    def tensor(self, feature: str) -> Result:
        return self.once(("feature", feature), lambda: self._tensor(feature))

    def _tensor(self, feature: str) -> Result:
        program, dtype, width = self.program, self.dtype(feature), self.width(feature)
        levels = self.levels.get(feature)
        if levels is not None and not program.is_portable:
            labels = program.input(feature, "string", width)
            settings = {"num_oov_indices": 0, "mask_token": ""}
            found = program.layer("StringLookup", labels, vocabulary=list(levels), **settings)
            return self.cast(program.op("subtract", found, 1), dtype)
        tensor = program.input(feature, dtype, width)
        fill = self.replacements.get(feature)
        if fill is None or not dtype.startswith("float"):
            return tensor
        return program.op("where", program.op("isnan", tensor), fill, tensor)

    def cast(self, tensor: Result, dtype: str) -> Result:
        return self.once((tensor, dtype), lambda: self.program.op("cast", tensor, dtype))

    def lookup(self, feature: str, vocabulary: Sequence[Any], unknown: Any, missing: Any) -> Result:
        """Return the positions of values in a vocabulary, from 1, and 0 for no category.

        Args:
            unknown: None if unknown values are an error and only missing values have no category, -1 if neither have
                one, or otherwise the number of unknown values, from 1, or a result with their numbers.
        """
        program, is_ignored = self.program, unknown in (None, -1)
        if program.is_portable:
            default = 0 if is_ignored else unknown
            return program.encoded(feature, self.width(feature), vocabulary, missing, default)
        kind = "StringLookup" if isinstance(missing, str) else "IntegerLookup"
        settings = {
            "num_oov_indices": 0 if unknown is None else 1,
            "mask_token": None if unknown == -1 else missing,
        }
        values = self.tensor(feature)
        found = program.layer(kind, values, vocabulary=list(vocabulary), **settings)
        if is_ignored:
            return found
        known = program.op("maximum", program.op("subtract", found, 1), 0)
        return program.op("where", program.op("equal", found, 1), unknown, known)

    def hashed(self, column: "FeatureColumn", kind: str, source: Any, **settings: Any) -> Result:
        if self.program.is_portable:
            raise UnsupportedError(
                f"The column {column.name} ({column.kind}) hashes values, for which ONNX has no operator.",
                "Use export_savedmodel() with its default format, or train the model with a vocabulary.",
                argument="format",
                value=column.name,
            )
        return self.program.layer(kind, source, **settings)

    def counts(self, categories: Categories) -> Result:
        """Count the categories of each row, as an indicator column does."""
        program, ids = self.program, categories.ids
        if categories.has_none:
            if program.is_portable:
                # ONNX counts negative positions from the end, and leaves out those that are too large.
                is_none = program.op("equal", ids, 0)
                ids = program.op("where", is_none, categories.size + 1, ids)
            ids = program.op("subtract", ids, 1)
        return program.op("sum", program.op("one_hot", ids, categories.size), axis=-2)

    def combine(
        self,
        name: str,
        column: "FeatureColumn",
        units: int,
        weights: Callable[[Read], Any],
        combiner: str,
        **settings: Any,
    ) -> Result:
        """Look up a vector for each category of a row, and combine them; rows without a category get zeros."""
        program, categories = self.program, column.categories(self)

        def table(read: Read) -> list[Any]:
            known = weights(read)
            return [np.concatenate([np.zeros_like(known[:1]), known])[-categories.rows :]]

        vectors = program.layer(
            "Embedding",
            categories.ids,
            table,
            input_dim=categories.rows,
            output_dim=units,
            name=name,
            **settings,
        )
        present = None
        if categories.has_none:
            present = program.op("cast", program.op("greater", categories.ids, 0), "float32")
            vectors = program.op("multiply", vectors, program.op("expand_dims", present, -1))
        total = program.op("sum", vectors, axis=-2)
        widths = [self.width(each.feature) for each in column.requirements()]
        if combiner == "sum" or max(widths) == 1:
            return total
        if present is None:
            count: Any = float(max(widths)) ** (0.5 if combiner == "sqrtn" else 1)
        else:
            count = program.op("sum", present, axis=-1, keepdims=True)
            count = program.op("maximum", count, 1.0)
            count = program.op("sqrt", count) if combiner == "sqrtn" else count
        return program.op("divide", total, count)


def no_layer(column: "FeatureColumn", why: str) -> UnsupportedError:
    return UnsupportedError(
        f"The column {column.name} ({column.kind}) has no layer in Keras: {why}.",
        "Use export_savedmodel(), or train the model without this column.",
        argument="object",
        value=column.name,
    )
