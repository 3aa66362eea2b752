"""Another input's examples, with weights or changed by a function of the user."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from tfdistribute import engine
from tfdistribute.callbacks import takes
from tfdistribute.columns import TYPES, ColumnFacts, InputFacts
from tfdistribute.errors import CallbackError, InputError
from tfdistribute.inputs.description import Input, InputFunction, Purpose

# What a tensor of numbers or strings holds, by its dtype. Other dtypes have no type.
_TYPES: Mapping[str, str] = {
    TYPES[name]: name for name in ("float", "integer", "integer64", "string")
}

# Batches that wait for the training step.
_PREFETCHED_BATCHES = 2


@dataclass(frozen=True, eq=False)
class Transformed(Input, kind="transformed"):
    """Examples of another input, of which a column is their weights, or which a function changes.

    Args:
        source: Where the examples come from.
        weights: Name of the feature that holds each row's weight; None: all rows weigh the same. It is no feature
            any more: the function does not see it, and models that know of weights read it.
        transform: Function of ``features`` or of ``features`` and ``labels`` (None where there are none, as for
            predicting), tensors of whole batches, that returns what takes their place: ``features``,
            ``(features, labels)`` or a mapping of both. It is called when the dataset is made, on the thread that
            makes it, and when columns are asked for; it may not change the number of rows.
    """

    source: Input
    weights: str | None = None
    transform: Callable[..., Any] | None = None

    def shuffle_seed(self, seed: int) -> int | None:
        """Return the seed of the source's training order."""
        return self.source.shuffle_seed(seed)

    def serving(self) -> contextlib.AbstractContextManager[None]:
        """Do what the source needs."""
        return self.source.serving()

    @cached_property
    def _facts(self) -> InputFacts:
        found = self.source.facts()
        facts = found if self.weights is None else _weighted(found, self.weights)
        if self.transform is None:
            return facts
        changed = _Change(self.transform, self.weights).facts(facts)
        return replace(facts, **changed)

    def facts(self) -> InputFacts:
        """Say what the function makes of what is known of the source; starts TensorFlow where there is a function.

        Returns:
            Columns after the function; None where it makes something that is no column of numbers or strings.

        Raises:
            CallbackError: the function failed.
            InputError: the weights are no feature or no numbers, or the function returned something else.
        """
        return self._facts

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, packed: bool = False
    ) -> InputFunction:
        """Make the function that an Estimator calls for its data; packed only if no function changes the features.

        Raises:
            CallbackError, InputError: by the function, as by ``facts`` and by the source.
        """
        make = self.source.input_fn(purpose, seed, packed and self.transform is None)
        if self.transform is None:
            return make
        change = _Change(self.transform, self.weights)

        def transformed_input(input_context: Any = None) -> Any:
            dataset = make(input_context)
            if not isinstance(dataset, engine.tf.data.Dataset):
                raise InputError(
                    "The input function returned tensors, which `transform` cannot be applied to.",
                    "Return a tf.data.Dataset, or change the tensors in the function itself.",
                    argument="transform",
                )
            # There is nothing for AutoGraph to convert, and it cannot read functions of R.
            mapped = engine.tf.autograph.experimental.do_not_convert(change.of_element)
            return dataset.map(mapped).prefetch(_PREFETCHED_BATCHES)

        return transformed_input


def _weighted(facts: InputFacts, name: str) -> InputFacts:
    """Take the weights out of the features."""
    if facts.features is None:
        return replace(facts, weights=ColumnFacts(name, "float"))
    features = dict(facts.features)
    weights = features.pop(name, None)
    if weights is None:
        listed = ", ".join(f"`{each}`" for each in list(features)[:10])
        raise InputError(
            f"`weights` names `{name}`, but the data has no such column.",
            f"The columns are {listed}{', ...' if len(features) > 10 else '.'}",
            argument="weights",
            value=name,
        )
    if weights.type in ("string", "date", "datetime") or weights.shape not in ((), (1,)):
        raise InputError(
            f"`weights` names `{name}`, which does not hold one number per row.",
            "Name a column of numbers.",
            argument="weights",
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
class _Change:
    """The user's function, and what is kept from it.

    Args:
        function: The function.
        weights: Name of a feature that it does not see.
    """

    function: Callable[..., Any]
    weights: str | None

    def of_element(self, features: Any, labels: Any = None) -> Any:
        """Change one element of a dataset."""
        before, kept = features, dict[str, Any]()
        if self.weights is not None and isinstance(features, Mapping):
            before = dict(cast(Mapping[str, Any], features))
            kept = {self.weights: before.pop(self.weights)}
        new_features, new_labels = self.applied(before, labels)
        _check_rows((new_features, new_labels), (before, labels))
        if kept:
            if not isinstance(new_features, Mapping):
                raise _no_features(new_features)
            new_features = {**cast(Mapping[str, Any], new_features), **kept}
        return new_features if labels is None else (new_features, new_labels)

    def facts(self, before: InputFacts) -> dict[str, Any]:
        """Say what becomes of columns, by calling the function on tensors without values."""
        if before.features is None:
            return {"features": None, "label": None, "label_range": None}
        tf = engine.tf
        with tf.Graph().as_default():
            features = {name: _placeholder(facts) for name, facts in before.features.items()}
            label = None if before.label is None else _placeholder(before.label)
            new_features, new_label = self.applied(dict(features), label)
            known = {id(features[name]): facts for name, facts in before.features.items()}
            columns = _columns(new_features, known)
            if before.label is None:
                return {"features": columns, "label": None}
            if new_label is label:
                return {"features": columns}
            column = _column(before.label.name, new_label)
            # A label that cannot be told takes the features along: models check both or none.
            return {
                "features": None if column is None else columns,
                "label": column,
                "label_range": None,
            }

    def applied(self, features: Any, labels: Any) -> tuple[Any, Any]:
        """Call the function, and tell features from labels in what it returned."""
        try:
            if takes(self.function, "labels") or not takes(self.function, "features"):
                returned = self.function(features, labels)
            else:
                returned = self.function(features)
        except CallbackError as error:
            remedy = "Correct the function that was given as `transform`."
            if labels is None:
                remedy = "There are no labels for predicting: let `transform` test is.null(labels)."
            raise CallbackError(
                f"`transform` failed: {error.problem}", remedy, argument="transform"
            ) from error
        new_features, new_labels = _taken_apart(returned, labels)
        _check_tensors(new_features, "features")
        if labels is not None:
            _check_tensors(new_labels, "labels")
        return new_features, new_labels


def _taken_apart(returned: Any, labels: Any) -> tuple[Any, Any]:
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
    raise _no_features(returned)


def _no_features(returned: Any) -> InputError:
    return InputError(
        f"`transform` returned {_shown(returned)} instead of features and labels.",
        "Return list(features, labels), or the features alone where labels stay as they are.",
        argument="transform",
        value=_shown(returned),
    )


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (list, tuple)):
        return f"{len(cast(Any, value))} values"
    return f"an object of class {type(value).__name__}"


def _check_tensors(value: Any, what: str) -> None:
    """See that everything is a tensor with one entry per row."""
    named = (
        cast(Mapping[str, Any], value).items() if isinstance(value, Mapping) else [(what, value)]
    )
    for name, each in named:
        tensor = engine.tf.is_tensor(each)
        if tensor and getattr(each, "shape", None) is not None and each.shape.rank != 0:
            continue
        found = "a single value" if tensor else _shown(each)
        raise InputError(
            f"`transform` gave {found} for `{name}`, where a tensor with one entry per row belongs.",
            "Give tensors made of the features or labels.",
            argument="transform",
            value=str(name),
        )


def _check_rows(after: Any, before: Any) -> None:
    """Stop the run where the function drops or adds rows: every row is to be read once."""
    tf = engine.tf
    given = [leaf for leaf in tf.nest.flatten(before) if _is_plain(leaf)]
    old = {id(leaf) for leaf in given}
    new = [leaf for leaf in tf.nest.flatten(after) if _is_plain(leaf) and id(leaf) not in old]
    if not given or not new:
        return
    tf.debugging.assert_equal(
        tf.stack([tf.shape(leaf)[0] for leaf in new]),
        tf.shape(given[0])[0],
        message="`transform` changed the number of rows.",
    )


def _is_plain(leaf: Any) -> bool:
    return isinstance(leaf, engine.tf.Tensor)


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
    """Say what a tensor is as a column; None where there is no such type, or its shape is not known."""
    if not _is_plain(tensor) or tensor.dtype.name not in _TYPES:
        return None
    if tensor.shape.rank is None or not tensor.shape[1:].is_fully_defined():
        return None
    return ColumnFacts(name, _TYPES[tensor.dtype.name], tuple(tensor.shape[1:].as_list()))
