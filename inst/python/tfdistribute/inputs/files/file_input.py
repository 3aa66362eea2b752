"""Base class of file inputs: reading order, and errors from reader threads."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts, InputFacts, show_values
from tfdistribute.descriptions.constraints import PLACE, Expected, Fact, Len, Text
from tfdistribute.errors import InputError
from tfdistribute.inputs.description import InputFunction, Purpose, RowInput, ShardOrder
from tfdistribute.inputs.files.blocks import RowStream, Source
from tfdistribute.inputs.packed.chunks import dataset_of_chunks, make_unpack
from tfdistribute.inputs.packed.layout import Matrices
from tfdistribute.sharding import InputContext, RangePlan, Shard


@dataclass(frozen=True, eq=False)
class FileInput(RowInput):
    """Rows of files; subclasses implement ``_open``, which returns a Source.

    Args:
        paths: Paths of files, strings, or patterns such as `"data/part-*.parquet"`. The paths are on this machine or in
            a bucket, such as `"s3://bucket/data"`; see `vignette("model-dir-in-the-cloud")`. A directory stands for its
            files in the order of their names, without files that begin with `.` or `_`.
        features: Names of the columns to use as features, strings. NULL uses all columns except the response.
    """

    paths: Annotated[tuple[Text, ...], Len(1), PLACE, Fact.PATH]
    features: Annotated[
        Annotated[tuple[Text, ...], Len(1)] | None, Expected("names of columns or NULL", "input")
    ] = None

    def _open(self) -> Source:
        """Find the files and read their schema; called once, if possible without TensorFlow."""
        raise NotImplementedError

    def _make_unpack(
        self, source: Source, label: str | None, dropped: str | None, packed: bool
    ) -> Callable[..., Any]:
        return make_unpack(source.layout, label, dropped, packed)

    def _label_range(self, source: Source) -> tuple[float, float] | None:
        return None

    def _columns(self, source: Source) -> dict[str, ColumnFacts]:
        return source.layout.facts

    @property
    def _is_typed(self) -> bool:
        return True

    def _explain(self, source: Source, error: Exception) -> Exception | None:
        return None

    @cached_property
    def _source(self) -> Source:
        source = self._open()
        if not source.blocks:
            raise InputError(
                f"The files have no rows: {show_values((each.path for each in source.files), 3)}.",
                "Give files with at least one row.",
                argument="paths",
            )
        return source

    @cached_property
    def _failures(self) -> list[Exception]:
        return []

    def facts(self) -> InputFacts:
        source = self._source
        columns = self._columns(source)
        label = None if self.response is None else columns.pop(self.response)
        return InputFacts(
            features=columns,
            label=label,
            rows=sum(block.rows for block in source.blocks),
            epochs=self.epochs,
            global_batch_size=self.batch_size,
            label_range=None if label is None else self._label_range(source),
            typed=self._is_typed,
        )

    def content(self) -> Mapping[str, Any]:
        files = self._source.files
        named = [{"name": os.path.basename(file.path), "bytes": file.size} for file in files]
        shown = named if len(named) > 1 else [{"bytes": file.size} for file in files]
        return {**super().content(), "files": shown}

    def shard_order(self) -> ShardOrder:
        return "ranges"

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, packed: bool = False
    ) -> InputFunction:
        source, failures = self._source, self._failures
        order = self.reading_order(purpose, seed)
        rows = sum(block.rows for block in source.blocks)
        batch_size = self.batch_size
        row_bytes = max(source.row_bytes, source.layout.tensor_row_bytes)

        def file_input(input_context: InputContext | None = None) -> Any:
            shard = Shard.of(input_context)
            plan = RangePlan(rows, order.epochs, batch_size, shard, order.first, order.done)
            dataset = dataset_of_chunks(
                source.layout,
                row_bytes * plan.replica_batch_size,
                lambda batches: _Chunks(source, plan, order.seed, batches, failures),
                self._make_unpack(source, order.label, order.dropped, packed),
            )
            full = (plan.full_steps or 0) * len(plan.shard.own_replicas)
            return engine.step.replica_scale.count_last(
                dataset, plan.replica_batch_size, full, plan.last_batches
            )

        return file_input

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        failures = self._failures
        failures.clear()
        try:
            yield
        except Exception as error:
            # Raise it only once: a later error has another cause.
            first = failures[0] if failures else self._explain(self._source, error)
            failures.clear()
            if first is None or first is error:
                raise
            raise first from error


class _Chunks(Iterator[Any]):
    """Iterator of chunks of batches, called on TensorFlow's threads.

    After an error it keeps raising the same error. A Python generator would end instead, and with several replicas
    TensorFlow would sometimes treat its end as the end of the data.
    """

    def __init__(
        self,
        source: Source,
        plan: RangePlan,
        seed: int | None,
        batches: int,
        failures: list[Exception],
    ) -> None:
        self._open = lambda of: RowStream(source, of, seed)
        self._plan = plan
        self._stream = self._open(plan)
        self._sizes = plan.chunks(batches)
        self._failures = failures
        self._own_failure: Exception | None = None
        self._last_row: Matrices = ()

    def __next__(self) -> Any:
        if self._own_failure is not None:
            raise self._own_failure
        try:
            size = next(self._sizes, None)
            if size is not None:
                if size[1] == 0:
                    if not self._last_row:
                        # The training continues with a last step in which this pipeline has no rows.
                        before = self._open(self._plan.step_before())
                        own = self._plan.replica_batch_size * len(self._plan.shard.own_replicas)
                        self._last_row = tuple(matrix[-1:] for matrix in before.take(own))
                    return tuple(row[np.newaxis] for row in self._last_row)
                rows = self._stream.take(size[0] * size[1])
                self._last_row = tuple(matrix[-1:].copy() for matrix in rows)
                return tuple(matrix.reshape(*size, matrix.shape[1]) for matrix in rows)
            self._stream.finish()
        except Exception as error:
            self._own_failure = error
            self._failures.append(error)
            self._stream.close()
            raise
        raise StopIteration
