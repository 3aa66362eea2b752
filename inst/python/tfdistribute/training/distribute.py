"""Give an Estimator that exists another run configuration."""

from __future__ import annotations

from typing import Any

from tfdistribute.models import Wrapped
from tfdistribute.run_config import RunSettings
from tfdistribute.training.preparation import prepare_estimator


def distribute(estimator: Any, settings: RunSettings, *, calls_r: bool = False) -> Any:
    """Copy an Estimator under a run configuration, with this package's repairs in it.

    The copy is TensorFlow's own class: whoever takes an Estimator takes it. It goes on from the checkpoints of the
    original.

    Args:
        estimator: A ``tf.estimator.Estimator``, which stays as it is.
        settings: The run configuration; without a model_dir the copy keeps the original's.
        calls_r: Whether functions of R may be in the model: replicas then stay on the calling thread.

    Returns:
        A ``tf.estimator.Estimator``.

    Raises:
        ArgumentError: estimator is no Estimator.
        RunConfigError: a rule of the preflight table refuses the settings.
        StrategyError: the devices are not there.
        UnsupportedError: the model cannot be distributed.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/RunConfig
    """
    model_dir = settings.model_dir or getattr(estimator, "model_dir", "")
    model = Wrapped(model_dir, estimator, keeps_config=False, calls_r=calls_r)
    return prepare_estimator("train_and_evaluate", model, settings)
