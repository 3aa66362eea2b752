"""Columns in memory, R data frames, matrices, lists and arrays, and the base class of inputs with packed columns.

The data stays in NumPy, outside TensorFlow's graph. A graph is limited to 2 GB, and is written to the model
directory and to every event file. The data enters TensorFlow in chunks of many batches.

The process that starts a job packs the data once into memory-mapped files, and all tasks share the pages that the
system caches. A directory holds ``columns.json`` (the columns and the strings behind codes) and one ``matrix-<i>.npy``
per dtype. No file contains code.
"""

import copy
import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.columns import AcceptedValues, ColumnFacts, InputFacts, ReadTypes, by_name
from tfdistribute.descriptions.constraints import PLACE, MayDiffer
from tfdistribute.errors import InputError
from tfdistribute.files import read_json
from tfdistribute.inputs.description import (
    ComputeCodes,
    InputFunction,
    Purpose,
    ReadingOrder,
    RowInput,
    ShardOrder,
)
from tfdistribute.inputs.packed.chunks import dataset_of_chunks, make_unpack
from tfdistribute.inputs.packed.layout import Layout, Matrices
from tfdistribute.inputs.packed.packing import Column, PackedColumns, check_names, pack, read_as
from tfdistribute.sharding import BatchPlan, InputContext, RowOrder, Shard
from tfdistribute.task_events import JOB

COLUMNS = "columns.json"
# Row numbers that are looked up at once.
ROW_NUMBERS = 2**16


@dataclass(frozen=True, eq=False)
class PackedInput(RowInput):
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
            epochs=self.epochs,
            global_batch_size=self.batch_size,
            label_range=None if label is None else self.packed.range(label.name),
            values=lambda name: self.packed.values(name, slice(None)),
        )

    def content(self) -> Mapping[str, Any]:
        return {**super().content(), "values": self.packed.checksum()}

    def accepting(self, accepted: AcceptedValues) -> "PackedInput":
        self.packed.check(accepted)
        return self

    def with_codes(self, compute: ComputeCodes) -> "PackedInput":
        codes = compute(self.packed.rows, self.packed.values, self.response)
        return self.of(self.packed.with_columns(codes))

    def reading(self, types: ReadTypes) -> "PackedInput":
        # Digits that the columns lack cannot come back.
        packed = self.packed.narrow(by_name(types, self.response))
        return self if packed is self.packed else self.of(packed)

    def subset(self, rows: npt.NDArray[np.integer[Any]]) -> "PackedInput":
        return self.of(self.packed.subset(rows))

    def of(self, packed: PackedColumns) -> "PackedInput":
        # Not dataclasses.replace(), which would read the rows again.
        made = copy.copy(self)
        object.__setattr__(made, "packed", packed)
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
    shard = Shard.of(context)
    plan = BatchPlan(columns.rows, order.epochs, batch_size, shard, order.first, order.done)
    unpack = make_unpack(layout, order.label, order.dropped, packed)
    full = (plan.full_steps or 0) * len(plan.shard.own_replicas)
    return engine.step.resident_rows.ResidentRows(
        columns.matrices,
        tuple(layout.tables.values()),
        unpack,
        _row_numbers(columns, plan, order.seed),
        plan.replica_batch_size,
        len(plan.shard.own_replicas),
        lambda: engine.step.replica_scale.count_last(
            dataset_of_chunks(
                layout,
                layout.tensor_row_bytes * plan.replica_batch_size,
                lambda batches: _chunks(columns, plan, order.seed, batches),
                unpack,
            ),
            *(plan.replica_batch_size, full, plan.last_batches),
        ),
        (
            layout.dtypes,
            layout.widths,
            layout.slots,
            tuple(layout.tables),
            order.label,
            order.dropped,
        ),
        uneven_step=plan.uneven_step,
    )


def _chunks(
    columns: PackedColumns, plan: BatchPlan, seed: int | None, batches: int
) -> Iterator[Matrices]:
    order = RowOrder(columns.rows, seed)
    for positions in plan.chunks(batches):
        yield columns.gather(order.at(positions))


def _row_numbers(
    columns: PackedColumns, plan: BatchPlan, seed: int | None
) -> Callable[[], Iterator[npt.NDArray[np.integer[Any]]]]:
    batches = max(1, ROW_NUMBERS // plan.replica_batch_size)
    dtype = np.int32 if len(columns.matrices[0]) <= np.iinfo(np.int32).max else np.int64

    def row_numbers() -> Iterator[npt.NDArray[np.integer[Any]]]:
        order = RowOrder(columns.rows, seed)
        for positions in plan.chunks(batches):
            yield columns.places(order.at(positions)).astype(dtype, copy=False)

    return row_numbers


@dataclass(frozen=True, eq=False)
class InMemory(PackedInput, kind="in_memory"):
    """Columns of equal length.

    The columns are copied once, when they are first needed, on the thread that called the verb; training uses that
    copy. The column functions are then dropped, because arrays that belong to R must not be released on other threads.
    """

    columns: Annotated[tuple[Column, ...], MayDiffer("The values are compared by a checksum.")]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.columns, self.response)

    @cached_property
    def packed(self) -> PackedColumns:
        packed = pack(self.columns)
        object.__setattr__(self, "columns", ())
        return packed

    def reading(self, types: ReadTypes) -> PackedInput:
        if not self.columns:
            return super().reading(types)
        columns = tuple(read_as(self.columns, types, self.response))
        return self if columns == self.columns else replace(self, columns=columns)

    def with_missing(self) -> PackedInput:
        doubles: ReadTypes = {each.name: "double" for each in self.columns}
        return self.reading({name: each for name, each in doubles.items() if name != self.response})


@dataclass(frozen=True, eq=False)
class Mapped(PackedInput, kind="mapped"):
    directory: Annotated[str, PLACE]  # In the tasks of a job, relative to its private directory.

    @cached_property
    def packed(self) -> PackedColumns:
        return map_packed(os.path.join(os.environ.get(JOB, ""), self.directory))


def write_packed(
    columns: Sequence[Column],
    directory: str,
    response: str | None = None,
    types: ReadTypes | None = None,
) -> int:
    """Pack columns into files without a second copy in memory; return the bytes. InputError if the disk is full.

    ``types`` are as in ``Input.reading``. Data without rows is an InputError, too.
    """
    check_names(columns, response)
    columns = read_as(columns, types or {}, response)
    os.mkdir(directory, 0o700)
    packed = pack(columns, lambda layout, rows: _empty_files(layout, rows, directory))
    for matrix in packed.matrices:
        if isinstance(matrix, np.memmap):
            matrix.flush()
    tables = {name: [str(text) for text in table] for name, table in packed.layout.tables.items()}
    description = {
        "rows": packed.rows,
        "columns": [asdict(facts) for facts in packed.layout.facts.values()],
        "tables": tables,
    }
    (Path(directory) / COLUMNS).write_text(json.dumps(description), encoding="utf-8")
    return sum(matrix.nbytes for matrix in packed.matrices)


def map_packed(directory: str) -> PackedColumns:
    try:
        description: Any = read_json(os.path.join(directory, COLUMNS))
        tables = {
            name: np.array(texts, dtype=object) for name, texts in description["tables"].items()
        }
        columns = [ColumnFacts.from_values(column) for column in description["columns"]]
        layout = Layout.of(columns, tables)
        rows = int(description["rows"])
        # Use plain arrays: slicing a memmap costs a microsecond more.
        matrices = tuple(
            np.asarray(np.load(_matrix(directory, index), mmap_mode="r"))
            for index in range(len(layout.dtypes))
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(directory, str(error)) from error
    expected = [
        ((rows, width), dtype) for width, dtype in zip(layout.widths, layout.dtypes, strict=True)
    ]
    if [(matrix.shape, matrix.dtype) for matrix in matrices] != expected:
        raise _unreadable(directory, "its matrices do not match its columns")
    return PackedColumns(matrices, layout)


def _empty_files(layout: Layout, rows: int, directory: str) -> Matrices:
    InputFacts(rows=rows).check_rows()
    return tuple(
        _empty_file(_matrix(directory, index), (rows, width), dtype)
        for index, (width, dtype) in enumerate(zip(layout.widths, layout.dtypes, strict=True))
    )


def _empty_file(path: str, shape: tuple[int, int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    matrix = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    reserve = getattr(os, "posix_fallocate", None)
    if reserve is None:
        return matrix
    # Reserve the space now: writing to a mapped page on a full disk kills the process (SIGBUS).
    descriptor = os.open(path, os.O_RDWR)
    try:
        reserve(descriptor, 0, os.fstat(descriptor).st_size)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        raise InputError(
            f'"{os.path.dirname(path)}" has no space for the data, which takes {matrix.nbytes / 2**20:.0f} MB.',
            "Free space there, or set TMPDIR to a directory on another disk before R starts.",
        ) from error
    finally:
        os.close(descriptor)
    return matrix


def _matrix(directory: str, index: int) -> str:
    return os.path.join(directory, f"matrix-{index}.npy")


def _unreadable(directory: str, reason: str) -> InputError:
    return InputError(
        f'The packed data in "{directory}" cannot be read: {reason}.',
        "Start the job again: its data lasts as long as the job.",
        argument="directory",
        value=directory,
    )
