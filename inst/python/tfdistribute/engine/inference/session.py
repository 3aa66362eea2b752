"""Graphs and sessions of evaluations and predictions."""

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from tfdistribute.engine.hooks import step_requirements
from tfdistribute.engine.hooks.recording import ReportBatches
from tfdistribute.engine.inference.fed_rows import FedRows, batches_of
from tfdistribute.engine.r_thread import main_thread_calls
from tfdistribute.engine.step.resident_rows import ResidentRows

v1 = tf.compat.v1

# Limits of a batch: the time around a run does not count in large ones, and their tensors take little memory.
MOST_ROWS = 2**16
MOST_BYTES = 2**22

# An operation that fills a table begins with this.
_READS_FILE = "InitializeTableFromTextFile"


@dataclass(frozen=True)
class InferenceGraph:
    scaffold: Any
    of_batch: Any  # An operation, or tensors by name.
    of_all: Any = None  # After the last batch, by name.
    fed: FedRows | None = None  # None if the graph reads a dataset.
    hooks: Sequence[Any] = ()


class InferenceSession:
    """A session with the weights of a checkpoint, which computes all rows batch by batch.

    Hooks of users see every batch, and R's functions run on R's thread. Without either, a callable is used, which
    takes a third of the time around a run (``bench/batches.py``).
    """

    def __init__(
        self, parts: InferenceGraph, checkpoint: str | None, config: Any, target: str = ""
    ) -> None:
        self.graph = v1.get_default_graph()
        self._parts = parts
        self._reset = v1.local_variables_initializer()
        self._is_used = False
        creator = v1.train.ChiefSessionCreator(
            parts.scaffold, target, config, checkpoint_filename_with_path=checkpoint
        )
        self._monitored = v1.train.MonitoredSession(creator, list(parts.hooks))
        self._session: Any = self._monitored._tf_sess()
        self._reports = [each for each in parts.hooks if isinstance(each, ReportBatches)]
        if self._needs_hooks():
            self._compute, self._reports = self._with_hooks, []
        else:
            self._compute = self._callable()

    @property
    def variable_bytes(self) -> int:
        return sum(
            math.prod(size or 1 for size in each.shape.as_list()) * each.dtype.size
            for each in self.graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
        )

    @property
    def reads_files(self) -> bool:
        types = {operation.type for operation in self.graph.get_operations()}
        return any(each.startswith(_READS_FILE) for each in types)

    def restore(self, checkpoint: str) -> None:
        with self.graph.as_default():
            self._parts.scaffold.saver.restore(self._session, checkpoint)

    def compute(
        self,
        rows: ResidentRows | None,
        report: Callable[[int], Any] | None = None,
        steps: int | None = None,
    ) -> Iterator[Any]:
        """Compute the batches one after another; ``rows`` is None if the graph reads a dataset, ``steps`` for all."""
        if self._is_used:
            self._session.run(self._reset)
        self._is_used = True
        done = 0
        with self._fed_batches(rows) as batches:
            for batch in itertools.islice(batches, steps):
                if self._monitored.should_stop():
                    break
                try:
                    computed = self._compute(*batch)
                except (tf.errors.OutOfRangeError, StopIteration):
                    # As TensorFlow ends an evaluation.
                    break
                done += 1 if rows is None else len(batch[0])
                for each in self._reports:
                    each.note_batch()
                if report is not None:
                    report(done if rows is None else math.ceil(done / rows.batch_size))
                yield computed
        for hook in self._parts.hooks:
            hook.end(self._session)

    def result(self) -> dict[str, Any]:
        return self._session.run(self._parts.of_all)

    def close(self) -> None:
        with self.graph.as_default():
            # The hooks have ended, or must not.
            self._monitored._close_internal(RuntimeError)

    @contextlib.contextmanager
    def _fed_batches(self, rows: ResidentRows | None) -> Iterator[Iterator[Sequence[Any]]]:
        fed = self._parts.fed
        if fed is None or rows is None:
            yield itertools.repeat(())
            return
        fed.provide(self._session, rows)
        yield batches_of(rows, self._batch_rows)
        fed.release(self._session)

    @property
    def _placeholders(self) -> list[Any]:
        return [] if self._parts.fed is None else self._parts.fed.placeholders

    def _needs_hooks(self) -> bool:
        leaves = tf.nest.flatten(self._parts.of_batch)
        others = (each for each in self._parts.hooks if each not in self._reports)
        return (
            any(step_requirements.of_unknown(each).every_step for each in others)
            or main_thread_calls.serves(self.graph)
            or not all(isinstance(each, (tf.Tensor, tf.Operation)) for each in leaves)
        )

    def _with_hooks(self, *batch: Any) -> Any:
        with self.graph.as_default():
            return self._monitored.run(
                self._parts.of_batch, dict(zip(self._placeholders, batch, strict=True))
            )

    def _callable(self) -> Callable[..., Any]:
        wanted = self._parts.of_batch
        tensors = [] if isinstance(wanted, tf.Operation) else tf.nest.flatten(wanted)
        options = config_pb2.CallableOptions(
            feed=[each.name for each in self._placeholders],
            fetch=[each.name for each in tensors],
            target=[] if tensors else [wanted.name],
        )
        compute = self._session._make_callable_from_options(options)
        if not tensors:
            return compute
        return lambda *batch: tf.nest.pack_sequence_as(wanted, compute(*batch))

    @functools.cached_property
    def _batch_rows(self) -> int:
        widest = 1
        for operation in self.graph.get_operations():
            for tensor in operation.outputs:
                sizes = tensor.shape.as_list() if tensor.shape.rank else []
                if sizes.count(None) == 1:
                    known = [size for size in sizes if size is not None]
                    widest = max(widest, math.prod(known) * tensor.dtype.size)
        return max(1, min(MOST_ROWS, MOST_BYTES // widest))
