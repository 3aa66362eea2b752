"""The scale of a replica's mean loss, so that the mean over replicas is the mean over all rows of a step.

It is 1 if all replicas have as many rows. Otherwise it is the replica's number of rows over the mean number of all
replicas. Nothing is added to the graph if the numbers are known to be equal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.distribute import distribute_utils
from tensorflow.python.framework import ops
from tensorflow_estimator.python.estimator import util as estimator_util

from tfdistribute.engine.graph import walk
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

    ``inputs`` are the names of the operations of its features and labels. ``in_losses`` if the model scales its
    losses itself, because only some of them are means.
    """

    value: Any
    graph: Any
    inputs: frozenset[str]
    in_losses: bool


_current: ContextVar[ReplicaScale | None] = ContextVar("replica_scale", default=None)


def current() -> ReplicaScale | None:
    return _current.get()


@contextlib.contextmanager
def scaling(value: Any, batch: Any, in_losses: bool) -> Iterator[None]:
    """Scale the losses of a model function that is called inside the block."""
    leaves = tf.nest.flatten(batch, expand_composites=True)
    inputs = frozenset(each.op.name for each in leaves if isinstance(each, tf.Tensor))
    token = _current.set(ReplicaScale(value, ops.get_default_graph(), inputs, in_losses))
    try:
        yield
    finally:
        _current.reset(token)


def scaled(loss: Any) -> Any:
    """Return a replica's mean times its scale."""
    scale = current()
    return loss if scale is None else loss * tf.cast(scale.value, loss.dtype)


def begin(ys: Any, xs: Any, grad_ys: Any) -> Any:
    """Return what to begin the backward pass of ``tf.gradients()`` with; only gradients of weights are scaled."""
    scale = current()
    if scale is None or scale.in_losses or ops.get_default_graph() is not scale.graph:
        return grad_ys
    tensors = (each for each in tf.nest.flatten(xs) if isinstance(each, tf.Tensor))
    if scale.inputs & {each.name for each in walk.ancestors(tensors, control=False)}:
        return grad_ys
    return scaled_gradients(tf.nest.flatten(ys), grad_ys, scale.value)


def scaled_gradients(ys: list[Any], grad_ys: Any, factor: Any) -> list[Any]:
    """Return what to begin the backward pass with: ``grad_ys`` of ``tf.gradients()``, times the factor."""
    begin = [None] * len(ys) if grad_ys is None else tf.nest.flatten(grad_ys)
    return [
        tf.cast(factor, y.dtype) * (tf.ones_like(y) if each is None else each)
        for y, each in zip(ys, begin, strict=True)
    ]
