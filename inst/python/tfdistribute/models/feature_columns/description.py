"""Base class of feature columns, and the variable names derived from columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute.columns import Accepted
from tfdistribute.descriptions import Description
from tfdistribute.errors import ModelError

NUMBERS = ("float", "integer", "integer64", "logical", "date", "datetime")
WHOLE_NUMBERS = ("integer", "integer64", "logical")
TEXT = ("string",)

# TensorFlow's dtypes for numbers and for categories.
NUMBER_DTYPES = ("float32", "float64", "int32", "int64")
CATEGORY_DTYPES = ("string", "int32", "int64")


@dataclass(frozen=True)
class FeatureRequirement:
    """A feature that a column reads, and what it must hold."""

    feature: str
    types: tuple[str, ...]
    width: int | None  # Numbers per row; None for any.
    column: str
    remedy: str
    accepted: Accepted | None = None  # None for any.


@dataclass(frozen=True)
class FeatureColumn(Description):
    """Conversion of features to a model's numbers.

    TensorFlow's graph uses safe keys for features (see ``safe_key``), because scopes allow only some characters.
    """

    # Assigns values to buckets, so that another column can wrap it.
    is_categorical: ClassVar[bool] = False
    is_dense: ClassVar[bool] = True  # Layers can read it directly.

    @property
    def name(self) -> str:
        """The column's TensorFlow name, with the original feature names."""
        raise NotImplementedError

    def requirements(self) -> tuple[FeatureRequirement, ...]:
        """Return the features that the column reads."""
        raise NotImplementedError

    def check_files(self) -> None:
        """Check that the column's files exist; InputError if one does not."""

    def build(self) -> Any:
        """Make the ``tf.feature_column``, which reads features by their safe keys."""
        raise NotImplementedError

    def structure(self) -> dict[str, Any]:
        """Describe, for JSON, the kind, the name, and the settings without which trained weights are meaningless."""
        return {"kind": self.kind, "name": self.name}


def safe_key(name: str) -> str:
    """Turn a name such as "petal length" into one that TensorFlow accepts as a scope: "petal_length".

    ASCII characters that scopes do not allow become ``_``, as in TensorFlow's variable scopes. Other characters become
    their code point, so that "größe" and "grüße", or two names in Greek letters, stay distinct. See
    ``_sanitize_column_name_for_variable_scope`` in tensorflow/python/feature_column/feature_column_v2.py.
    """
    coded = "".join(letter if letter.isascii() else f"u{ord(letter):04x}" for letter in name)
    return re.sub(r"[^A-Za-z0-9_.\-]", "_", coded)


def check_distinct(columns: Sequence[FeatureColumn], argument: str) -> None:
    """Check that no two columns of one part share a name or a variable scope."""
    check_names([column.name for column in columns], argument, "feature column")


def check_names(names: Iterable[str], argument: str, noun: str) -> None:
    """Check that names are distinct, also as variable scopes; ``noun`` says what they name."""
    seen: dict[str, str] = {}
    for name in names:
        key = safe_key(name)
        if key not in seen:
            seen[key] = name
        elif seen[key] == name:
            raise ModelError(
                f'`{argument}` has two {noun}s with the name "{name}".',
                "Keep one of them.",
                argument=argument,
                value=name,
            )
        else:
            raise ModelError(
                f'`{argument}` has {noun}s "{seen[key]}" and "{name}", which both become "{key}" in TensorFlow.',
                "Rename one of them in the data.",
                argument=argument,
                value=name,
            )
