"""The graph and the session of an evaluation or a prediction that can be repeated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from tfdistribute.engine.many_steps.resident_rows import ResidentRows
from tfdistribute.engine.passes.fed_rows import FedRows
from tfdistribute.engine.repairs import custom_gradients, keras_classes

v1 = tf.compat.v1

# Limits of a batch: the time around a run does not count in large ones, and their tensors take little memory.
MOST_ROWS = 2**16
MOST_BYTES = 2**24

# An operation that fills a table begins with this.
_READS_FILE = "InitializeTableFromTextFile"


@dataclass(frozen=True)
class PassGraph:
    """What a graph computes.

    Args:
        scaffold: The ``Scaffold`` of the model.
        of_batch: What is computed of each batch: an operation, or tensors by name.
        of_all: What is computed after the last batch, by name.
    """

    scaffold: Any
    of_batch: Any
    of_all: Any = None


class RowPass:
    """A session with the weights of a checkpoint, in which all rows are computed batch by batch.

    Args:
        rows: Rows like those of every pass.
        build: Builds the model in the current graph for one batch, as the input function returns it.
        estimator: The Estimator of the model.
        checkpoint: Prefix of the checkpoint.
    """

    def __init__(
        self,
        rows: ResidentRows,
        build: Callable[[Any], PassGraph],
        estimator: Any,
        checkpoint: str,
    ) -> None:
        self.graph = tf.Graph()
        with keras_classes.preserved(), custom_gradients.released(), self.graph.as_default():
            v1.set_random_seed(estimator.config.tf_random_seed)
            self._rows = FedRows(rows)
            self._parts = build(self._rows.element)
            self._begin = v1.local_variables_initializer()
            creator = v1.train.ChiefSessionCreator(
                self._parts.scaffold,
                master=estimator.config.master,
                config=estimator._session_config,
                checkpoint_filename_with_path=checkpoint,
            )
            self._session = creator.create_session()
        self._compute = self._callable()
        self._batch_rows = max(1, min(MOST_ROWS, MOST_BYTES // self._widest_bytes()))

    @property
    def variable_bytes(self) -> int:
        """Bytes of the variables, which stay in memory with the session."""
        return sum(
            math.prod(each.shape.as_list()) * each.dtype.size
            for each in self.graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
        )

    @property
    def reads_files(self) -> bool:
        """Whether the graph reads files, which may change, besides the checkpoint."""
        types = {operation.type for operation in self.graph.get_operations()}
        return any(each.startswith(_READS_FILE) for each in types)

    def restore(self, checkpoint: str) -> None:
        """Read the weights of another checkpoint of the model."""
        with self.graph.as_default():
            self._parts.scaffold.saver.restore(self._session, checkpoint)

    def compute(self, rows: ResidentRows, report: Callable[[int], Any]) -> Iterator[Any]:
        """Compute the batches one after another.

        Args:
            rows: The rows of this pass.
            report: Called with the number of rows after each batch.

        Yields:
            What the graph computes of each.
        """
        self._session.run(self._begin)
        self._rows.provide(self._session, rows)
        done = 0
        for batch in self._rows.batches(rows, self._batch_rows):
            computed = self._compute(*batch)
            done += len(batch[0])
            report(done)
            yield computed
        self._rows.release(self._session)

    def _callable(self) -> Callable[..., Any]:
        """Return a function of a batch that takes less time around the session than ``session.run`` does."""
        wanted = self._parts.of_batch
        tensors = [] if isinstance(wanted, tf.Operation) else tf.nest.flatten(wanted)
        options = config_pb2.CallableOptions(
            feed=[each.name for each in self._rows.placeholders],
            fetch=[each.name for each in tensors],
            target=[] if tensors else [wanted.name],
        )
        compute = self._session._make_callable_from_options(options)
        if not tensors:
            return compute
        return lambda *batch: tf.nest.pack_sequence_as(wanted, compute(*batch))

    def _widest_bytes(self) -> int:
        """Return the bytes of one row of the tensor that takes most memory in a batch."""
        widest = 1
        for operation in self.graph.get_operations():
            for tensor in operation.outputs:
                sizes = tensor.shape.as_list() if tensor.shape.rank else []
                if sizes.count(None) == 1:
                    known = [size for size in sizes if size is not None]
                    widest = max(widest, math.prod(known) * tensor.dtype.size)
        return widest

    def result(self) -> dict[str, Any]:
        """Compute what follows from all batches."""
        return self._session.run(self._parts.of_all)

    def close(self) -> None:
        """Free the memory of the session."""
        self._session.close()
