"""Packed columns as an input: in which order their rows come, and how they cross into TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt

from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.inputs.description import InputFunction, Purpose
from tfdistribute.inputs.packed.chunks import batches_at_once, dataset_of_chunks
from tfdistribute.inputs.packed.packing import Packed
from tfdistribute.inputs.packed.unpacking import taking_apart
from tfdistribute.sharding import BatchPlan, InputContext, RowOrder, Shard


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows that any part of a batch can be gathered from.

    Args:
        packed: The columns.
        response: Name of the column that is the label; None: there is none.
        batch_size: Examples of one training step, summed over replicas.
        num_epochs: Passes over the rows; None: without end. Predicting always takes one.
        shuffle: Whether each epoch is shuffled; None: for training only. Predicting never shuffles.
        seed: Seed of the shuffle; None: the run's.
    """

    packed: Packed
    response: str | None
    batch_size: int
    num_epochs: int | None
    shuffle: bool | None
    seed: int | None

    @cached_property
    def facts(self) -> InputFacts:
        """What is known about the data."""
        facts = {name: place.facts for name, place in self.packed.places.items()}
        label = None if self.response is None else facts.pop(self.response)
        return InputFacts(
            features=facts,
            label=label,
            rows=self.packed.rows,
            epochs=self.num_epochs,
            global_batch_size=self.batch_size,
            label_range=_label_range(self.packed, label),
        )

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, side_by_side: bool = False
    ) -> InputFunction:
        """Make the function that an Estimator calls for its data.

        Args:
            purpose: "predict" yields features only, once and in order.
            seed: Seed of the run, where the input does not have its own.
            side_by_side: Whether features that are numbers stay in their matrices, for Estimators that cut them.

        Returns:
            A function of ``input_context=None`` that returns a ``tf.data.Dataset``.

        Raises:
            ShardingError: by the function, when the batch or the rows do not divide over the replicas.
        """
        # The function must not hold a description: TensorFlow keeps it on threads of its own.
        packed = self.packed
        shuffled = purpose != "predict" and (
            purpose == "train" if self.shuffle is None else self.shuffle
        )
        chosen = self.seed if self.seed is not None else seed
        order_seed = (0 if chosen is None else chosen) if shuffled else None
        epochs = 1 if purpose == "predict" else self.num_epochs
        batch_size, response = self.batch_size, None if purpose == "predict" else self.response
        left_out = self.response if purpose == "predict" else None

        def packed_input(input_context: InputContext | None = None) -> Any:
            plan = BatchPlan(packed.rows, epochs, batch_size, Shard.of(input_context))
            take_apart = taking_apart(packed, response, left_out, side_by_side)
            chunks = _chunks(packed, plan, order_seed)
            return dataset_of_chunks(packed.layout, chunks, take_apart)

        return packed_input


def _label_range(packed: Packed, label: ColumnFacts | None) -> tuple[float, float] | None:
    numbers = None if label is None else packed.numbers(label.name)
    return None if numbers is None else (float(numbers.min()), float(numbers.max()))


def _chunks(
    packed: Packed, plan: BatchPlan, seed: int | None
) -> Callable[[], Iterator[tuple[npt.NDArray[Any], ...]]]:
    batches = batches_at_once(packed.layout.handed_on_bytes * plan.replica_batch_size)

    def chunks() -> Iterator[tuple[npt.NDArray[Any], ...]]:
        order = RowOrder(packed.rows, seed)
        for positions in plan.chunks(batches):
            yield packed.gather(order.at(positions))

    return chunks
