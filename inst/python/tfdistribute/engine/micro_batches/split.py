"""A training step in turns.

The model function is called once, with the first part of the batch. What it made of that part is the body of a loop
over all parts, which adds up gradients and losses; updates of variables come after the loop. The operations of the
first part itself do not run, unless something else asks for them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from tfdistribute.engine import patches
from tfdistribute.engine.graph import walk
from tfdistribute.engine.micro_batches.batch import Batch
from tfdistribute.engine.micro_batches.rewiring import Rewiring
from tfdistribute.engine.micro_batches.turns import Inputs, Wanted


@dataclass(frozen=True)
class SplitOptions:
    """How an Estimator's training steps are computed.

    Args:
        parts: Parts of each replica's batch.
        sums_loss: Whether the loss is a sum over examples, and not a mean.
        scales_loss: Whether losses are multiplied before they are differentiated, for gradients in float16.
    """

    parts: int = 1
    sums_loss: bool = False
    scales_loss: bool = False

    @property
    def in_turns(self) -> bool:
        """Whether steps need a loop."""
        return self.parts > 1 or self.scales_loss


class _Here(threading.local):
    """The step of each thread: TensorFlow may run replicas on threads of their own."""

    step: SplitStep | None = None


_here = _Here()


def current() -> SplitStep | None:
    """Return the step whose model function is being called on this thread."""
    return _here.step


class SplitStep:
    """The training step of one replica.

    Args:
        options: Number of parts, and what a loss is.
        features: The whole batch.
        labels: The whole batch.

    Attributes:
        features: The first part.
        labels: The first part.
        turn: The number of the turn, from 0: a tensor of int32.

    Raises:
        ModelError: the batch has no rows.
    """

    def __init__(self, options: SplitOptions, features: Any, labels: Any) -> None:
        patches.install("micro_batch_gradients", _gradients)
        self._graph = ops.get_default_graph()
        self._gradients: list[Wanted] = []
        self._calls = 0
        with tf.name_scope("micro_batches"):
            batch = Batch((features, labels), options.parts)
            first = _replaceable(batch.part(tf.constant(0)))
            self.turn = tf.identity(tf.constant(0))
            self._scale = tf.identity(tf.constant(1.0)) if options.scales_loss else None
        self._inputs = Inputs(batch, first, self.turn, self._scale, options.sums_loss)
        self.features, self.labels = first

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Note the gradients that the model function asks for inside the block."""
        before = _here.step
        _here.step = self
        try:
            yield
        finally:
            _here.step = before

    def joined(self, spec: Any) -> Any:
        """Make the loop, and return a specification with the loss of the whole batch.

        Raises:
            ModelError: something in the model cannot be done in turns.
        """
        rewiring = Rewiring(self._graph, self._inputs, self._gradients)
        return spec._replace(loss=rewiring.finish(spec.train_op, spec.loss))

    def gradients(
        self, helper: Any, ys: Any, xs: Any, grad_ys: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Compute gradients of the first part, and return what will be those of the whole batch.

        Only for weights: a gradient by something else that depends on the examples is part of the model.
        """
        sources = tf.nest.flatten(xs)
        if ops.get_default_graph() is not self._graph or not self._are_weights(sources):
            return helper(ys, xs, grad_ys, *args, **kwargs)
        grad_ys = self._scaled(tf.nest.flatten(ys), grad_ys)
        found = helper(ys, xs, grad_ys, *args, **kwargs)
        self._calls += 1
        with tf.name_scope("micro_batches"):
            return [self._note(each, source) for each, source in zip(found, sources, strict=True)]

    def _are_weights(self, sources: list[Any]) -> bool:
        replaced = {tensor.op.name for tensor in self._inputs.tensors()}
        tensors = (each for each in sources if isinstance(each, tf.Tensor))
        return all(each.name not in replaced for each in walk.ancestors(tensors, control=False))

    def _scaled(self, losses: list[Any], given: Any) -> Any:
        if self._scale is None:
            return given
        begin = [None] * len(losses) if given is None else tf.nest.flatten(given)
        return [
            tf.cast(self._scale, loss.dtype) * (tf.ones_like(loss) if each is None else each)
            for loss, each in zip(losses, begin, strict=True)
        ]

    def _note(self, gradient: Any, source: Any) -> Any:
        if gradient is None:
            return None
        if isinstance(gradient, tf.IndexedSlices):
            return self._note_rows(gradient)
        shape = gradient.shape if gradient.shape.is_fully_defined() else source.shape
        with tf.device(gradient.device):
            joined = tf.identity(gradient)
        self._gradients.append(Wanted(gradient, "gradient", shape, joined.op, call=self._calls))
        return joined

    def _note_rows(self, gradient: Any) -> Any:
        values, indices = map(_of_any_length, (gradient.values, gradient.indices))
        shapes = values.shape, indices.shape
        self._gradients += [
            Wanted(gradient.values, "rows", shapes[0], values.op, 0, indices.op, self._calls),
            Wanted(gradient.indices, "indices", shapes[1], indices.op, call=self._calls),
        ]
        return tf.IndexedSlices(values, indices, gradient.dense_shape)


def _replaceable(values: Any) -> Any:
    leaves = tf.nest.flatten(values, expand_composites=True)
    own = [tf.identity(leaf) if isinstance(leaf, tf.Tensor) else leaf for leaf in leaves]
    return tf.nest.pack_sequence_as(values, own, expand_composites=True)


def _of_any_length(tensor: Any) -> Any:
    # More rows than those of one part.
    with tf.device(tensor.device):
        return tf.compat.v1.placeholder_with_default(tensor, [None, *tensor.shape[1:]])


def _gradients(
    helper: Any, ys: Any, xs: Any, grad_ys: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """Note the gradients of a step's model function, whatever computes them."""
    step = current()
    if step is None:
        return helper(ys, xs, grad_ys, *args, **kwargs)
    return step.gradients(helper, ys, xs, grad_ys, *args, **kwargs)
