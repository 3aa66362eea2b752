"""Many batches of a prediction in one ``session.run``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tfdistribute.engine.many_steps.runs import StepsPerRun
from tfdistribute.engine.passes.batch_runs import BatchRuns, say_nothing

v1 = tf.compat.v1

# Predictions of a run that are kept: a run ends with the batch that exceeds it.
MOST_BYTES = 2**24


class PredictionRuns(BatchRuns):
    """Predicts batches in a loop, and keeps their predictions until they are taken.

    Args:
        steps_per_run: Batches of one run, or "auto".
        hooks: Hooks of the session; further ones may be added until it begins.
        predictions: What is computed of each batch: tensors by name.
    """

    def __init__(self, steps_per_run: StepsPerRun, hooks: Sequence[Any], predictions: Any) -> None:
        self._predictions = predictions
        self._kept: list[list[npt.NDArray[Any]]] = []
        self._bytes = 0
        self._error: Exception | None = None
        with tf.device("/cpu:0"):
            # A counter that only this object initialises, whatever the model's scaffold does.
            self._batches = v1.Variable(
                np.int64(0), trainable=False, collections=[], use_resource=True
            )
            self._count_alone = v1.assign_add(self._batches, 1).op
            # A loop ends when a loss is not a number: here, when enough is kept.
            is_full = tf.numpy_function(self._keep, tf.nest.flatten(predictions), tf.float64)
            with tf.control_dependencies([is_full]):
                counted = v1.assign_add(self._batches, 1)
        spec = SimpleNamespace(train_op=tf.group(counted), loss=is_full)
        super().__init__(steps_per_run, spec, [list(hooks)], say_nothing)

    def taken(self) -> Iterator[Any]:
        """Iterate over the predictions of the batches since the last one that ``session.run`` returned."""
        kept, self._kept, self._bytes = self._kept, [], 0
        for arrays in kept:
            yield tf.nest.pack_sequence_as(self._predictions, arrays)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Begin with the first batch."""
        session.run(self._batches.initializer)
        super().after_create_session(session, coord)

    def before_run(self, run_context: Any) -> Any:
        """Count the next batch; raise what has ended the last run, after its predictions were taken."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        super().before_run(run_context)
        return tf.estimator.SessionRunArgs(self._count_alone)

    def _take(self, steps: int, run_context: Any) -> None:
        try:
            super()._take(steps, run_context)
        except tf.errors.OpError as error:
            # The end of the input, most often. `session.run` has not yet returned the batch before the run.
            self._error = error

    def _keep(self, *arrays: npt.NDArray[Any]) -> Any:
        # TensorFlow's own memory must not be kept.
        copies = [np.array(each) for each in arrays]
        self._kept.append(copies)
        self._bytes += sum(map(_bytes_of, copies))
        return np.float64(np.nan if self._bytes > MOST_BYTES else 0.0)


def _bytes_of(array: npt.NDArray[Any]) -> int:
    contents = sum(map(sys.getsizeof, array.flat)) if array.dtype == object else 0
    return array.nbytes + contents


def can_keep(predictions: Any) -> bool:
    """Return whether all predictions are dense tensors of values."""
    return all(
        isinstance(each, tf.Tensor) and each.dtype not in (tf.resource, tf.variant)
        for each in tf.nest.flatten(predictions)
    )
