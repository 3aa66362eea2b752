"""The scale of a replica's mean loss, so that the mean over replicas is the mean over all rows of a step.

It is 1 if all replicas have as many rows. Otherwise it is the replica's number of rows over the mean number of all
replicas. Nothing is added to the graph if the numbers are known to be equal. A loss that is divided by a sum over its
rows, such as the sum of their weights, counts by this sum, and a sum over rows counts as it is. A replica without rows
computes a repeated row, and everything of it counts 0.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
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


class CountedBatch(NamedTuple):
    """An element of a dataset with its number of rows, which is 0 for a repeated row."""

    batch: Any
    rows: Any


_counts_rows: ContextVar[bool] = ContextVar("counts_rows", default=False)


@contextlib.contextmanager
def counting_rows() -> Iterator[None]:
    """Let input functions that are called inside the block count rows; plain Estimators accept no such elements."""
    token = _counts_rows.set(True)
    try:
        yield
    finally:
        _counts_rows.reset(token)


def with_rows(batch: Any, rows: Any) -> Any:
    return CountedBatch(batch, rows) if _counts_rows.get() else batch


def count_last(dataset: Any, batch_size: int, full: int, last: Sequence[int]) -> Any:
    """Count the rows of a dataset of ``full`` batches and some last ones, if one of these is a repeated row."""
    if 0 not in last or not _counts_rows.get():
        return dataset
    rows = tf.data.Dataset.from_tensors(batch_size).repeat(full)
    rows = rows.concatenate(tf.data.Dataset.from_tensor_slices(list(last)))
    return tf.data.Dataset.zip(CountedBatch(dataset, rows))


def map_batches(dataset: Any, function: Callable[..., Any]) -> Any:
    """Map a dataset, of which ``function`` gets the batches without their numbers of rows."""
    if not isinstance(dataset.element_spec, CountedBatch):
        return dataset.map(function)

    def on_batch(element: CountedBatch) -> CountedBatch:
        batch = element.batch if isinstance(element.batch, tuple) else (element.batch,)
        return CountedBatch(function(*batch), element.rows)

    return dataset.map(tf.autograph.experimental.do_not_convert(on_batch))


class ScalingIterator:
    """An iterator of a strategy whose features are ``ScaledFeatures`` if replicas may have different numbers of rows.

    The ``reader`` has the numbers in advance. The rows of datasets are counted in the graph, over all workers.
    """

    def __init__(self, iterator: Any, strategy: Any, reader: RowReader | None) -> None:
        self._iterator, self._strategy, self._reader = iterator, strategy, reader

    def get_next(self) -> Any:
        element = self._iterator.get_next()
        counted = element if isinstance(element, CountedBatch) else CountedBatch(element, None)
        features, labels = estimator_util.parse_iterator_result(counted.batch)
        known = None if self._reader is None else self._reader.scales
        scales = self._count(counted.rows, (labels, features)) if known is None else known
        if scales:
            features = ScaledFeatures(features, _by_replica(scales))
        return features, labels

    def _count(self, counts: Any, batch: Any) -> list[Any]:
        replicas = self._strategy.num_replicas_in_sync
        own = range(len(self._strategy.extended.worker_devices))
        select = distribute_utils.select_replica
        if counts is None:
            rows = [row_count(select(each, batch)) for each in own]
        else:
            rows = [select(each, counts) for each in own]
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
    if the model scales its losses itself, because only some of them are means; ``is_whole`` if they are of all rows;
    ``is_sum`` if the loss is a sum over rows.
    """

    rows: Any
    graph: Any
    inputs: tuple[Any, ...]
    in_losses: bool
    is_whole: bool
    is_sum: bool
    by_divisor: dict[str, Any] = field(default_factory=dict[str, Any])

    def of(self, loss: Any, counted: Any = None) -> Any:
        """Return the scale of a loss; None for 1. A mean over some of the values counts by their number ``counted``."""
        if self.is_sum:
            return self.has_rows
        found = Addends(loss, self.inputs).divisors
        divisors = {getattr(each, "name", each): each for each in found}
        if set(divisors) == {SUM}:
            return self.has_rows
        name, divisor = next(iter(divisors.items()), (ROWS, ROWS))
        if counted is not None and divisor is ROWS:
            name, divisor = counted.name, counted
        if len(divisors) > 1 or isinstance(divisor, str) or not self.is_whole:
            return self.rows
        if name not in self.by_divisor:
            with tf.device("/cpu:0"), tf.name_scope("replica_scale"):
                amount = tf.cast(tf.reshape(divisor, []), tf.float32)
                if self.has_rows is not None:
                    amount *= self.has_rows
                self.by_divisor[name] = _relation_to_mean(amount)
        return self.by_divisor[name]

    @property
    def has_rows(self) -> Any:
        """1, or 0 for a repeated row; None if there are no repeated rows."""
        return None if self.rows is None else tf.sign(self.rows)


def _relation_to_mean(amount: Any) -> Any:
    """Return this replica's amount divided by the mean over all replicas; 0 if no replica has any."""
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
def scaling(rows: Any, batch: Any, in_losses: bool, is_whole: bool, is_sum: bool) -> Iterator[None]:
    """Scale the losses of a model function that is called inside the block."""
    inputs = tuple(walk.tensors_in(batch))
    scale = ReplicaScale(rows, ops.get_default_graph(), inputs, in_losses, is_whole, is_sum)
    token = _current.set(scale)
    try:
        yield
    finally:
        _current.reset(token)


def scaled(loss: Any, counted: Any = None, is_sum: bool = False) -> Any:
    """Return a replica's mean or sum times its scale; ``counted`` is the number of values that a mask leaves."""
    scale = current()
    if scale is None:
        return loss
    factor = scale.has_rows if is_sum else scale.of(loss, counted)
    return loss if factor is None else loss * tf.cast(factor, loss.dtype)


def weights_of_rows(weights: Any) -> Any:
    """Return the weights of a loss, which are 0 for a repeated row."""
    scale = current()
    counts = None if scale is None else scale.has_rows
    if counts is None:
        return weights
    return tf.nest.map_structure(
        lambda each: counts if each is None else each * tf.cast(counts, each.dtype), weights
    )


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
