"""Root of the model descriptions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistribute.callbacks import Callback
from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.descriptions import Description
from tfdistribute.errors import UnsupportedError
from tfdistribute.models.feature_columns.description import FeatureRequirement
from tfdistribute.models.serving import tensors_receiver

LOSS_REDUCTIONS = ("sum_over_batch_size", "sum")

# Makes session hooks from hooks (descriptions or TensorFlow's objects) and a mode.
MakeHooks = Callable[[Sequence[Any], str], list[Any]]


@dataclass(frozen=True)
class Model(Description):
    """What is trained, and where its checkpoints are.

    Args:
        model_dir: Directory of the model's checkpoints.
    """

    model_dir: str

    def build(self, config: Any) -> Any:
        """Make the Estimator.

        Args:
            config: A ``tf.estimator.RunConfig``.

        Returns:
            A ``tf.estimator.Estimator``.
        """
        raise NotImplementedError

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        """Check that data and model fit, before TensorFlow starts, as far as the data is known.

        Args:
            facts: What is known about the input.
            needs_label: Whether the verb uses labels; False for predict.

        Raises:
            InputError: a feature or the label is missing, or has a type or shape that the model cannot use.
        """
        raise NotImplementedError

    def structure(self) -> dict[str, Any]:
        """Describe what a checkpoint of the model holds.

        Returns:
            A JSON-ready mapping. Its ``optimizer`` matters for training only: evaluation and prediction work with
            any optimizer.
        """
        raise NotImplementedError

    def serving_input_receiver_fn(
        self, features: Mapping[str, ColumnFacts] | None = None
    ) -> Callable[[], Any]:
        """Make the function that turns a request to an exported model into features.

        By default a request holds a tensor for each feature that the model was trained on. Models with feature
        columns read serialised ``tf.train.Example`` messages.

        Args:
            features: The features that the model was trained on; None if not known.

        Returns:
            A function without arguments that returns a ``ServingInputReceiver``.

        Raises:
            UnsupportedError: the features are not known.
        """
        if features is None:
            raise UnsupportedError(
                "The features of a request are not known: the model was trained on a function's dataset.",
                "Give `input`, an input_fn() with the features, or `serving_input_receiver_fn`.",
                argument="input",
                value="NULL",
            )
        return tensors_receiver(features)

    def required_features(self) -> tuple[FeatureRequirement, ...]:
        """List the features that the model reads, and what they must hold."""
        return ()

    def complete_from_input(self, facts: InputFacts) -> Model:
        """Fill in what the user left to the data, such as the names of classes.

        Args:
            facts: What is known about the input that the model is trained or evaluated on.

        Returns:
            The completed model; this one if nothing was missing.
        """
        del facts
        return self

    def complete_from_signature(self, signature: Mapping[str, Any] | None) -> Model:
        """Fill in what the training took from its data.

        Args:
            signature: The stored ``structure()`` of the trained model; None if it was not stored.

        Returns:
            The completed model; this one if nothing was missing.
        """
        del signature
        return self

    def with_session_hooks(self, make: MakeHooks) -> Model:
        """Use a function to make session hooks from the hooks that the model itself describes.

        Args:
            make: Makes the hooks of one mode.

        Returns:
            A model; this one if it describes no hooks.
        """
        del make
        return self

    def is_v1_canned(self) -> bool:
        """Return whether the Estimator is one of tf.compat.v1.estimator's canned models."""
        return False

    def has_callbacks(self) -> bool:
        """Return whether TensorFlow calls R functions while it builds the model's graph."""
        return _holds_callback(self)


def _holds_callback(value: Any) -> bool:
    if isinstance(value, Callback):
        return True
    if isinstance(value, Mapping):
        # An R function arrives as a mapping with a `call`.
        return callable(value.get("call")) or any(_holds_callback(item) for item in value.values())
    if isinstance(value, (tuple, list)):
        return any(_holds_callback(item) for item in value)
    if isinstance(value, Description) and dataclasses.is_dataclass(value):
        return any(_holds_callback(getattr(value, part.name)) for part in dataclasses.fields(value))
    return False
