"""Categorical columns, which assign each value to a bucket."""

import functools
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tfdistribute import engine, storage
from tfdistribute.checkpoints.mirror import local_file
from tfdistribute.checksums import checksum
from tfdistribute.columns import MISSING_LABEL, Accepted, show_values
from tfdistribute.descriptions.constraints import (
    PLACE,
    Count,
    Expected,
    Fact,
    Ge,
    Given,
    Len,
    Never,
    Text,
)
from tfdistribute.errors import ArgumentError, InputError, ModelError
from tfdistribute.models.conversion.features import Categories, Features, no_layer
from tfdistribute.models.conversion.program import Result
from tfdistribute.models.feature_columns import new_labels
from tfdistribute.models.feature_columns.description import (
    TEXT,
    WHOLE_NUMBERS,
    CategoryDtype,
    FeatureColumn,
    FeatureRequirement,
    HashBuckets,
    OovBuckets,
    UnlistedIndex,
    safe_key,
)

# TensorFlow takes this number for a missing value, which belongs to no category.
MISSING_NUMBER = -1

# The default of TensorFlow's columns.
_IGNORED = -1


def _unlisted_once(default_value: Any) -> tuple[Never]:
    problem = "`num_oov_buckets` ({num_oov_buckets}) and `default_value` ({default_value}) cannot both be given."
    when = {"num_oov_buckets": Count, "default_value": default_value}
    return (Never(when, problem, "Leave one of them out.", "model"),)


@dataclass(frozen=True)
class Categorical(FeatureColumn):
    is_categorical: ClassVar[bool] = True
    is_dense: ClassVar[bool] = False

    key: Annotated[Text, Fact.NAME]

    @property
    def name(self) -> str:
        return self.key

    @property
    def is_text(self) -> bool:
        return getattr(self, "dtype", None) == "string"

    def requirements(self) -> tuple[FeatureRequirement, ...]:
        if self.is_text:
            types = TEXT
            remedy = (
                'Make it a character vector or a factor without `factors = "codes"`, '
                'or give the column dtype = "int64" for whole numbers.'
            )
        else:
            types = WHOLE_NUMBERS
            remedy = (
                "Make it a factor, whose codes count from 0, or whole numbers from 0; "
                "or use column_numeric() or column_bucketized()."
            )
        accepted = self.accepted()
        return (FeatureRequirement(self.key, types, None, self.name, remedy, accepted),)

    @property
    def missing(self) -> Any:
        return MISSING_LABEL if self.is_text else MISSING_NUMBER

    def categories(self, features: Features) -> Categories:
        return features.once(self, lambda: self._categories(features))

    def is_present(self, features: Features) -> Result:
        """Return 0 for missing values, and 1 for others, with or without a category."""
        tensor = features.tensor(self.key)
        return features.program.layer("Hashing", tensor, num_bins=2, mask_value=self.missing)

    def _categories(self, features: Features) -> Categories:
        raise NotImplementedError

    def _listed(
        self, features: Features, vocabulary: Sequence[Any], oov_buckets: int, unknown: Any
    ) -> Categories:
        size = len(vocabulary)
        if self.missing in vocabulary:
            raise no_layer(self, f"its vocabulary has {self.missing!r}, which is a missing value")
        if oov_buckets > 1:
            values = features.tensor(self.key)
            buckets = features.hashed(self, "Hashing", values, num_bins=oov_buckets)
            unknown = features.program.op("add", buckets, size + 1)
        elif oov_buckets == 1 or unknown not in (None, _IGNORED):
            unknown = size + 1 if oov_buckets else unknown + 1
        ids = features.lookup(self.key, vocabulary, unknown, self.missing)
        return Categories(ids, size + oov_buckets)

    def accepted(self) -> Accepted | None:
        """Return the values that belong to a category or are missing values of TensorFlow; None for any."""
        return None


@dataclass(frozen=True)
class VocabularyList(Categorical, kind="categorical_with_vocabulary_list"):
    """Categorical column with a list of categories.

    Args:
        vocabulary_list: The categories, in the order of their indices: strings or whole numbers without duplicates,
            such as `levels(x)`. Without its name, the last argument is the vocabulary if it has at least two elements.
        dtype: Type of the feature: `"string"`, `"int32"`, `"int64"` or a TensorFlow dtype. NULL uses the type of
            `vocabulary_list`.
        default_value: Index of the category that replaces unlisted values, a whole number from 0. With -1, such values
            are ignored, as in TensorFlow by default. NULL (default) makes them an error. See "New values".
        num_oov_buckets: Buckets for unlisted values, a count. Requires `default_value = NULL` or -1.
    """

    structural: ClassVar[tuple[str, ...]] = ("vocabulary_list", "num_oov_buckets")
    rules: ClassVar[tuple[Never, ...]] = _unlisted_once(Annotated[int, Ge(0)])

    vocabulary_list: Annotated[
        Annotated[tuple[int, ...], Len(1)] | Annotated[tuple[str, ...], Len(1)],
        Expected("strings or whole numbers, such as levels(x)"),
        Fact.NAME,
    ]
    dtype: CategoryDtype | None = None
    # None makes unlisted values an error.
    default_value: UnlistedIndex | None = None
    num_oov_buckets: OovBuckets = 0
    # Whether unlisted values, in place of an error, belong to no category, and are reported once.
    warns: Annotated[bool, Fact.INTERNAL] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = Counter(self.vocabulary_list)
        repeated = next((value for value, count in counts.items() if count > 1), None)
        if repeated is not None:
            raise ModelError(
                f"`vocabulary_list` of {self.name} lists {repeated!r} twice.",
                "List each category once.",
                value=str(repeated),
            )

    @property
    def is_text(self) -> bool:
        return self.dtype == "string" or (
            self.dtype is None and isinstance(self.vocabulary_list[0], str)
        )

    @property
    def _default(self) -> int:
        return _IGNORED if self.default_value is None else self.default_value

    def accepted(self) -> Accepted | None:
        if self.default_value is not None or self.num_oov_buckets:
            return None
        known = frozenset[Any]([*self.vocabulary_list, self.missing])
        note = functools.partial(new_labels.note, self.key) if self.warns else None
        return Accepted(known, self._unlisted, note)

    def _categories(self, features: Features) -> Categories:
        unknown = _IGNORED if self.warns else self.default_value
        return self._listed(features, self.vocabulary_list, self.num_oov_buckets, unknown)

    def _unlisted(self, found: Sequence[Any], place: str) -> InputError:
        noun = "label" if self.is_text else "value"
        new = f"the new {noun}{'s' if len(found) > 1 else ''} {show_values(found)}"
        first = ", first" if len(found) > 1 else ""
        return InputError(
            f"The column `{self.key}` has {new}{first} in {place}: the categories of the model are "
            f"{show_values(self.vocabulary_list, 10)}.",
            'Correct or remove these rows. Or count new labels as missing: new_levels = "warn" in feature_columns() or '
            "of a tabular model, or default_value = -1 in the column.",
            argument=self.key,
            value=str(found[0]),
        )

    def build(self) -> Any:
        return engine.tf.feature_column.categorical_column_with_vocabulary_list(
            safe_key(self.key),
            list(self.vocabulary_list),
            dtype=None if self.dtype is None else engine.tf.as_dtype(self.dtype),
            default_value=self._default,
            num_oov_buckets=self.num_oov_buckets,
        )

    def structure(self) -> dict[str, Any]:
        return {**super().structure(), "default_value": self._default}


@dataclass(frozen=True)
class VocabularyFile(Categorical, kind="categorical_with_vocabulary_file"):
    """Categorical column with a file of categories.

    Args:
        vocabulary_file: Path of a text file that has one category per line.
        vocabulary_size: Number of lines to use, a count. NULL uses all lines.
        num_oov_buckets: Buckets for values that are not in the file, a count. Requires `default_value = NULL`.
        default_value: Index of the category that replaces values that are not in the file, a whole number. With NULL,
            such values are ignored.
        dtype: Type of the feature: `"string"`, `"int32"`, `"int64"` or a TensorFlow dtype.
    """

    structural: ClassVar[tuple[str, ...]] = (
        *("vocabulary_size", "num_oov_buckets", "default_value"),
        "vocabulary_file",
    )
    rules: ClassVar[tuple[Never, ...]] = _unlisted_once(Given)

    vocabulary_file: Annotated[Text, Fact.FILE, Fact.PATH, PLACE]
    vocabulary_size: Count | None = None
    num_oov_buckets: OovBuckets = 0
    default_value: UnlistedIndex | None = None  # None ignores unlisted values.
    dtype: CategoryDtype = "string"

    def content(self) -> Mapping[str, Any]:
        return {"file": checksum([storage.read_bytes(self.vocabulary_file)])}

    def structure(self) -> dict[str, Any]:
        return {**super().structure(), "lines": checksum(self._lines())}

    def _lines(self) -> list[bytes]:
        self.check_files()
        return storage.read_bytes(self.vocabulary_file).splitlines()[: self.vocabulary_size]

    def _categories(self, features: Features) -> Categories:
        words = [line.decode() for line in self._lines()]
        vocabulary = words if self.is_text else [int(word) for word in words]
        unknown = _IGNORED if self.default_value is None else self.default_value
        return self._listed(features, vocabulary, self.num_oov_buckets, unknown)

    def check_files(self) -> None:
        if "://" not in self.vocabulary_file and not os.path.isfile(self.vocabulary_file):
            raise InputError(
                f'`vocabulary_file` "{self.vocabulary_file}" of {self.name} does not exist.',
                "Give the path of a text file with one category per line.",
                value=self.vocabulary_file,
            )

    def build(self) -> Any:
        return engine.tf.feature_column.categorical_column_with_vocabulary_file(
            safe_key(self.key),
            local_file(self.vocabulary_file),
            vocabulary_size=self.vocabulary_size,
            num_oov_buckets=self.num_oov_buckets,
            default_value=self.default_value,
            dtype=engine.tf.as_dtype(self.dtype),
        )


@dataclass(frozen=True)
class HashBucket(Categorical, kind="categorical_with_hash_bucket"):
    """Categorical column with hash buckets.

    Args:
        hash_bucket_size: Number of buckets, a count of at least 2.
        dtype: Type of the feature: `"string"`, `"int32"`, `"int64"` or a TensorFlow dtype.
    """

    structural: ClassVar[tuple[str, ...]] = ("hash_bucket_size",)

    hash_bucket_size: HashBuckets
    dtype: CategoryDtype = "string"

    def _categories(self, features: Features) -> Categories:
        # The first bin of Keras's layer is for missing values.
        bins, values = self.hash_bucket_size + 1, features.tensor(self.key)
        settings = {"num_bins": bins, "mask_value": self.missing}
        ids = features.hashed(self, "Hashing", values, **settings)
        return Categories(ids, self.hash_bucket_size)

    def build(self) -> Any:
        return engine.tf.feature_column.categorical_column_with_hash_bucket(
            safe_key(self.key), self.hash_bucket_size, dtype=engine.tf.as_dtype(self.dtype)
        )


@dataclass(frozen=True)
class Identity(Categorical, kind="categorical_with_identity"):
    """Categorical column of numbered categories.

    Args:
        num_buckets: Number of categories, a count.
        default_value: Category that replaces numbers out of range, a whole number. NULL makes such numbers an error.
    """

    structural: ClassVar[tuple[str, ...]] = ("num_buckets",)

    num_buckets: Count
    # Index of other values; None makes them an error in training.
    default_value: Annotated[int, Ge(0)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.default_value is not None and self.default_value >= self.num_buckets:
            raise ArgumentError(
                f"`default_value` must be below `num_buckets` ({self.num_buckets}), not {self.default_value}.",
                value=str(self.default_value),
            )

    def accepted(self) -> Accepted | None:
        if self.default_value is not None:
            return None
        return Accepted(range(MISSING_NUMBER, self.num_buckets), self._out_of_range)

    def _out_of_range(self, found: Sequence[Any], place: str) -> InputError:
        remedy = "a `default_value` for numbers out of range"
        if min(found) >= 0:
            remedy = f"num_buckets = {max(found) + 1}, or {remedy}"
        return InputError(
            f"The column `{self.key}` has {found[0]} in {place}, but column_categorical_with_identity() with "
            f"num_buckets = {self.num_buckets} takes 0 to {self.num_buckets - 1}.",
            f"Give it {remedy}.",
            argument=self.key,
            value=str(found[0]),
        )

    def _categories(self, features: Features) -> Categories:
        program, values, size = features.program, features.tensor(self.key), self.num_buckets
        ids = program.op("add", values, 1)
        if self.default_value is not None:
            low = program.op("greater_equal", values, MISSING_NUMBER)
            known = program.op("logical_and", low, program.op("less", values, size))
            ids = program.op("where", known, ids, self.default_value + 1)
        return Categories(ids, size)

    def build(self) -> Any:
        return engine.tf.feature_column.categorical_column_with_identity(
            safe_key(self.key), self.num_buckets, default_value=self.default_value
        )
