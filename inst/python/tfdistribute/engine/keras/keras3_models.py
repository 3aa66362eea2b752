"""Keras 3 models outside graphs: recognized, loaded and described. Keras 3 is imported for them only."""

import contextlib
import importlib
import json
import re
import sys
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tfdistribute.engine.keras import overrides
from tfdistribute.engine.keras.models import KerasFacts, read_facts, unusable
from tfdistribute.errors import ModelError, UnsupportedError

# Layers that hold tables or tensors of eager mode, which a graph of TensorFlow 1 cannot read.
_EAGER_ONLY = (
    "Discretization",
    "HashedCrossing",
    "Hashing",
    "IntegerLookup",
    "Normalization",
    "StringLookup",
    "TextVectorization",
)


def is_model(model: Any) -> bool:
    names = (f"{each.__module__}.{each.__qualname__}" for each in type(model).__mro__)
    return "keras.src.models.model.Model" in names


def is_file(path: str) -> bool:
    try:
        with zipfile.ZipFile(path) as file, file.open("metadata.json") as text:
            return str(json.load(text).get("keras_version", "")).startswith("3.")
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return False


def load(path: str, custom_objects: Mapping[str, Any]) -> Any:
    with fresh_names(), warnings.catch_warnings():
        # Estimators make new variables of the optimizer anyway.
        warnings.filterwarnings("ignore", message="Skipping variable loading for optimizer")
        return _keras().models.load_model(path, custom_objects=dict(custom_objects))


def describe(model: Any) -> KerasFacts:
    """Read the facts of a Keras 3 model; ModelError if an Estimator cannot train it."""
    _check(model)
    _read_regularizers(model)
    inputs = [tensor.name for tensor in model.inputs]
    # A Sequential model's only output has the name of its last layer.
    outputs = getattr(model, "output_names", None) or [model.layers[-1].name]
    structure = getattr(model, "_outputs_struct", None)
    if isinstance(structure, Mapping):
        # Keras finds losses, metrics and responses by these names, and not by those of layers.
        outputs = sorted(structure)
    _check_outputs(model, structure, outputs)
    # The arguments as the user gave them: get_compile_config() has only their serialised form.
    compiled = dict(model._compile_config.config)
    names = inputs, outputs, variable_names(model.weights)
    return read_facts(model, names, compiled, is_keras_3=True)


def variable_names(variables: Sequence[Any]) -> list[str]:
    """Return the names of Keras's variables in a checkpoint: their paths, made unique."""
    names: list[str] = []
    for variable in variables:
        name = base = re.sub(r"[^A-Za-z0-9_./-]", "_", variable.path).lstrip("_/-") or "variable"
        number = 1
        while name in names:
            name, number = f"{base}_{number}", number + 1
        names.append(name)
    return names


def keras_3() -> Any:
    """Return Keras 3; UnsupportedError if the environment does not have it."""
    try:
        keras = importlib.import_module("keras")
    except ImportError as error:
        keras, reason = None, f"it cannot be imported ({error})"
    else:
        reason = f"Keras {keras.__version__} is installed"
    if keras is None or not keras.__version__.startswith("3."):
        raise UnsupportedError(
            f"A conversion to Keras needs Keras 3, but {reason}.",
            'Use TensorFlow 2.16 or newer, with `pip install "keras>=3"` for the Python of this session.',
            argument="object",
        )
    return keras


def is_imported() -> bool:
    return "keras.src.backend.common.global_state" in sys.modules


@contextlib.contextmanager
def fresh_names(taken: Collection[str] = ()) -> Iterator[None]:
    """Let Keras number operations from the start inside the block, with names apart from those that are ``taken``."""
    state = sys.modules.get("keras.src.backend.common.global_state")
    if state is None:
        yield
        return
    before = state.get_global_attribute("object_name_uids")
    # The number of the next operation of each name.
    numbers = defaultdict[str, int](int)
    for name in taken:
        base, _, number = name.rpartition("_")
        numbers[name] = max(numbers[name], 1)
        if base and number.isdecimal():
            numbers[base] = max(numbers[base], int(number) + 1)
    state.set_global_attribute("object_name_uids", numbers)
    try:
        yield
    finally:
        state.set_global_attribute("object_name_uids", before)


def _keras() -> Any:
    try:
        return importlib.import_module("keras")
    except ImportError as error:
        raise ModelError(
            f"`keras_model` is a model of Keras 3, which cannot be imported: {error}.",
            'Install Keras 3 with `pip install "keras>=3"`, for TensorFlow 2.16 or newer.',
        ) from error


def _check(model: Any) -> None:
    backend = _keras().backend.backend()
    if backend != "tensorflow":
        raise unusable(
            f"is a model of Keras 3 with the backend {backend}",
            'Set KERAS_BACKEND to "tensorflow" before Keras is imported.',
            model,
        )
    if getattr(model, "optimizer", None) is None or not getattr(model, "compiled", False):
        raise unusable(
            "is not compiled", "Call compile() with an optimizer and a loss first.", model
        )
    if not getattr(model, "inputs", None) or not getattr(model, "outputs", None):
        raise unusable(
            "does not know its inputs, so they cannot be found in the data",
            "Begin it with keras.Input(), or make a model of inputs and outputs: keras.Model(inputs, outputs).",
            model,
        )
    names = [type(layer).__name__ for layer in model._flatten_layers(include_self=False)]
    preparing = sorted(set(names) & set(_EAGER_ONLY))
    if preparing:
        raise unusable(
            f"has a layer {preparing[0]}, which Estimators cannot run",
            "Prepare the column in the input with `transform`, or use a model of tf.keras (Keras 2).",
            model,
        )
    overrides.check(model, ("__call__",), ("apply_gradients", "finalize_variable_values"))
    _check_metrics(model)
    optimizer = model.optimizer
    if type(optimizer).__name__ == "LossScaleOptimizer":
        raise unusable(
            "scales its loss for float16, which Estimators do not",
            'Use the policy "mixed_bfloat16", which needs no scaling.',
            model,
        )
    if optimizer.gradient_accumulation_steps:
        raise unusable(
            "has an optimizer with `gradient_accumulation_steps`, which Estimators do not support",
            "Leave it out, and give a larger `batch_size`.",
            model,
        )


def _read_regularizers(model: Any) -> None:
    """Replace tensors of eager mode in regularizers, such as L1, by their numbers."""
    of_layers = (vars(each).values() for each in model._flatten_layers())
    for each in (value for values in of_layers for value in values):
        if isinstance(each, _keras().regularizers.Regularizer):
            tensors = {name: value for name, value in vars(each).items() if hasattr(value, "numpy")}
            vars(each).update({name: value.numpy() for name, value in tensors.items()})


def _check_outputs(model: Any, structure: Any, names: Sequence[str]) -> None:
    values = structure.values() if isinstance(structure, Mapping) else structure
    if isinstance(values, (list, tuple)) or isinstance(structure, Mapping):
        nested = [each for each in values if isinstance(each, (list, tuple, Mapping))]
        if nested:
            raise unusable(
                "has outputs inside an output",
                "Return one list or one dict of tensors from the model.",
                model,
            )
    losses = model._compile_config.config.get("loss")
    given = losses if isinstance(losses, Mapping) else {}
    wrong = [name for name in given if name not in names]
    if wrong:
        raise unusable(
            f'is compiled with a loss for "{wrong[0]}", which is not one of its outputs '
            f"{', '.join(map(repr, names))}",
            "Name the losses as the outputs.",
            model,
        )
    several = [each for each in given.values() if isinstance(each, (list, tuple))]
    if several or (isinstance(losses, (list, tuple)) and len(losses) != len(names)):
        raise unusable(
            "is compiled with several losses for one output",
            "Give compile() one loss for each output.",
            model,
        )


def _check_metrics(model: Any) -> None:
    compiled = [model._loss_tracker, model._compile_metrics]
    compiled += getattr(model._compile_loss, "metrics", ())
    overrides.check_metrics(
        model, (each for each in model.metrics if all(each is not one for one in compiled))
    )
