"""Base class of inputs with packed columns in memory."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.columns import AcceptedValues, InputFacts
from tfdistribute.inputs.description import (
    ComputeCodes,
    InputFunction,
    Purpose,
    ReadingOrder,
    RowInput,
    ShardOrder,
)
from tfdistribute.inputs.packed.chunks import batches_per_chunk, dataset_of_chunks
from tfdistribute.inputs.packed.layout import Matrices
from tfdistribute.inputs.packed.packing import PackedColumns
from tfdistribute.inputs.packed.unpacking import make_unpack
from tfdistribute.sharding import BatchPlan, InputContext, RowOrder, Shard

# Row numbers that are looked up at once.
ROW_NUMBERS = 2**16


@dataclass(frozen=True, eq=False)
class PackedInput(RowInput):
    """Rows that can be gathered in any order."""

    @cached_property
    def packed(self) -> PackedColumns:
        raise NotImplementedError

    def facts(self) -> InputFacts:
        columns = self.packed.layout.facts
        label = None if self.response is None else columns.pop(self.response)
        return InputFacts(
            features=columns,
            label=label,
            rows=self.packed.rows,
            epochs=self.num_epochs,
            global_batch_size=self.batch_size,
            label_range=None if label is None else self.packed.range(label.name),
        )

    def content(self) -> Mapping[str, Any]:
        return {**super().content(), "values": self.packed.checksum()}

    def accepting(self, accepted: AcceptedValues) -> PackedInput:
        self.packed.check(accepted)
        return self

    def with_codes(self, compute: ComputeCodes) -> PackedInput:
        """Return the same rows with these columns, which may replace others."""
        codes = compute(self.packed.rows, self.packed.values, self.response)
        # Not dataclasses.replace(), which would read the rows again.
        made = copy.copy(self)
        object.__setattr__(made, "packed", self.packed.extended(codes))
        return made

    def shard_order(self) -> ShardOrder:
        return "turns"

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, packed: bool = False
    ) -> InputFunction:
        # The function must not hold a description: TensorFlow keeps it on its own threads.
        columns, batch_size = self.packed, self.batch_size
        order = self.reading_order(purpose, seed)

        def packed_input(input_context: InputContext | None = None) -> Any:
            rows = _resident_rows(columns, batch_size, order, packed, input_context)
            return rows if packed and purpose != "predict" else rows.as_dataset()

        return packed_input

    def resident_rows(self, purpose: Purpose, seed: int | None = None) -> Any:
        order = self.reading_order(purpose, seed)
        rows = _resident_rows(self.packed, self.batch_size, order, packed=True)
        return replace(rows, any_batch_size=self.any_batch_size)


def _resident_rows(
    columns: PackedColumns,
    batch_size: int,
    order: ReadingOrder,
    packed: bool,
    context: InputContext | None = None,
) -> Any:
    layout = columns.layout
    plan = BatchPlan(columns.rows, order.epochs, batch_size, Shard.of(context))
    unpack = make_unpack(layout, order.label, order.dropped, packed)
    return engine.step.resident_rows.ResidentRows(
        columns.matrices,
        tuple(layout.tables.values()),
        unpack,
        _row_numbers(columns.rows, plan, order.seed),
        plan.replica_batch_size,
        len(plan.shard.own_replicas),
        lambda skipped: dataset_of_chunks(
            layout, _chunks(columns, plan, order.seed, skipped), unpack
        ),
        (
            layout.dtypes,
            layout.widths,
            layout.slots,
            tuple(layout.tables),
            order.label,
            order.dropped,
        ),
    )


def _chunks(
    columns: PackedColumns, plan: BatchPlan, seed: int | None, skipped: int
) -> Callable[[], Iterator[Matrices]]:
    batches = batches_per_chunk(columns.layout.tensor_row_bytes * plan.replica_batch_size)

    def chunks() -> Iterator[Matrices]:
        order = RowOrder(columns.rows, seed)
        for positions in plan.chunks(batches, skipped):
            yield columns.gather(order.at(positions))

    return chunks


def _row_numbers(
    rows: int, plan: BatchPlan, seed: int | None
) -> Callable[[int], Iterator[npt.NDArray[np.integer[Any]]]]:
    batches = max(1, ROW_NUMBERS // plan.replica_batch_size)
    dtype = np.int32 if rows <= np.iinfo(np.int32).max else np.int64

    def row_numbers(skipped: int) -> Iterator[npt.NDArray[np.integer[Any]]]:
        order = RowOrder(rows, seed)
        for positions in plan.chunks(batches, skipped):
            yield order.at(positions).astype(dtype, copy=False)

    return row_numbers
