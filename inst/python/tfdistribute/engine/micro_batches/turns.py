"""The loop over the parts of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from tfdistribute.engine.graph import functions, walk
from tfdistribute.engine.graph.copies import Subgraph
from tfdistribute.engine.micro_batches import loss_scale
from tfdistribute.engine.micro_batches.batch import Batch

# The ways to join the values of the parts; these hold rows, which are joined one after another.
_ROWS = ("rows", "indices")
# Of a graph: the names of what the turns of all replicas replace.
_REPLACED = "_tfdistribute_replaced_in_turns"
# Operations and their outputs that hold each index once: of embedding lookups, and of their gradients.
_UNIQUE = {("Unique", 0), ("UniqueV2", 0)}
_UNIQUE |= {(f"SparseSegment{kind}GradV2", 1) for kind in ("Mean", "SqrtN", "Sum")}
# These follow from the scaled loss.
_SCALED = ("gradient", "rows")


@dataclass(frozen=True)
class Wanted:
    """A value of the first part, and how it becomes that of the whole batch.

    Args:
        tensor: The value.
        how: "gradient" (as the loss: a mean or a sum), "rows" and "indices" (of an ``IndexedSlices``), "mean", "sum",
            or "first".
        shape: Shape of the joined value.
        user: The operation that takes the joined value.
        position: Which of its inputs that is.
        partner: Of "rows": the user of their indices.
        call: The request for gradients that it belongs to.
    """

    tensor: Any
    how: str
    shape: Any
    user: Any
    position: int = 0
    partner: Any = None
    call: int = 0


@dataclass(frozen=True)
class Inputs:
    """What differs between the turns of a loop.

    Args:
        batch: The batch.
        first: Its first part.
        turn: The number of the turn in the graph of the first part.
        scale: The factor of the losses there; None if they are not scaled.
        sums_loss: Whether the loss is a sum over examples.
    """

    batch: Batch
    first: Any
    turn: Any
    scale: Any
    sums_loss: bool

    def __post_init__(self) -> None:
        graph = self.turn.graph
        setattr(graph, _REPLACED, getattr(graph, _REPLACED, frozenset()) | self._names())

    def of_other_replicas(self) -> frozenset[str]:
        """Return the names of the operations that the turns of other replicas in this graph replace."""
        return getattr(self.turn.graph, _REPLACED) - self._names()

    def _names(self) -> frozenset[str]:
        return frozenset(tensor.op.name for tensor in self.tensors())

    def tensors(self) -> list[Any]:
        """List what the turns replace."""
        numbers = [self.turn] if self.scale is None else [self.turn, self.scale]
        return [*_leaves(self.first), *numbers]

    def given(self, turn: Any, scale: Any) -> dict[str, Any]:
        """Return the values of one turn, by the names of those that they replace."""
        numbers = [turn] if self.scale is None else [turn, scale]
        values = [*_leaves(self.batch.part(turn)), *numbers]
        return {own.name: value for own, value in zip(self.tensors(), values, strict=True)}


def _leaves(values: Any) -> list[Any]:
    leaves = tf.nest.flatten(values, expand_composites=True)
    return [leaf for leaf in leaves if isinstance(leaf, tf.Tensor)]


class Loop:
    """A loop whose body is what the model function made of the first part.

    Args:
        inputs: What differs between turns.
        copied: The operations of the body.
        wanted: The values to join.
        effects: Operations that run in each turn.
    """

    def __init__(
        self,
        inputs: Inputs,
        copied: Subgraph,
        wanted: Sequence[Wanted],
        effects: Sequence[Any],
    ) -> None:
        self._inputs = inputs
        self._copied = copied
        self._wanted = wanted
        self._effects = effects
        self._graph = ops.get_default_graph()

    def run(self) -> tuple[list[Any], Any]:
        """Make the loop; return the joined values in order, and an operation that comes after it."""
        parts = self._inputs.batch.parts
        state = loss_scale.State() if self._inputs.scale is not None else None
        begin = tf.constant(loss_scale.UNSCALED) if state is None else state.read()
        # Parts of a batch one after another: the memory of one is free before the next begins.
        turn, scale, joined = tf.while_loop(
            lambda turn, scale, joined: turn < parts,
            self._body,
            (tf.constant(0), begin, [self._empty(each, parts) for each in self._wanted]),
            parallel_iterations=1,
            name="turns",
        )
        with tf.control_dependencies([] if state is None else [state.write(scale)]):
            results = [
                tf.identity(value.concat() if each.how in _ROWS else value)
                for each, value in zip(self._wanted, joined, strict=True)
            ]
        return self._without_duplicates(results), turn.op

    def _body(self, turn: Any, scale: Any, joined: Any) -> Any:
        values, done = self._turn(turn, scale[0])
        together = [
            self._joined(each, old, new, turn)
            for each, old, new in zip(self._wanted, joined, values, strict=True)
        ]
        with tf.control_dependencies(done):
            after = turn + 1
        if self._inputs.scale is None:
            return after, scale, together
        pairs = zip(self._wanted, values, strict=True)
        counts = loss_scale.counts(scale, [value for each, value in pairs if each.how in _SCALED])
        # A turn that is done again writes rows in the same place.
        kept = [
            new if each.how in _ROWS else tf.where(counts, new, old)
            for each, old, new in zip(self._wanted, joined, together, strict=True)
        ]
        return tf.where(counts, after, turn), loss_scale.after_turn(scale, counts), kept

    def _turn(self, turn: Any, scale: Any) -> tuple[list[Any], list[Any]]:
        here = ops.get_default_graph()
        functions.provide(self._graph, here)
        given = self._inputs.given(turn, scale)
        for name, tensor in self._copied.outside.items():
            if name not in given:
                given[name] = here.capture(tensor)
        sources = [each.tensor for each in self._wanted]
        found = self._copied.copy(given, [*sources, *self._effects], "turn")
        values = found[: len(sources)]
        if self._inputs.scale is not None:
            values = [
                value / tf.cast(scale, value.dtype) if each.how in _SCALED else value
                for each, value in zip(self._wanted, values, strict=True)
            ]
        return values, found[len(sources) :]

    def _joined(self, each: Wanted, old: Any, new: Any, turn: Any) -> Any:
        if each.how == "first":
            return tf.where(tf.equal(turn, 0), new, old)
        is_mean = each.how == "mean" or (each.how in _SCALED and not self._inputs.sums_loss)
        if is_mean:
            new = new * tf.cast(self._inputs.batch.share(turn), new.dtype)
        if each.how in _ROWS:
            return old.write(turn, new)
        return old + tf.reshape(new, each.shape)

    def _empty(self, each: Wanted, parts: Any) -> Any:
        if each.how in _ROWS:
            shape = each.shape
            return tf.TensorArray(
                each.tensor.dtype, size=parts, element_shape=shape, infer_shape=False
            )
        return tf.zeros(each.shape, each.tensor.dtype)

    def _without_duplicates(self, results: list[Any]) -> list[Any]:
        """Add up rows of an embedding that several parts have, if the model reads each row once.

        The norm of a gradient, by which it may be clipped, is then that of the whole batch.
        """
        results = list(results)
        users = {each.user: place for place, each in enumerate(self._wanted)}
        for place, each in enumerate(self._wanted):
            if each.how == "rows":
                indices = users[each.partner]
                if _are_unique(self._wanted[indices].tensor):
                    unique, position = tf.unique(results[indices])
                    results[indices] = unique
                    results[place] = tf.math.unsorted_segment_sum(
                        results[place], position, tf.size(unique)
                    )
        return results


def _are_unique(indices: Any) -> bool:
    indices = walk.behind(indices, ("Identity", "Reshape", "Cast"))
    return (indices.op.type, indices.value_index) in _UNIQUE
