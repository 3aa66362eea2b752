"""Base class of inputs whose columns are packed in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt

from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.inputs.description import InputFunction, Purpose, RowInput
from tfdistribute.inputs.packed.chunks import batches_at_once, dataset_of_chunks
from tfdistribute.inputs.packed.packing import Packed
from tfdistribute.inputs.packed.unpacking import taking_apart
from tfdistribute.sharding import BatchPlan, InputContext, RowOrder, Shard


@dataclass(frozen=True, eq=False)
class PackedInput(RowInput):
    """Rows from which any part of a batch can be gathered."""

    @cached_property
    def packed(self) -> Packed:
        """The columns."""
        raise NotImplementedError

    def facts(self) -> InputFacts:
        """Return what is known about the data."""
        columns = {name: place.facts for name, place in self.packed.places.items()}
        label = None if self.response is None else columns.pop(self.response)
        return InputFacts(
            features=columns,
            label=label,
            rows=self.packed.rows,
            epochs=self.num_epochs,
            global_batch_size=self.batch_size,
            label_range=_label_range(self.packed, label),
        )

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, packed: bool = False
    ) -> InputFunction:
        """Make the function that an Estimator calls for its data."""
        # The function must not hold a description: TensorFlow keeps it on threads of its own.
        columns, batch_size = self.packed, self.batch_size
        order = self.reading_order(purpose, seed)

        def packed_input(input_context: InputContext | None = None) -> Any:
            plan = BatchPlan(columns.rows, order.epochs, batch_size, Shard.of(input_context))
            take_apart = taking_apart(columns, order.label, order.dropped, packed)
            return dataset_of_chunks(columns.layout, _chunks(columns, plan, order.seed), take_apart)

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
