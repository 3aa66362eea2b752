"""Copies of an existing Estimator under another run configuration."""

from __future__ import annotations

from typing import Any

from tfdistribute.models import Wrapped
from tfdistribute.run_config import RunSettings
from tfdistribute.training.preparation import prepare_estimator


def distribute(estimator: Any, settings: RunSettings, *, calls_r: bool = False) -> Any:
    """Copy an Estimator under a run configuration, with this package's repairs.

    The copy is a ``tf.estimator.Estimator`` for any code that uses one. It continues from the checkpoints of the
    original.

    Args:
        estimator: A ``tf.estimator.Estimator``; it is not changed.
        settings: The run configuration; without a model_dir the copy keeps the original's.
        calls_r: Whether the model may call R functions; replicas then run on the calling thread.

    Raises:
        ArgumentError: estimator is not an Estimator.
        RunConfigError: a rule of the preflight table refuses the settings.
        StrategyError: a device does not exist.
        UnsupportedError: the model cannot be distributed.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/RunConfig
    """
    model_dir = settings.model_dir or getattr(estimator, "model_dir", "")
    model = Wrapped(model_dir, estimator, keeps_config=False, calls_r=calls_r)
    return prepare_estimator("train_and_evaluate", model, settings)
