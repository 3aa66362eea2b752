"""Columns in memory: data frames, matrices, lists and arrays of R.

The data stays in NumPy, outside TensorFlow's graph: a graph is limited to 2 GB, and is written to the model
directory and to every event file. It crosses into TensorFlow in chunks of many batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy.typing as npt

from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.errors import InputError
from tfdistribute.inputs.chunks import batches_at_once, dataset_of_chunks
from tfdistribute.inputs.description import Input, InputFunction, Purpose
from tfdistribute.inputs.packing import Column, Packed, pack
from tfdistribute.inputs.unpacking import taking_apart
from tfdistribute.sharding import BatchPlan, InputContext, RowOrder, Shard


@dataclass(frozen=True, eq=False)
class InMemory(Input, kind="in_memory"):
    """Columns of equal length.

    The columns are copied when the description is read, on the thread that reads it, into the one copy that
    training uses. Their functions are not kept: arrays that belong to R may not be released on other threads.

    Args:
        columns: Features and response.
        response: Name of the column that is the label; None: there is none.
        batch_size: Examples of one training step, summed over replicas.
        num_epochs: Passes over the rows; None: without end. Predicting always takes one.
        shuffle: Whether each epoch is shuffled; None: for training only. Predicting never shuffles.
        seed: Seed of the shuffle; None: the run's.
    """

    columns: tuple[Column, ...]
    response: str | None = None
    batch_size: int = 128
    num_epochs: int | None = 1
    shuffle: bool | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        """Copy the columns and let go of R's arrays."""
        names = [column.name for column in self.columns]
        for name in sorted(set(names)):
            if names.count(name) > 1:
                raise InputError(
                    f"The input has two columns `{name}`.", "Rename one of them.", argument=name
                )
        if self.response is not None and self.response not in names:
            raise InputError(
                f"The response `{self.response}` is no column.",
                "Name a column.",
                argument="response",
            )
        packed = pack(self.columns)
        object.__setattr__(self, "_packed", packed)
        object.__setattr__(self, "columns", ())

    @cached_property
    def _facts(self) -> InputFacts:
        packed = self.packed
        facts = {name: place.facts for name, place in packed.places.items()}
        label = None if self.response is None else facts.pop(self.response)
        return InputFacts(
            features=facts,
            label=label,
            rows=packed.rows,
            epochs=self.num_epochs,
            global_batch_size=self.batch_size,
            label_range=_label_range(packed, label),
        )

    @property
    def packed(self) -> Packed:
        """The one copy of the columns."""
        return cast(Packed, self.__dict__["_packed"])

    def facts(self) -> InputFacts:
        """Say what is known about the data."""
        return self._facts

    def input_fn(self, purpose: Purpose, seed: int | None = None) -> InputFunction:
        """Make the function that an Estimator calls for its data.

        Args:
            purpose: "predict" yields features only, once and in order.
            seed: Seed of the run, where the input does not have its own.

        Returns:
            A function of ``input_context=None`` that returns a ``tf.data.Dataset``.

        Raises:
            ShardingError: by the function, when the batch or the rows do not divide over the replicas.
        """
        # The function must not hold this description: TensorFlow keeps it on threads of its own.
        packed = self.packed
        shuffled = purpose != "predict" and (
            purpose == "train" if self.shuffle is None else self.shuffle
        )
        chosen = self.seed if self.seed is not None else seed
        order_seed = (0 if chosen is None else chosen) if shuffled else None
        epochs = 1 if purpose == "predict" else self.num_epochs
        batch_size, response = self.batch_size, None if purpose == "predict" else self.response
        left_out = self.response if purpose == "predict" else None

        def in_memory_input(input_context: InputContext | None = None) -> Any:
            plan = BatchPlan(packed.rows, epochs, batch_size, Shard.of(input_context))
            take_apart = taking_apart(packed, response, left_out)
            chunks = _chunks(packed, plan, order_seed)
            return dataset_of_chunks(packed.layout, chunks, take_apart)

        return in_memory_input


def _label_range(packed: Packed, label: ColumnFacts | None) -> tuple[float, float] | None:
    numbers = None if label is None else packed.numbers(label.name)
    return None if numbers is None else (float(numbers.min()), float(numbers.max()))


def _chunks(
    packed: Packed, plan: BatchPlan, seed: int | None
) -> Callable[[], Iterator[tuple[npt.NDArray[Any], ...]]]:
    batches = batches_at_once(packed.row_bytes * plan.replica_batch_size)

    def chunks() -> Iterator[tuple[npt.NDArray[Any], ...]]:
        order = RowOrder(packed.rows, seed)
        for positions in plan.chunks(batches):
            yield packed.gather(order.at(positions))

    return chunks
