"""What every model is described by."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistribute.callbacks import Callback
from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.descriptions import Description
from tfdistribute.errors import UnsupportedError
from tfdistribute.models.feature_columns.description import Need
from tfdistribute.models.serving import tensors_receiver

# From hooks (descriptions, TensorFlow's objects) and a mode to session hooks.
MakeHooks = Callable[[Sequence[Any], str], list[Any]]


@dataclass(frozen=True)
class Model(Description):
    """Root of the family: what is trained, and where its checkpoints are.

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
        """See that data and model fit, before TensorFlow starts. What is not known is not checked.

        Args:
            facts: What is known about the input.
            needs_label: Whether the verb uses labels; False for predict.

        Raises:
            InputError: a feature or the label is missing, or of a type or shape that the model cannot use.
        """
        raise NotImplementedError

    def structure(self) -> dict[str, Any]:
        """Describe what a checkpoint of the model holds.

        Returns:
            A JSON-ready mapping. Its ``optimizer`` matters for training only: a checkpoint can be evaluated and used
            for prediction whatever the optimizer.
        """
        raise NotImplementedError

    def serving_input_receiver_fn(
        self, features: Mapping[str, ColumnFacts] | None = None
    ) -> Callable[[], Any]:
        """Make what turns a request to an exported model into features.

        Here a request holds a tensor for each feature that the model was trained on; members with feature columns
        read serialised ``tf.train.Example`` messages.

        Args:
            features: What is known of the features that the model was trained on; None for nothing.

        Returns:
            A function without arguments that returns a ``ServingInputReceiver``.

        Raises:
            UnsupportedError: nothing is known of the features.
        """
        if features is None:
            raise UnsupportedError(
                "What a request holds is not known: the model was trained on a function's dataset.",
                "Give `input`, an input_fn() with the features, or `serving_input_receiver_fn`.",
                argument="input",
                value="NULL",
            )
        return tensors_receiver(features)

    def needed_features(self) -> tuple[Need, ...]:
        """List the features that the model reads, and what they must hold."""
        return ()

    def with_facts(self, facts: InputFacts) -> Model:
        """Fill in what the user left to the data, such as the names of classes.

        Args:
            facts: What is known about the input that the model is trained or evaluated on.

        Returns:
            A model, this one where nothing was missing.
        """
        del facts
        return self

    def with_signature(self, signature: Mapping[str, Any] | None) -> Model:
        """Fill in what the training took from its data.

        Args:
            signature: The ``structure()`` of the trained model, as it was stored; None where none was.

        Returns:
            A model, this one where nothing was missing.
        """
        del signature
        return self

    def with_session_hooks(self, make: MakeHooks) -> Model:
        """Say how hooks that the model itself describes become session hooks.

        Args:
            make: Makes them, for the mode in which the model is called.

        Returns:
            A model, this one where no hooks are described.
        """
        del make
        return self

    def is_v1_canned(self) -> bool:
        """Say whether the Estimator is one of tf.compat.v1.estimator's ready-made models."""
        return False

    def has_callbacks(self) -> bool:
        """Say whether TensorFlow will call R functions while it builds the model's graph."""
        return _holds_callback(self)


def _holds_callback(value: Any) -> bool:
    if isinstance(value, Callback):
        return True
    if isinstance(value, Mapping):
        # An R function that has not been coerced yet is a mapping with a `call`.
        return callable(value.get("call")) or any(_holds_callback(item) for item in value.values())
    if isinstance(value, (tuple, list)):
        return any(_holds_callback(item) for item in value)
    if isinstance(value, Description) and dataclasses.is_dataclass(value):
        return any(_holds_callback(getattr(value, part.name)) for part in dataclasses.fields(value))
    return False
