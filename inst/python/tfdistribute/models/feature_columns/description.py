"""Base class of feature columns, and the variable names derived from columns."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from tfdistribute.columns import Accepted
from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Ge
from tfdistribute.errors import ModelError

NUMBERS = ("float", "double", "integer", "integer64", "logical", "date", "datetime")
WHOLE_NUMBERS = ("integer", "integer64", "logical")
TEXT = ("string",)

# TensorFlow's dtypes for numbers and for categories.
NumberDtype = Literal["float32", "float64", "int32", "int64"]
CategoryDtype = Literal["string", "int32", "int64"]
HashBuckets = Annotated[int, Ge(2)]
OovBuckets = Annotated[int, Ge(0)]
# Index of unlisted values; -1 ignores them.
UnlistedIndex = Annotated[int, Ge(-1)]


@dataclass(frozen=True)
class FeatureRequirement:
    feature: str
    types: tuple[str, ...]
    width: int | None  # Numbers per row; None for any.
    column: str
    remedy: str
    accepted: Accepted | None = None  # None for any.
    default: tuple[float, ...] | None = None  # For records without the feature.
    wide: bool = False  # Whether 32 bits lose digits that the column needs.


@dataclass(frozen=True)
class FeatureColumn(Description):
    """Conversion of features, named by their ``safe_key``, to a model's numbers."""

    in_words: ClassVar[str] = "a feature column"
    # Assigns values to buckets, so that another column can wrap it.
    is_categorical: ClassVar[bool] = False
    is_dense: ClassVar[bool] = True  # Layers can read it directly.
    # Fields without which trained weights are meaningless.
    structural: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        raise NotImplementedError

    def requirements(self) -> tuple[FeatureRequirement, ...]:
        raise NotImplementedError

    def check_files(self) -> None: ...

    def build(self) -> Any:
        raise NotImplementedError

    @property
    def scope(self) -> str:
        """Name of the column in names of variables."""
        return safe_key(self.build().name)

    def categories(self, features: Any) -> Any:
        """Add the ``Categories`` of a categorical column to the program of ``features`` (see ``models.conversion``).

        UnsupportedError if Keras has no layer that does the same.
        """
        raise NotImplementedError

    def numbers(self, features: Any, part: str, scope: str) -> Any:
        """Add the numbers that layers of a ``part`` read; variables of the column are below ``scope``."""
        raise NotImplementedError

    def structure(self) -> dict[str, Any]:
        fields = {name: _in_structure(getattr(self, name)) for name in self.structural}
        return {"kind": self.kind, "name": self.name, **fields}


def _in_structure(value: Any) -> Any:
    if isinstance(value, FeatureColumn):
        return value.structure()
    return [_in_structure(each) for each in value] if isinstance(value, tuple) else value


def safe_key(name: str) -> str:
    """Turn a name such as "petal length" into a scope of TensorFlow: "petal_length".

    ASCII characters that scopes do not allow become ``_``, as in ``_sanitize_column_name_for_variable_scope`` of
    feature_column_v2.py. Others become their code point, so that two names in Greek letters stay distinct.
    """
    coded = "".join(letter if letter.isascii() else f"u{ord(letter):04x}" for letter in name)
    return re.sub(r"[^A-Za-z0-9_.\-]", "_", coded)


def check_distinct(columns: Sequence[FeatureColumn], argument: str) -> None:
    check_names([column.name for column in columns], argument, "feature column")


def check_names(names: Iterable[str], argument: str, noun: str) -> None:
    seen: dict[str, str] = {}
    for name in names:
        key = safe_key(name)
        if key not in seen:
            seen[key] = name
        elif seen[key] == name:
            raise ModelError(
                f'`{argument}` has two {noun}s with the name "{name}".',
                "Keep one of them.",
                value=name,
            )
        else:
            raise ModelError(
                f'`{argument}` has {noun}s "{seen[key]}" and "{name}", which both become "{key}" in TensorFlow.',
                "Rename one of them in the data.",
                value=name,
            )
