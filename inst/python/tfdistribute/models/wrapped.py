"""Estimators that were made elsewhere: by tfestimators, or by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.columns import InputFacts
from tfdistribute.errors import ArgumentError
from tfdistribute.models.description import Model


@dataclass(frozen=True)
class Wrapped(Model, kind="wrapped"):
    """An Estimator that exists already.

    It cannot be sent to another process, and what it reads is not known before TensorFlow runs.

    Args:
        model_dir: Directory of the model's checkpoints.
        estimator: A ``tf.estimator.Estimator``. It stays as it is; verbs use a repaired copy.
        keeps_config: Whether the copy runs under the Estimator's own configuration.
        calls_r: Whether functions of R may be in the model.

    Raises:
        ArgumentError: estimator is none.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator
    """

    estimator: Any = None
    keeps_config: bool = True
    calls_r: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no Estimator."""
        if not engine.existing_estimators.is_estimator(self.estimator):
            shown = type(self.estimator).__name__
            raise ArgumentError(
                f"`object` must be a tf.estimator.Estimator, not {shown}.",
                "Give an Estimator, or an object of tfestimators that holds one.",
                argument="object",
                value=shown,
            )

    def build(self, config: Any) -> Any:
        """Make an Estimator with the same model.

        Args:
            config: A ``tf.estimator.RunConfig``; not used where the Estimator keeps its own.

        Returns:
            A ``tf.estimator.Estimator``.

        Raises:
            UnsupportedError: the model cannot be distributed.
        """
        own = engine.existing_estimators.own_config(self.estimator) if self.keeps_config else config
        return engine.existing_estimators.copy(self.estimator, own, self.calls_r)

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        """See nothing: what the model reads is not known."""

    def structure(self) -> dict[str, Any]:
        """Describe the kind; the model itself cannot be compared."""
        return {"kind": self.kind}

    def is_v1_canned(self) -> bool:
        """Say whether it is one of tf.compat.v1.estimator's ready-made models."""
        return engine.existing_estimators.kind_of(self.estimator) == "v1_canned"

    def has_callbacks(self) -> bool:
        """Say whether functions of R may be in the model."""
        return self.calls_r
