"""The scale of a replica's mean loss, so that the mean over replicas is the mean over all rows of a step.

It is 1 if all replicas have as many rows. Otherwise it is the replica's number of rows over the mean number of all
replicas. Nothing is added to the graph if the numbers are known to be equal. A loss that is divided by a sum over its
rows, such as the sum of their weights, counts by this sum, and a sum over rows counts as it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.distribute import distribute_utils
from tensorflow.python.framework import ops
from tensorflow_estimator.python.estimator import util as estimator_util

from tfdistribute.engine.graph import walk
from tfdistribute.engine.graph.divisors import ROWS, SUM, Addends
from tfdistribute.engine.step.micro_batches import row_count
from tfdistribute.engine.step.resident_rows import RowReader


class ScaledFeatures(NamedTuple):
    """The features of a step between an iterator and the model, with the scale of each replica."""

    features: Any
    scale: Any


class ScalingIterator:
    """An iterator of a strategy whose features are ``ScaledFeatures`` if replicas may have different numbers of rows.

    The ``reader`` has the numbers in advance. The rows of datasets are counted in the graph, over all workers.
    """

    def __init__(self, iterator: Any, strategy: Any, reader: RowReader | None) -> None:
        self._iterator, self._strategy, self._reader = iterator, strategy, reader

    def get_next(self) -> Any:
        features, labels = estimator_util.parse_iterator_result(self._iterator.get_next())
        known = None if self._reader is None else self._reader.scales
        scales = self._count((labels, features)) if known is None else known
        if scales:
            features = ScaledFeatures(features, _by_replica(scales))
        return features, labels

    def _count(self, batch: Any) -> list[Any]:
        replicas = self._strategy.num_replicas_in_sync
        own = range(len(self._strategy.extended.worker_devices))
        rows = [row_count(distribute_utils.select_replica(each, batch)) for each in own]
        if all(each is None or tf.get_static_value(each) is not None for each in rows):
            # A batch of a fixed size is that of every worker.
            return []
        with tf.device("/cpu:0"), tf.name_scope("replica_scale"):
            rows = [tf.cast(each, tf.float32) for each in rows]
            if len(rows) == replicas:
                total = tf.add_n(rows)
            else:
                total = self._strategy.reduce(tf.distribute.ReduceOp.SUM, _by_replica(rows), None)
            # Equal whole numbers have the quotient 1 exactly.
            return [tf.math.divide_no_nan(each * replicas, total) for each in rows]


def _by_replica(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else distribute_utils.regroup(tuple(values))


@dataclass(frozen=True)
class ReplicaScale:
    """The scale of the replica whose model function is being called.

    ``rows`` is its scale by rows, or None for 1. ``inputs`` are the tensors of its features and labels. ``in_losses``
    if the model scales its losses itself, because only some of them are means; ``is_whole`` if they are of all rows.
    """

    rows: Any
    graph: Any
    inputs: tuple[Any, ...]
    in_losses: bool
    is_whole: bool
    by_divisor: dict[str, Any] = field(default_factory=dict[str, Any])

    def of(self, loss: Any, counted: Any = None) -> Any:
        """Return the scale of a loss; None for 1. A mean over some of the values counts by their number ``counted``."""
        found = Addends(loss, self.inputs).divisors
        divisors = {getattr(each, "name", each): each for each in found}
        if set(divisors) == {SUM}:
            return None
        name, divisor = next(iter(divisors.items()), (ROWS, ROWS))
        if counted is not None and divisor is ROWS:
            name, divisor = counted.name, counted
        if len(divisors) > 1 or isinstance(divisor, str) or not self.is_whole:
            return self.rows
        if name not in self.by_divisor:
            with tf.device("/cpu:0"), tf.name_scope("replica_scale"):
                self.by_divisor[name] = _relation_to_mean(divisor)
        return self.by_divisor[name]


def _relation_to_mean(amount: Any) -> Any:
    """Return an amount of this replica over the mean of all; 0 if no replica has any."""
    amount = tf.cast(tf.reshape(amount, []), tf.float32)
    strategy, context = tf.distribute.get_strategy(), tf.distribute.get_replica_context()
    if len(strategy.extended.worker_devices) == strategy.num_replicas_in_sync:
        # Within a process, an addition is enough.
        total = context.merge_call(_add, args=(amount,))
    else:
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, amount)
    return tf.math.divide_no_nan(amount * strategy.num_replicas_in_sync, total)


def _add(strategy: Any, amounts: Any) -> Any:
    with tf.device("/cpu:0"):
        return tf.add_n(list(strategy.experimental_local_results(amounts)))


_current: ContextVar[ReplicaScale | None] = ContextVar("replica_scale", default=None)


def current() -> ReplicaScale | None:
    return _current.get()


@contextlib.contextmanager
def scaling(rows: Any, batch: Any, in_losses: bool, is_whole: bool) -> Iterator[None]:
    """Scale the losses of a model function that is called inside the block."""
    leaves = tf.nest.flatten(batch, expand_composites=True)
    inputs = tuple(each for each in leaves if isinstance(each, tf.Tensor))
    scale = ReplicaScale(rows, ops.get_default_graph(), inputs, in_losses, is_whole)
    token = _current.set(scale)
    try:
        yield
    finally:
        _current.reset(token)


def scaled(loss: Any, counted: Any = None) -> Any:
    """Return a replica's mean times its scale; ``counted`` is the number of values if a mask leaves out some."""
    scale = current()
    factor = None if scale is None else scale.of(loss, counted)
    return loss if factor is None else loss * tf.cast(factor, loss.dtype)


def begin(ys: Any, xs: Any, grad_ys: Any) -> Any:
    """Return what to begin the backward pass of ``tf.gradients()`` with; only gradients of weights are scaled."""
    scale = current()
    if scale is None or scale.in_losses or ops.get_default_graph() is not scale.graph:
        return grad_ys
    tensors = (each for each in tf.nest.flatten(xs) if isinstance(each, tf.Tensor))
    inputs = {each.op.name for each in scale.inputs}
    if any(each.name in inputs for each in walk.ancestors(tensors, control=False)):
        return grad_ys
    losses = tf.nest.flatten(ys)
    gradients = [None] * len(losses) if grad_ys is None else tf.nest.flatten(grad_ys)
    factors = [scale.of(loss) for loss in losses]
    if all(each is None for each in factors):
        return grad_ys
    return [
        scaled_gradients([loss], [gradient], 1.0 if factor is None else factor)[0]
        for loss, gradient, factor in zip(losses, gradients, factors, strict=True)
    ]


def scaled_gradients(ys: list[Any], grad_ys: Any, factor: Any) -> list[Any]:
    """Return what to begin the backward pass with: ``grad_ys`` of ``tf.gradients()``, times the factor."""
    begin = [None] * len(ys) if grad_ys is None else tf.nest.flatten(grad_ys)
    return [
        tf.cast(factor, y.dtype) * (tf.ones_like(y) if each is None else each)
        for y, each in zip(ys, begin, strict=True)
    ]
