"""Weights and user functions applied to another input."""

import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.callbacks import takes
from tfdistribute.columns import (
    AcceptedValues,
    ColumnFacts,
    InputFacts,
    ReadTypes,
    list_columns,
    lossless_type,
)
from tfdistribute.descriptions.constraints import Text
from tfdistribute.errors import CallbackError, InputError
from tfdistribute.inputs.description import Input, InputFunction, Purpose, ShardOrder

# Batches buffered ahead of the training step.
_PREFETCHED_BATCHES = 2


@dataclass(frozen=True, eq=False)
class Transformed(Input, kind="transformed"):
    """Examples of another input, with a weight column or a function that changes them.

    The function gets ``features``, or ``features`` and ``labels`` (None when predicting), tensors of whole batches
    without the weights. It returns their replacements: ``features``, ``(features, labels)`` or a mapping of both. It is
    called when the dataset is built, on that thread, and when the columns are read. It must not change the number of
    rows.
    """

    source: Input
    weights: Text | None = None
    transform: Callable[..., Any] | None = None

    def shuffle_seed(self, seed: int) -> int | None:
        return self.source.shuffle_seed(seed)

    def shard_order(self) -> ShardOrder:
        return self.source.shard_order()

    def serving(self) -> contextlib.AbstractContextManager[None]:
        return self.source.serving()

    @cached_property
    def _facts(self) -> InputFacts:
        found = self.source.facts()
        facts = found if self.weights is None else _add_weights(found, self.weights)
        if self.transform is None:
            return facts
        changed = _Transform(self.transform, self.weights).facts(facts)
        return replace(facts, **changed)

    def facts(self) -> InputFacts:
        """Return the facts after the transformation; starts TensorFlow if there is a function."""
        return self._facts

    def accepting(self, accepted: AcceptedValues) -> "Transformed":
        if self.transform is not None:
            accepted = [each for each in accepted if each[0] == self.weights]
        return replace(self, source=self.source.accepting(accepted))

    def with_defaults(self, numbers: Mapping[str, tuple[float, ...]]) -> "Transformed":
        if self.transform is not None:
            return self
        return replace(self, source=self.source.with_defaults(numbers))

    def starting_at(self, row: int, done: int) -> "Transformed":
        return replace(self, source=self.source.starting_at(row, done))

    def reading(self, types: ReadTypes) -> "Transformed":
        if self.transform is not None:
            return self
        return replace(self, source=self.source.reading(types))

    def with_missing(self) -> "Transformed":
        if self.transform is not None:
            return self
        return replace(self, source=self.source.with_missing())

    def repeated(self, batch_size: int, epochs: int | None = None) -> "Transformed":
        return replace(self, source=self.source.repeated(batch_size, epochs))

    def in_memory(self) -> "Transformed":
        return replace(self, source=self.source.in_memory())

    def subset(self, rows: npt.NDArray[np.integer[Any]]) -> "Transformed":
        return replace(self, source=self.source.subset(rows))

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, packed: bool = False
    ) -> InputFunction:
        make = self.source.input_fn(purpose, seed, packed and self.transform is None)
        if self.transform is None:
            return make
        apply = _Transform(self.transform, self.weights)

        def transformed_input(input_context: Any = None) -> Any:
            dataset = make(input_context)
            if not isinstance(dataset, engine.tf.data.Dataset):
                raise InputError(
                    "The input function returned tensors, which `transform` cannot be applied to.",
                    "Return a tf.data.Dataset, or change the tensors in the function itself.",
                    argument="transform",
                )
            # AutoGraph has nothing to convert here, and cannot read R functions.
            mapped = engine.tf.autograph.experimental.do_not_convert(apply.to_element)
            changed = engine.step.replica_scale.map_batches(dataset, mapped)
            return changed.prefetch(_PREFETCHED_BATCHES)

        return transformed_input

    def resident_rows(self, purpose: Purpose, seed: int | None = None) -> Any:
        return None if self.transform is not None else self.source.resident_rows(purpose, seed)


def _add_weights(facts: InputFacts, name: str) -> InputFacts:
    if facts.features is None:
        return replace(facts, weights=ColumnFacts(name, "float"))
    features = dict(facts.features)
    weights = features.pop(name, None)
    if weights is None:
        raise InputError(
            f"`weights` names `{name}`, but the data has no such column.",
            list_columns(features),
            value=name,
        )
    if weights.type in ("string", "date", "datetime") or weights.shape not in ((), (1,)):
        raise InputError(
            f"`weights` names `{name}`, which does not hold one number per row.",
            "Name a column of numbers.",
            value=name,
        )
    if not features:
        raise InputError(
            "No features were chosen.",
            "Name at least one column in `features`.",
            argument="features",
        )
    return replace(facts, features=features, weights=weights)


@dataclass(frozen=True)
class _Transform:
    function: Callable[..., Any]
    weights: str | None

    def to_element(self, features: Any, labels: Any = None) -> Any:
        before, kept = features, dict[str, Any]()
        if self.weights is not None and isinstance(features, Mapping):
            before = dict(cast(Mapping[str, Any], features))
            kept = {self.weights: before.pop(self.weights)}
        new_features, new_labels = self.call(before, labels)
        _check_rows((new_features, new_labels), (before, labels))
        if kept:
            if not isinstance(new_features, Mapping):
                raise _result_error(new_features)
            new_features = {**cast(Mapping[str, Any], new_features), **kept}
        return new_features if labels is None else (new_features, new_labels)

    def facts(self, before: InputFacts) -> dict[str, Any]:
        if before.features is None:
            return {"features": None, "label": None, "label_range": None, "values": None}
        tf = engine.tf
        with tf.Graph().as_default():
            features = {name: _placeholder(facts) for name, facts in before.features.items()}
            label = None if before.label is None else _placeholder(before.label)
            new_features, new_label = self.call(dict(features), label)
            known = {id(features[name]): facts for name, facts in before.features.items()}
            columns = _columns(new_features, known)
            kept = {self.weights}
            if before.label is None:
                return {"features": columns, "label": None, "values": _values(before, kept)}
            if new_label is label:
                return {"features": columns, "values": _values(before, {*kept, before.label.name})}
            column = _column(before.label.name, new_label)
            # If nothing is known about the label, drop the features too: models check both or neither.
            return {
                "features": None if column is None else columns,
                "label": column,
                "label_range": None,
                "values": _values(before, kept),
            }

    def call(self, features: Any, labels: Any) -> tuple[Any, Any]:
        try:
            if takes(self.function, "labels") or not takes(self.function, "features"):
                returned = self.function(features, labels)
            else:
                returned = self.function(features)
        except CallbackError as error:
            if labels is None and error.remedy is None:
                error.remedy = (
                    "There are no labels for predicting: test is.null(labels) in `transform`."
                )
            raise
        new_features, new_labels = _features_and_labels(returned, labels)
        _check_tensors(new_features, "features")
        if labels is not None:
            _check_tensors(new_labels, "labels")
        return new_features, new_labels


def _features_and_labels(returned: Any, labels: Any) -> tuple[Any, Any]:
    if isinstance(returned, Mapping):
        named = cast(Mapping[str, Any], returned)
        if "features" in named and set(named) <= {"features", "labels"}:
            both = isinstance(named["features"], Mapping) or "labels" in named
            if both:
                return named["features"], named.get("labels", labels)
        return dict(named), labels
    if isinstance(returned, (list, tuple)) and len(cast(Any, returned)) == 2:
        features, new_labels = cast(tuple[Any, Any], returned)
        return features, new_labels
    if engine.tf.is_tensor(returned):
        return returned, labels
    raise _result_error(returned)


def _result_error(returned: Any) -> InputError:
    return InputError(
        f"`transform` returned {_show(returned)} instead of features and labels.",
        "Return list(features, labels), or the features alone if labels stay the same.",
        value=_show(returned),
    )


def _show(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (list, tuple)):
        return f"{len(cast(Any, value))} values"
    return f"an object of class {type(value).__name__}"


def _check_tensors(value: Any, what: str) -> None:
    named = (
        cast(Mapping[str, Any], value).items() if isinstance(value, Mapping) else [(what, value)]
    )
    for name, each in named:
        tensor = engine.tf.is_tensor(each)
        if tensor and getattr(each, "shape", None) is not None and each.shape.rank != 0:
            continue
        text = "a single value" if tensor else _show(each)
        raise InputError(
            f"`transform` returned {text} for `{name}` instead of a tensor with one entry per row.",
            "Return tensors computed from the features or labels.",
            value=str(name),
        )


def _check_rows(after: Any, before: Any) -> None:
    """Fail the run if the function drops or adds rows, because every row must be read once."""
    tf = engine.tf
    given = [leaf for leaf in tf.nest.flatten(before) if _is_dense(leaf)]
    old = {id(leaf) for leaf in given}
    new = [leaf for leaf in tf.nest.flatten(after) if _is_dense(leaf) and id(leaf) not in old]
    if not given or not new:
        return
    tf.debugging.assert_equal(
        tf.stack([tf.shape(leaf)[0] for leaf in new]),
        tf.shape(given[0])[0],
        message="`transform` changed the number of rows.",
    )


def _is_dense(leaf: Any) -> bool:
    return isinstance(leaf, engine.tf.Tensor)


def _values(facts: InputFacts, kept: Collection[str | None]) -> Callable[[str], Any]:
    return lambda name: facts.values_of(name) if name in kept else None


def _placeholder(facts: ColumnFacts) -> Any:
    tf = engine.tf
    return tf.compat.v1.placeholder(tf.as_dtype(facts.dtype), [None, *facts.shape])


def _columns(features: Any, known: Mapping[int, ColumnFacts]) -> Mapping[str, ColumnFacts] | None:
    if not isinstance(features, Mapping):
        return None
    columns: dict[str, ColumnFacts] = {}
    for name, tensor in cast(Mapping[str, Any], features).items():
        unchanged = known.get(id(tensor))
        column = _column(name, tensor) if unchanged is None else replace(unchanged, name=name)
        if column is None:
            return None
        columns[name] = column
    return columns


def _column(name: str, tensor: Any) -> ColumnFacts | None:
    """Describe a tensor as a column; None if its type is unsupported or its shape unknown."""
    column_type = lossless_type(tensor.dtype.name) if _is_dense(tensor) else None
    if column_type is None:
        return None
    if tensor.shape.rank is None or not tensor.shape[1:].is_fully_defined():
        return None
    return ColumnFacts(name, column_type, tuple(tensor.shape[1:].as_list()))
