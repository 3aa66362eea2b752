"""Estimators whose steps gather rows in memory."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow_estimator.python.estimator import estimator as estimator_lib
from tensorflow_estimator.python.estimator import util as estimator_util

from tfdistribute.engine.many_steps.resident_rows import ResidentRows, RowReader


class GatheringEstimator(estimator_lib.Estimator):
    """An Estimator whose input functions may return ``ResidentRows``; it predicts with their dataset."""

    _reader: RowReader | None = None

    def _call_input_fn(self, input_fn: Any, mode: Any, input_context: Any = None) -> Any:
        returned = super()._call_input_fn(input_fn, mode, input_context)
        if not isinstance(returned, ResidentRows):
            return returned
        if not self._can_gather(mode):
            return returned.as_dataset()
        self._reader = RowReader(returned)
        # TensorFlow's strategies call it once for each replica.
        return self._reader.next_element

    def _get_features_and_labels_from_input_fn(self, input_fn: Any, mode: Any) -> Any:
        returned = self._call_input_fn(input_fn, mode)
        hooks = self._reader_hooks()
        if not hooks:
            return estimator_util.parse_input_fn_result(returned)
        return *estimator_util.parse_iterator_result(returned()), hooks

    def _get_iterator_from_input_fn(self, *args: Any, **kwargs: Any) -> Any:
        iterator, hooks = super()._get_iterator_from_input_fn(*args, **kwargs)
        return iterator, hooks + self._reader_hooks()

    def _can_gather(self, mode: Any) -> bool:
        # Parameter servers would hold the rows, because TensorFlow keeps them as variables; TPUs are fed by datasets.
        on_tpus = "TPU" in type(self._config.train_distribute).__name__
        if self._config.num_ps_replicas > 0 or on_tpus:
            return False
        modes = tf.estimator.ModeKeys
        return mode == modes.TRAIN or (mode == modes.EVAL and self._eval_distribution is None)

    def _reader_hooks(self) -> list[Any]:
        hooks = [] if self._reader is None else [self._reader]
        # The rows must not stay in memory after the training.
        self._reader = None
        return hooks
