"""User functions that return one batch at a time."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from tfdistribute import engine
from tfdistribute.columns import AcceptedValues, InputFacts, ReadTypes
from tfdistribute.descriptions.constraints import Count, Fact, Text
from tfdistribute.errors import CallbackError, InputError
from tfdistribute.inputs.description import Input, InputFunction, Purpose, ReadingOrder, ShardOrder
from tfdistribute.inputs.packed.chunks import make_unpack
from tfdistribute.inputs.packed.packing import Column, PackedColumns, pack, read_as
from tfdistribute.sharding import InputContext, Shard, batch_bounds, split


@dataclass(frozen=True)
class Generator(Input, kind="generator"):
    """Batches from a function, one per training step over all replicas.

    The functions run on the thread that called the verb, which is R's. A few batches are read ahead of training.
    ``begin`` returns True if the data starts again, False if it has only one pass and continues. ``next_batch`` returns
    None after the last batch of the pass, or a mapping: ``columns`` (a list of the fields of Column, with the values
    themselves); ``problem``, ``remedy`` and ``argument`` if a batch is unusable; or ``interrupted`` if the user
    interrupted the function.

    Args:
        response: A string that names the column to learn. NULL without a response, as for predicting.
        epochs: Passes over the data, a count. NULL repeats forever, for training with `steps`. Values other than 1
            require that `fn` returns functions. Prediction uses one pass.
    """

    begin: Annotated[Callable[[], Any], Fact.INTERNAL]
    next_batch: Annotated[Callable[[], Any], Fact.INTERNAL]
    response: Text | None = None
    epochs: Count | None = 1

    @cached_property
    def _batches(self) -> "_Batches":
        return _Batches(self)

    @cached_property
    def _served(self) -> Any:
        return engine.r_thread.ServedFunction(self._batches.next_for)

    def facts(self) -> InputFacts:
        columns = self._batches.first.layout.facts
        label = None if self.response is None else columns.pop(self.response)
        return InputFacts(features=columns, label=label, epochs=self.epochs)

    def accepting(self, accepted: AcceptedValues) -> "Generator":
        self._batches.accept(accepted)
        return self

    def reading(self, types: ReadTypes) -> "Generator":
        self._batches.types = types
        return self

    def shard_order(self) -> ShardOrder:
        """Return "turns": pipelines alternate, and each calls the functions for all of them."""
        return "turns"

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Call the functions on this thread while TensorFlow reads the input.

        A CallbackError or InputError of the functions replaces the TensorFlow error that followed. After a
        KeyboardInterrupt, TensorFlow sees the end of the data, so training ends with a checkpoint of its last step.
        """
        self._batches.interrupted = False
        with self._served.serving():
            yield
        if self._batches.interrupted:
            raise KeyboardInterrupt

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, packed: bool = False
    ) -> InputFunction:
        served, batches = self._served, self._batches
        order = ReadingOrder.of(purpose, self.response, self.epochs)

        def generator_input(input_context: InputContext | None = None) -> Any:
            first = batches.first
            next_batch = served.in_graph(engine.tf.compat.v1.get_default_graph())
            shard = Shard.of(input_context)
            unpack = make_unpack(first.layout, order.label, order.dropped, packed)
            return _dataset(first, lambda: _Slices(next_batch, order.epochs, shard), unpack)

        return generator_input


class _BatchInterrupt(KeyboardInterrupt):
    """The user interrupted the function in R. No other code has seen the interrupt."""


class _Batches:
    def __init__(self, source: Generator) -> None:
        self._source = source
        self._number = 0
        self._restarts = False
        self._ahead: PackedColumns | None = None
        self._passes_left: int | None = 0
        self._accepted: AcceptedValues = ()
        self.types: ReadTypes = {}
        self.interrupted = False

    @cached_property
    def first(self) -> PackedColumns:
        batch = self._begin_pass()
        if not self._restarts and self._source.epochs != 1:
            raise InputError(
                "`epochs` must be 1 for a function that returns batches itself: it cannot start again.",
                "Give a function that returns a new function of batches each time it is called.",
            )
        self._ahead = batch
        return batch

    def accept(self, accepted: AcceptedValues) -> None:
        self._accepted = accepted
        self._check(self.first)

    def next_for(self, epochs: int | None) -> PackedColumns | None:
        try:
            return self._next(epochs)
        except _BatchInterrupt:
            self.interrupted = True
            return None

    def _next(self, epochs: int | None) -> PackedColumns | None:
        if epochs != 0:
            self._passes_left = epochs
            batch = self._ahead or self._begin_pass()
            self._ahead = None
        else:
            batch = self._read()
        if batch is None:
            if self._passes_left is not None:
                self._passes_left -= 1
            if self._passes_left == 0:
                return None
            batch = self._begin_pass()
        return batch

    def _begin_pass(self) -> PackedColumns:
        self._restarts = bool(self._call(self._source.begin, self._number + 1))
        batch = self._read()
        if batch is not None:
            return batch
        if self._restarts or self._number == 1:
            raise InputError(
                "The generator ended before its first batch.",
                "Return at least one batch before the end.",
                argument="generator",
            )
        raise InputError(
            "The generator has ended and cannot start again.",
            "Give a function that returns a new function of batches each time it is called.",
            argument="generator",
        )

    def _read(self) -> PackedColumns | None:
        self._number += 1
        answer = self._call(self._source.next_batch, self._number)
        if answer is None:
            return None
        if answer.get("interrupted"):
            raise _BatchInterrupt
        if answer.get("problem") is not None:
            raise self._refusal(
                str(answer["problem"]), answer.get("remedy"), answer.get("argument")
            )
        given = [_column(fields) for fields in answer["columns"]]
        columns = read_as(given, self.types, self._source.response)
        if "first" in self.__dict__:
            columns = self._as_in_first(columns)
        try:
            batch = pack(columns)
        except InputError as error:
            raise self._refusal(error.problem, error.remedy, error.argument) from None
        self._check(batch)
        return batch

    def _check(self, batch: PackedColumns) -> None:
        try:
            batch.check(self._accepted)
        except InputError as error:
            raise self._refusal(error.problem, error.remedy, error.argument) from None

    def _call(self, function: Callable[[], Any], number: int) -> Any:
        try:
            return function()
        except Exception as error:
            text = (
                error.text or error.problem
                if isinstance(error, CallbackError)
                else f"{type(error).__name__}: {error}"
            )
            raise CallbackError(
                f"The generator failed at batch {number}: {text}",
                "Correct the function that returns the batches.",
            ) from error

    def _as_in_first(self, columns: list[Column]) -> list[Column]:
        given = {column.name: column for column in columns}
        known = self.first.layout.facts
        for name in [*known, *given]:
            if name not in given:
                raise self._refusal(
                    f"The column `{name}` of the first batch is missing.", argument=name
                )
            if name not in known:
                raise self._refusal(
                    f"There is a column `{name}`, which the first batch does not have.",
                    argument=name,
                )
            new, old = given[name].facts, known[name]
            for what in ("type", "shape", "levels"):
                here, there = getattr(new, what), getattr(old, what)
                if here != there:
                    raise self._refusal(
                        f"The column `{name}` has {what} {_show(here)}, in the first batch {_show(there)}.",
                        argument=name,
                    )
        return [given[name] for name in known]

    def _refusal(
        self, problem: str, remedy: str | None = None, argument: str | None = None
    ) -> InputError:
        return InputError(
            f"Batch {self._number} cannot be used: {problem}",
            remedy or "Return the same columns, of the same types, in every batch.",
            argument=argument or "generator",
        )


def _column(fields: Mapping[str, Any]) -> Column:
    values, shape, levels = fields["values"], fields.get("shape") or (), fields.get("levels")
    shape = (shape,) if isinstance(shape, (int, float)) else shape
    levels = (levels,) if isinstance(levels, str) else levels
    return Column(
        name=fields["name"],
        type=fields["type"],
        values=lambda: values,
        shape=tuple(int(size) for size in shape),
        levels=None if levels is None else tuple(levels),
    )


def _show(value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, tuple):
        return " x ".join(map(str, value)) if isinstance(value[0], int) else ", ".join(value)
    return str(value)


class _Slices(Iterator[Any]):
    """Iterator of the replicas' batches, called on TensorFlow's threads; holds no R object.

    After ``next_batch`` fails, each call fails again, because the served function does. A Python generator would end
    instead, and with several replicas TensorFlow would sometimes treat its end as the end of the data.
    """

    def __init__(self, next_batch: Callable[..., Any], epochs: int | None, shard: Shard) -> None:
        self._next_batch = next_batch
        self._epochs = epochs
        self._shard = shard
        self._number = 0
        self._waiting: list[Any] = []
        self._ended = False

    def __next__(self) -> Any:
        while not self._waiting:
            batch: PackedColumns | None = None
            if not self._ended:
                batch = self._next_batch(self._epochs if self._number == 0 else 0)
            if batch is None:
                self._ended = True
                raise StopIteration
            if (
                not self._shard.in_turns
                or self._number % self._shard.pipelines == self._shard.pipeline
            ):
                self._waiting = self._cut(batch)
            self._number += 1
        return self._waiting.pop(0)

    def _cut(self, batch: PackedColumns) -> list[Any]:
        sizes, tables = split(batch.rows, self._shard.replicas), tuple(batch.layout.tables.values())
        bounds = [(replica, *batch_bounds(sizes, replica)) for replica in self._shard.own_replicas]
        return [
            (tuple(matrix[first:last] for matrix in batch.matrices), tables, sizes[replica])
            for replica, first, last in bounds
        ]


def _dataset(
    first: PackedColumns, slices: Callable[[], Iterator[Any]], unpack: Callable[..., Any]
) -> Any:
    tf = engine.tf
    signature = (
        tuple(
            tf.TensorSpec([None, matrix.shape[1]], tf.dtypes.as_dtype(matrix.dtype))
            for matrix in first.matrices
        ),
        tuple(tf.TensorSpec([None], tf.string) for _ in first.layout.tables),
        tf.TensorSpec([], tf.int32),
    )

    def element(matrices: Any, tables: Any, rows: Any) -> Any:
        return engine.step.replica_scale.with_rows(unpack(matrices, tables), rows)

    batches = tf.data.Dataset.from_generator(slices, output_signature=signature)
    # AutoGraph has nothing to convert here, and is slow to find that out.
    columns = batches.map(tf.autograph.experimental.do_not_convert(element))
    # R prepares the next batch while TensorFlow trains.
    return engine.repairs.dataset_tuning.without_autotuning(columns.prefetch(1))
