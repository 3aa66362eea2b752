"""What a model exported by an Estimator answers when a request names no signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

DEFAULT = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
PREDICT = "predict"


def answering(estimator: Any, receiver_fn: Callable[[], Any]) -> Callable[[], Any]:
    """Let an export answer every request, whatever the request holds.

    By default a canned classifier answers with classes and scores in the form of TensorFlow Serving, which takes
    serialised examples only. For requests of tensors TensorFlow leaves that answer out, with a line in the log, and
    the export has no default signature. There all predictions are the default.

    Args:
        estimator: A ``tf.estimator.Estimator`` that is used for nothing but this export; changed in place.
        receiver_fn: Function that returns a ``ServingInputReceiver``.

    Returns:
        The function to give to ``estimator.export_saved_model``.

    Source:
        ``build_all_signature_defs`` in tensorflow/python/saved_model/model_utils/export_utils.py.
    """
    call_model_fn = estimator._call_model_fn
    receivers: list[Any] = []

    def receiving() -> Any:
        receivers.append(receiver_fn())
        return receivers[-1]

    def calling(features: Any, labels: Any, mode: Any, config: Any) -> Any:
        spec = call_model_fn(features, labels, mode, config)
        outputs = spec.export_outputs or {}
        if PREDICT in outputs and not _takes_examples(receivers[-1]):
            return spec._replace(export_outputs={**outputs, DEFAULT: outputs[PREDICT]})
        return spec

    estimator._call_model_fn = calling
    return receiving


def _takes_examples(receiver: Any) -> bool:
    tensors = list(receiver.receiver_tensors.values())
    return len(tensors) == 1 and tensors[0].dtype == tf.string
