"""Keras models, trained by an Estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tfdistribute import engine
from tfdistribute.callbacks import as_callable
from tfdistribute.columns import TYPES_OF_DTYPES, ColumnFacts, InputFacts
from tfdistribute.errors import InputError, ModelError
from tfdistribute.models.description import Model
from tfdistribute.models.feature_columns.description import NUMBERS, TEXT, Need
from tfdistribute.models.features import check_weights
from tfdistribute.models.keras.inputs import KerasInput, check_fit, route
from tfdistribute.models.optimizers import OptimizerObject
from tfdistribute.models.serving import tensors_receiver

# The seed that TensorFlow's RunConfig has where none is given.
SEED = 1

SPARSE_LOSSES = ("sparse_categorical_crossentropy", "SparseCategoricalCrossentropy")


@dataclass(frozen=True)
class KerasModel(Model, kind="keras"):
    """A compiled ``tf.keras.Model``: saved, or built by a function.

    The model is loaded or built in the process that performs the verb, once for each verb (twice where a function
    builds it and the run has a seed of its own), and cloned into the Estimator's graph. Sequential and functional
    models can be cloned; subclasses of Model cannot.

    Args:
        model_dir: Directory of the model's checkpoints.
        path: A ``.keras`` or ``.h5`` file, or a SavedModel's directory; None where a function builds the model.
        function: A function without arguments that builds and compiles the model; None where it is saved.
        custom_objects: Layers, losses, metrics and functions that Keras does not have, by name.
        side_by_side: The features that the model's only input reads side by side, in this order; None until the
            training's data says so, and where features are read by name.
        weights: The feature that holds each row's weight; None until the data says so.

    Raises:
        ModelError: not one of path and function is given.
    """

    path: str | None = None
    function: Callable[..., Any] | None = None
    custom_objects: dict[str, Any] = field(default_factory=dict)
    side_by_side: tuple[str, ...] | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        """Refuse what has no model, or two."""
        if (self.path is None) == (self.function is None):
            raise ModelError(
                f"A Keras model needs `path` or `function`, and has {'neither' if self.path is None else 'both'}.",
                "Give one of them.",
                argument="keras_model",
            )
        # What is loaded or built belongs to this process, not to the description.
        object.__setattr__(self, "_models", {})

    def known(self, seed: int | None = None) -> Any:
        """Load or build the model, and take down what it is. Starts TensorFlow.

        Args:
            seed: Seed of the weights of a model that a function builds; None where weights do not matter.

        Returns:
            ``KerasFacts``, the same for the same seed.

        Raises:
            CallbackError: the function failed.
            ModelError: there is no such file, or it or the function gives no compiled model that can be cloned.
        """
        models: dict[int, Any] = self.__dict__["_models"]
        key = SEED if self.path is not None or (seed is None and not models) else seed
        if key is None:
            return next(iter(models.values()))
        if key not in models:
            models[key] = engine.keras.describe(self._made(key))
        return models[key]

    def _made(self, seed: int) -> Any:
        if self.function is not None:
            return engine.keras.build(self.function, seed)
        path = str(self.path)
        if not os.path.exists(path):
            raise ModelError(
                f'`keras_model_path` "{path}" does not exist.',
                "Give the path of a saved Keras model, which every process of the training can read.",
                argument="keras_model_path",
                value=path,
            )
        return engine.keras.load(path, self._custom_objects())

    def _custom_objects(self) -> dict[str, Any]:
        return {name: _named(name, value) for name, value in self.custom_objects.items()}

    def inputs(self) -> list[KerasInput]:
        """List the model's inputs."""
        return [KerasInput(*each) for each in self.known().inputs]

    def needed_features(self) -> tuple[Need, ...]:
        """List the features that are read by name; none where the only input may read a feature of any name."""
        inputs = self.inputs()
        if self.side_by_side is not None:
            return tuple(_need(name, inputs[0]) for name in self.side_by_side)
        return tuple(_need(item.name, item) for item in inputs) if len(inputs) > 1 else ()

    def build(self, config: Any) -> Any:
        """Make the Estimator.

        Args:
            config: A ``tf.estimator.RunConfig``.

        Returns:
            A ``tf.estimator.Estimator``.

        Raises:
            ModelError: the optimizer is one that Estimators cannot use.
        """
        known = self.known(config.tf_random_seed or SEED)
        parts = engine.keras.KerasParts(
            known,
            _optimizer(known.model),
            self._custom_objects(),
            self._routes_of_tensors,
            self.weights,
        )
        return engine.keras.make_estimator(parts, config)

    def _routes_of_tensors(self, tensors: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        features = {
            name: ColumnFacts(name, TYPES_OF_DTYPES.get(tensor.dtype.name, "float"), _shape(tensor))
            for name, tensor in tensors.items()
        }
        inputs = self.inputs()
        routes = route(inputs, features, self.side_by_side)
        together = next(iter(routes.values()))
        if len(together) > 1 and self.side_by_side is None:
            listed = ", ".join(f'"{name}"' for name in together)
            raise InputError(
                f"The Keras model reads {inputs[0]}, and in what order the features {listed} belong there is not "
                "known: a function made the dataset.",
                f'Let the function put them into one matrix "{inputs[0].name}", or use input_fn().',
                argument="features",
                value=listed,
            )
        if all(tensor.shape[1:].is_fully_defined() for tensor in tensors.values()):
            check_fit(inputs, features, routes)
        return routes

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        """See that features and response fit the model's inputs and outputs.

        Starts TensorFlow, because only Keras knows what the model reads.

        Args:
            facts: What is known about the input.
            needs_label: Whether the verb uses labels.

        Raises:
            InputError: an input has no feature, or one of another type or shape; the response is missing, holds
                strings, or holds classes that the output does not have.
            ModelError: the model cannot be loaded, built or cloned.
        """
        inputs = self.inputs()
        if needs_label:
            check_weights(facts, self.weights)
        if facts.features is None:
            return
        check_fit(inputs, facts.features, route(inputs, facts.features, self.side_by_side))
        if needs_label:
            self._check_label(facts)

    def _check_label(self, facts: InputFacts) -> None:
        label = facts.label
        if label is None:
            raise InputError(
                "The input has no response, which the Keras model's loss compares its output with.",
                "Give `response` in input_fn().",
                argument="response",
                value="NULL",
            )
        if label.type == "string":
            raise InputError(
                f'The response "{label.name}" holds strings, and Keras\'s losses compare numbers.',
                'Use `factors = "codes"` in input_fn() for a factor: its levels become 0, 1, ...',
                argument="response",
                value=label.name,
            )
        self._check_classes(label, facts.label_range)

    def _check_classes(self, label: ColumnFacts, found: tuple[float, float] | None) -> None:
        known = self.known()
        for name, loss in known.losses.items():
            word = loss if isinstance(loss, str) else type(loss).__name__
            units = known.outputs[name][-1:]
            if found is None or word not in SPARSE_LOSSES or not units or units[0] is None:
                continue
            if found[0] < 0 or found[1] >= units[0]:
                raise InputError(
                    f'The response "{label.name}" goes from {found[0]:g} to {found[1]:g}, but the output "{name}" has '
                    f"{units[0]} units: its classes are 0 to {units[0] - 1}.",
                    'Number the classes from 0: as.integer(x) - 1L for a factor, or `factors = "codes"`.',
                    argument="response",
                    value=label.name,
                )

    def with_facts(self, facts: InputFacts) -> Model:
        """Take the order of features that are read side by side from the data, and the weights."""
        weighted = self
        if facts.weights is not None:
            weighted = self._completed(weights=facts.weights.name)
        if self.side_by_side is not None or facts.features is None:
            return weighted
        read = next(iter(route(self.inputs(), facts.features, None).values()))
        return weighted._completed(side_by_side=read) if len(read) > 1 else weighted

    def with_signature(self, signature: Mapping[str, Any] | None) -> Model:
        """Take the order of features that are read side by side from the trained model."""
        known = None if signature is None else signature.get("side_by_side")
        if known is None:
            return self
        return self._completed(side_by_side=tuple(str(name) for name in known))

    def _completed(self, **fields: Any) -> KerasModel:
        completed = replace(self, **fields)
        completed.__dict__["_models"].update(self.__dict__["_models"])
        return completed

    def structure(self) -> dict[str, Any]:
        """Describe the weights, the optimizer, and the features that are read side by side."""
        known = self.known()
        return {
            "kind": self.kind,
            "weights": [list(weight) for weight in known.weights],
            "side_by_side": None if self.side_by_side is None else list(self.side_by_side),
            "optimizer": OptimizerObject(known.model.optimizer).structure(),
        }

    def serving_input_receiver_fn(
        self, features: Mapping[str, ColumnFacts] | None = None
    ) -> Callable[[], Any]:
        """Take a tensor for each feature that the model reads, or for each of its inputs.

        Args:
            features: What is known of the features that the model was trained on; None for nothing.

        Returns:
            A function that returns a ``ServingInputReceiver``.
        """
        if features is not None:
            routes = route(self.inputs(), features, self.side_by_side)
            read = [name for names in routes.values() for name in names]
            return tensors_receiver({name: features[name] for name in read})
        return engine.keras.serving_input_receiver_fn(self.known())


def _shape(tensor: Any) -> tuple[int, ...]:
    # A size that is not known until the step counts as one value; such shapes are not checked.
    known = () if tensor.shape.rank is None else tensor.shape[1:]
    return tuple(1 if size is None else int(size) for size in known)


def _need(feature: str, item: KerasInput) -> Need:
    types = TEXT if item.is_text else NUMBERS
    return Need(
        feature, types, None, item.name, f'The Keras model\'s input "{item.name}" is {item.dtype}.'
    )


def _named(name: str, value: Any) -> Any:
    """Make a plain function of an R function, because Keras asks functions for their names."""
    function = as_callable(value) if isinstance(value, Mapping) else None
    if function is None:
        return value

    def named(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    named.__name__ = named.__qualname__ = name
    return named


def _optimizer(model: Any) -> Callable[[], Any]:
    try:
        return engine.optimizers.factory_like(model.optimizer)
    except ModelError as error:
        name = type(model.optimizer).__name__
        raise ModelError(
            f"The Keras model is compiled with the optimizer {name}, which an Estimator cannot use: it has no twin "
            "with the same settings among Keras's legacy optimizers.",
            "Compile the model with an optimizer of tf.keras.optimizers.legacy, or with one that has a twin there, "
            'such as "adam" or "sgd".',
            argument="keras_model",
            value=name,
        ) from error
