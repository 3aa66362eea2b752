"""Keras models trained as Estimators."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from tfdistribute import engine, storage
from tfdistribute.callbacks import as_callable
from tfdistribute.columns import TYPES_OF_DTYPES, ColumnFacts, InputFacts
from tfdistribute.descriptions.constraints import PLACE, Fact, Text
from tfdistribute.errors import InputError, ModelError
from tfdistribute.models.description import Model, TrainedFeatures
from tfdistribute.models.feature_columns.description import NUMBERS, TEXT, FeatureRequirement
from tfdistribute.models.features import check_weights
from tfdistribute.models.keras.inputs import KerasInput, check_fit, match_inputs
from tfdistribute.models.labels import require_label
from tfdistribute.models.optimizers import OptimizerInstance
from tfdistribute.models.serving import tensors_receiver

# Default seed of TensorFlow's RunConfig.
SEED = 1

BINARY_LOSSES = ("binary_crossentropy", "BinaryCrossentropy")
SPARSE_LOSSES = ("sparse_categorical_crossentropy", "SparseCategoricalCrossentropy")


@dataclass(frozen=True)
class KerasModel(Model, kind="keras"):
    """A compiled Keras model, of Keras 2 (``tf.keras``) or Keras 3: saved, or built by a function.

    Each verb loads or builds it once (twice if a function builds it and the run has its own seed), and clones it,
    which subclasses of Model do not support.
    """

    # Layers can be code.
    path: Annotated[Text | None, Fact.CODE, Fact.FILE, PLACE] = None
    function: Annotated[Callable[..., Any] | None, Fact.CODE] = None
    custom_objects: Annotated[dict[str, Any], Fact.CODE] = field(default_factory=dict)
    # Read as one matrix; None if not known yet, or read by name.
    matrix_features: Annotated[tuple[Text, ...] | None, Fact.NAME] = None
    weights: Annotated[Text | None, Fact.NAME] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.path is None) == (self.function is None):
            raise ModelError(
                f"A Keras model needs `path` or `function`, and has {'neither' if self.path is None else 'both'}.",
                "Give one of them.",
                argument="keras_model",
            )
        # Loaded models belong to this process, not to the description.
        object.__setattr__(self, "_models", {})

    def content(self) -> Mapping[str, Any]:
        known = self.model_facts()
        # The optimizer may have been changed since.
        now = {"optimizer": known.model.optimizer, "layers": known.model.get_config()}
        return {**known.compiled, **now}

    def model_facts(self, seed: int | None = None) -> Any:
        models: dict[int, Any] = self.__dict__["_models"]
        key = SEED if self.path is not None or (seed is None and not models) else seed
        if key is None:
            return next(iter(models.values()))
        if key not in models:
            models[key] = engine.keras.describe(self._load_or_build(key))
        return models[key]

    def as_keras_model(self, known: TrainedFeatures, read: Callable[[str], Any]) -> Any:
        # A model of its own: the known one begins the next training.
        model = engine.keras.describe(self._load_or_build(SEED))
        return engine.keras.trained_model(model, read)

    def _load_or_build(self, seed: int) -> Any:
        if self.function is not None:
            return engine.keras.build(self.function, seed)
        path = str(self.path)
        if not storage.exists(path):
            raise ModelError(
                f'`keras_model_path` "{path}" does not exist.',
                "Give the path of a saved Keras model that every process of the training can read.",
                value=path,
            )
        if storage.is_directory(path):
            return engine.keras.load(path, self._custom_objects())
        with storage.local_copy(path) as local:
            return engine.keras.load(local, self._custom_objects())

    def _custom_objects(self) -> dict[str, Any]:
        return {name: _named(name, value) for name, value in self.custom_objects.items()}

    def inputs(self) -> list[KerasInput]:
        return [KerasInput(*each) for each in self.model_facts().inputs]

    def required_features(self) -> tuple[FeatureRequirement, ...]:
        inputs = self.inputs()
        if self.matrix_features is not None:
            return tuple(_requirement(name, inputs[0]) for name in self.matrix_features)
        return tuple(_requirement(item.name, item) for item in inputs) if len(inputs) > 1 else ()

    def build(self, config: Any) -> Any:
        known = self.model_facts(config.tf_random_seed or SEED)
        parts = engine.keras.KerasParts(
            known,
            None if known.is_keras_3 else _optimizer(known.model),
            self._custom_objects(),
            self._match_tensors,
            self.weights,
        )
        return engine.keras.make_estimator(parts, config)

    def _match_tensors(self, tensors: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        features = {
            name: ColumnFacts(name, TYPES_OF_DTYPES.get(tensor.dtype.name, "float"), _shape(tensor))
            for name, tensor in tensors.items()
        }
        inputs = self.inputs()
        matched = match_inputs(inputs, features, self.matrix_features)
        read = next(iter(matched.values()))
        if len(read) > 1 and self.matrix_features is None:
            listed = ", ".join(f'"{name}"' for name in read)
            raise InputError(
                f"The Keras model reads {inputs[0]}, and the order of the features {listed} in it is not known: a "
                "function made the dataset.",
                f'Let the function return one matrix "{inputs[0].name}", or use input_fn().',
                argument="features",
                value=listed,
            )
        if all(tensor.shape[1:].is_fully_defined() for tensor in tensors.values()):
            check_fit(inputs, features, matched)
        return matched

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        inputs = self.inputs()
        if needs_label:
            check_weights(facts, self.weights)
        if facts.features is None:
            return
        matched = match_inputs(inputs, facts.features, self.matrix_features)
        check_fit(inputs, facts.features, matched)
        if needs_label:
            self._check_label(facts)

    def _check_label(self, facts: InputFacts) -> None:
        label = require_label(facts)
        if label is None:
            return
        if label.type == "string":
            raise InputError(
                f'The response "{label.name}" holds strings, and the losses of Keras need numbers.',
                'For classes, use a factor and a loss such as "sparse_categorical_crossentropy", which reads its '
                'codes; for another loss also give `factors = "codes"` to input_fn().',
                argument="response",
                value=label.name,
            )
        self._check_classes(label, facts.label_range)

    def _check_classes(self, label: ColumnFacts, found: tuple[float, float] | None) -> None:
        known = self.model_facts()
        for name, loss in known.losses.items():
            units = known.outputs[name][-1:]
            if (
                found is None
                or _loss_name(loss) not in SPARSE_LOSSES
                or not units
                or units[0] is None
            ):
                continue
            if found[0] < 0 or found[1] >= units[0]:
                raise InputError(
                    f'The response "{label.name}" goes from {found[0]:g} to {found[1]:g}, but the output "{name}" has '
                    f"{units[0]} units: its classes are 0 to {units[0] - 1}.",
                    "Make it a factor, or number its classes from 0.",
                    argument="response",
                    value=label.name,
                )

    def coded_features(self, factors: Collection[str]) -> set[str]:
        return {item.name for item in self.inputs() if not item.is_text} & set(factors)

    def check_micro_batches(self) -> None:
        for name, loss in self.model_facts().losses.items():
            if getattr(loss, "reduction", None) == "sum":
                raise ModelError(
                    f"`micro_batches` needs losses that are means over rows, and {_loss_name(loss)} of the output "
                    f'"{name}" is a sum.',
                    'Compile the model with reduction = "sum_over_batch_size" in the loss.',
                    value=_loss_name(loss),
                )

    def codes_label(self) -> bool:
        """Return whether a loss compares class numbers; codes are not measurements."""
        losses = self.model_facts().losses.values()
        return any(_loss_name(loss) in (*SPARSE_LOSSES, *BINARY_LOSSES) for loss in losses)

    def complete_from_input(self, facts: InputFacts) -> Model:
        weighted = self
        if facts.weights is not None:
            weighted = self._complete(weights=facts.weights.name)
        if self.matrix_features is not None or facts.features is None:
            return weighted
        read = next(iter(match_inputs(self.inputs(), facts.features, None).values()))
        return weighted._complete(matrix_features=read) if len(read) > 1 else weighted

    def complete_from_signature(self, signature: Mapping[str, Any] | None) -> Model:
        names = None if signature is None else signature.get("matrix_features")
        if names is None:
            return self
        return self._complete(matrix_features=tuple(str(name) for name in names))

    def _complete(self, **fields: Any) -> "KerasModel":
        completed = replace(self, **fields)
        completed.__dict__["_models"].update(self.__dict__["_models"])
        return completed

    def structure(self) -> dict[str, Any]:
        known = self.model_facts()
        return {
            "kind": self.kind,
            "weights": [list(weight) for weight in known.weights],
            "matrix_features": None if self.matrix_features is None else list(self.matrix_features),
            "optimizer": OptimizerInstance(known.model.optimizer).structure(),
        }

    def serving_input_receiver_fn(
        self, features: Mapping[str, ColumnFacts] | None = None
    ) -> Callable[[], Any]:
        if features is not None:
            matched = match_inputs(self.inputs(), features, self.matrix_features)
            read = [name for names in matched.values() for name in names]
            return tensors_receiver({name: features[name] for name in read})
        return engine.keras.serving_input_receiver_fn(self.model_facts())


def _loss_name(loss: Any) -> str:
    return loss if isinstance(loss, str) else type(loss).__name__


def _shape(tensor: Any) -> tuple[int, ...]:
    # An unknown size counts as one; such shapes are not checked.
    shape = () if tensor.shape.rank is None else tensor.shape[1:]
    return tuple(1 if size is None else int(size) for size in shape)


def _requirement(feature: str, item: KerasInput) -> FeatureRequirement:
    types = TEXT if item.is_text else NUMBERS
    remedy = f'The Keras model\'s input "{item.name}" is {item.dtype}.'
    return FeatureRequirement(feature, types, None, item.name, remedy)


def _named(name: str, value: Any) -> Any:
    function = as_callable(value, name) if isinstance(value, Mapping) else None
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
            f"The Keras model is compiled with the optimizer {name}, which an Estimator cannot use: the legacy "
            "optimizers of Keras have no equivalent with the same settings.",
            "Compile the model with an optimizer of tf.keras.optimizers.legacy, or with one that has an equivalent "
            'there, such as "adam" or "sgd".',
            argument="keras_model",
            value=name,
        ) from error
