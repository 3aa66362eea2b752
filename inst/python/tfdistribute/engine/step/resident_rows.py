"""The pass `resident_rows`: steps gather rows in memory by their numbers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tfdistribute.engine.hooks import step_requirements
from tfdistribute.engine.step import passes

raw = tf.raw_ops

RowNumbers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class ResidentRows:
    """All rows in memory, which an input function returns in place of a dataset.

    Args:
        matrices: Arrays of shape [rows, columns], which TensorFlow reads where they are.
        tables: The strings behind codes.
        unpack: TensorFlow function of (matrices, tables) of one batch that returns (features, labels) or features.
        row_numbers: Starts an iterator over the row numbers of batches: arrays of shape [batches, examples] and type
            ``numbers_dtype``.
        batch_size: Examples of a full batch.
        replicas: Batches of one step.
        as_dataset: Makes a ``tf.data.Dataset`` of the same batches.
        signature: All that a batch depends on besides its values, compared by equality.
        any_batch_size: Whether batches may have any other size.
        uneven_step: A step whose rows do not divide over the replicas of all workers: its number from 0, and the scale
            (``replica_scale``) of each replica of this worker.
    """

    matrices: Sequence[npt.NDArray[Any]]
    tables: Sequence[npt.NDArray[np.object_]]
    unpack: Callable[..., Any]
    row_numbers: Callable[[], Iterator[RowNumbers]]
    batch_size: int
    replicas: int
    as_dataset: Callable[[], Any]
    signature: Any = None
    any_batch_size: bool = False
    uneven_step: tuple[int, tuple[float, ...]] | None = None

    @property
    def numbers_dtype(self) -> Any:
        return np.int32 if len(self.matrices[0]) <= np.iinfo(np.int32).max else np.int64


def can_gather(estimator: Any, mode: str) -> bool:
    """Return whether the steps of an Estimator gather rows in memory, and no dataset feeds them."""
    # Parameter servers would hold the rows, because TensorFlow keeps them as variables; TPUs are fed by datasets.
    on_tpus = "TPU" in type(estimator._config.train_distribute).__name__
    if estimator._config.num_ps_replicas > 0 or on_tpus or not passes.is_on("resident_rows"):
        return False
    return mode == tf.estimator.ModeKeys.TRAIN


# The collection of a graph that holds the matrices of a batch, by replica.
BATCH = "resident_rows/batch"


class BatchCursor:
    """Row numbers of the steps that are still to come."""

    def __init__(self, rows: ResidentRows) -> None:
        self._rows = rows
        self._replicas = rows.replicas
        self.restart()

    def restart(self) -> None:
        self._chunks = self._rows.row_numbers()
        self._ahead: list[RowNumbers] = []
        self._step = 0

    def next_step(self) -> list[RowNumbers]:
        """Return the row numbers of the next step, by replica; StopIteration if none are left."""
        batches = [self._next_batch() for _ in range(self._replicas)]
        self._step += 1
        return batches

    def scales(self) -> list[np.float32]:
        """Return the scales of the step that was taken last; empty if all steps divide."""
        step, scales = self._rows.uneven_step or (None, ())
        return [np.float32(each if self._step - 1 == step else 1.0) for each in scales]

    def full_steps(self, most: int) -> int:
        """Return how many steps of full batches come next, at most ``most``."""
        steps = 0
        if self._rows.uneven_step is not None:
            # Its batches may be as large as others, for example of one row.
            most = min(most, max(0, self._rows.uneven_step[0] - self._step))
        for chunk in self._ahead:
            if not self._is_full(chunk):
                return steps
            steps += len(chunk) // self._replicas
        while steps < most:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._ahead.append(chunk)
            if not self._is_full(chunk):
                break
            steps += len(chunk) // self._replicas
        return min(steps, most)

    def show(self, steps: int) -> list[RowNumbers]:
        """Return the row numbers of as many full steps, of shape [steps, examples], by replica."""
        wanted, parts = steps * self._replicas, list[RowNumbers]()
        for chunk in self._ahead:
            if wanted > 0:
                parts.append(chunk[:wanted])
                wanted -= len(chunk)
        batches = np.concatenate(parts)
        return [batches[replica :: self._replicas] for replica in range(self._replicas)]

    def advance(self, steps: int) -> None:
        """Leave out as many full steps, which have been taken."""
        self._step += steps
        batches = steps * self._replicas
        while batches > 0:
            chunk = self._ahead.pop(0)
            if len(chunk) > batches:
                self._ahead.insert(0, chunk[batches:])
            batches -= len(chunk)

    def _next_batch(self) -> RowNumbers:
        chunk = self._ahead.pop(0) if self._ahead else next(self._chunks)
        if len(chunk) > 1:
            self._ahead.insert(0, chunk[1:])
        return chunk[0]

    def _is_full(self, chunk: RowNumbers) -> bool:
        return chunk.shape[1] == self._rows.batch_size and len(chunk) % self._replicas == 0


class RowReader(tf.estimator.SessionRunHook):
    """The batch of a step in the graph, read by one operation, and the same rows for a loop of many steps.

    Every evaluation of the ``batch``, of tensors by replica, takes the rows of the next step.
    """

    required_steps = step_requirements.no_steps_required

    def __init__(self, rows: ResidentRows) -> None:
        self.rows = rows
        self.cursor = BatchCursor(rows)
        with tf.device("/cpu:0"), tf.name_scope("resident_rows"):
            self._tables = [_session_array(table) for table in rows.tables]
            self._matrices = [_session_array(matrix) for matrix in rows.matrices]
            dtypes = [each.dtype for each in self._matrices] * rows.replicas
            scales = [tf.float32] * len(self.cursor.scales())
            self.batch = tf.numpy_function(self._next_batch, [], dtypes + scales)
        for each in self.batch:
            tf.compat.v1.add_to_collection(BATCH, each)
        width, count = len(rows.matrices), len(dtypes)
        batches = [self.batch[first : first + width] for first in range(0, count, width)]
        # Of the replicas, by which their means are multiplied; empty if all are 1.
        self.scales = self.batch[count:]
        for scale in self.scales:
            scale.set_shape([])
        for batch in batches:
            for tensor, matrix in zip(batch, rows.matrices, strict=True):
                tensor.set_shape([None, matrix.shape[1]])
        self._unread = iter(batches)

    def next_element(self) -> Any:
        """Return what the unpacking function returns, for the first replica, then for the second, and so on."""
        with tf.device("/cpu:0"):
            return self.rows.unpack(
                next(self._unread), tuple(map(SessionArray.value, self._tables))
            )

    def placeholders(self) -> list[Any]:
        """Return placeholders for the row numbers of a run, of shape [steps, examples], by replica.

        Their size is unknown, as in a step outside the loop: TensorFlow computes with a known size in another way, such
        as times 1/7 in place of by 7, and rounds otherwise.
        """
        dtype = self.rows.numbers_dtype
        return [tf.compat.v1.placeholder(dtype, [None, None]) for _ in range(self.rows.replicas)]

    def gather(self, numbers: Sequence[Any], step: Any) -> dict[str, Any]:
        """Return, by name, what ``batch`` is in one step of a run."""
        matrices = [each.value() for each in self._matrices]
        chosen = [tf.gather(each, step) for each in numbers]
        batch = [tf.gather(matrix, each) for each in chosen for matrix in matrices]
        # A run has only steps of full batches.
        batch += [tf.constant(1.0)] * len(self.scales)
        return {each.name: value for each, value in zip(self.batch, batch, strict=True)}

    def after_create_session(self, session: Any, coord: Any) -> None:
        provide(
            session,
            [*self._tables, *self._matrices],
            [*self.rows.tables, *self.rows.matrices],
        )
        self.cursor.restart()

    def _next_batch(self) -> list[Any]:
        step = self.cursor.next_step()
        return [
            np.take(matrix, numbers, axis=0) for numbers in step for matrix in self.rows.matrices
        ] + self.cursor.scales()


class SessionArray:
    """A variable of a session that holds an array without a copy of it; None in ``shape`` for any size."""

    def __init__(self, dtype: Any, shape: Sequence[int | None]) -> None:
        self.dtype = dtype
        self._shape = shape
        # No variable of a model has such a name.
        name = f"tfdistribute/{tf.compat.v1.get_default_graph().unique_name('resident')}"
        self._variable = raw.VarHandleOp(dtype=dtype, shape=shape, shared_name=name)
        # TensorFlow shares the memory of arrays that are fed, if they are aligned.
        self.fed = tf.compat.v1.placeholder(dtype, shape)
        self.provided = raw.AssignVariableOp(resource=self._variable, value=self.fed)

    def value(self) -> Any:
        value = raw.ReadVariableOp(resource=self._variable, dtype=self.dtype)
        value.set_shape(self._shape)
        return value


def provide(
    session: Any, variables: Sequence[SessionArray], arrays: Sequence[npt.NDArray[Any]]
) -> None:
    # In one run, because TensorFlow prepares each other set of operations for itself.
    fed = {each.fed: array for each, array in zip(variables, arrays, strict=True)}
    session.run([each.provided for each in variables], fed)


def _session_array(array: npt.NDArray[Any]) -> SessionArray:
    dtype = tf.string if array.dtype == object else tf.dtypes.as_dtype(array.dtype)
    return SessionArray(dtype, array.shape)
