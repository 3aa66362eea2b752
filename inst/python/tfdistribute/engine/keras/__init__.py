"""Keras models as Estimators: of Keras 2 (tf.keras), and of Keras 3 with TensorFlow 2.16 or newer."""

from collections.abc import Callable, Mapping
from typing import Any

from tensorflow.python.eager import context

from tfdistribute.engine.keras import (
    estimator,
    keras3_estimator,
    keras3_models,
    models,
    onnx,
    overrides,
)
from tfdistribute.engine.keras.keras3_models import fresh_names, keras_3
from tfdistribute.engine.keras.models import KerasFacts, serving_input_receiver_fn
from tfdistribute.engine.keras.parts import KerasParts
from tfdistribute.errors import ModelError, TfdistributeError


def build(function: Callable[[], Any], seed: int) -> Any:
    imported = keras3_models.is_imported()
    with fresh_names():
        model = models.build(function, seed)
    # The first import of Keras 3 draws from the seed, so only a second model has the weights that it gives.
    return model if keras3_models.is_imported() == imported else build(function, seed)


def load(path: str, custom_objects: Mapping[str, Any]) -> Any:
    """Read a saved model; ModelError if it is none, or needs an object that ``custom_objects`` does not have."""
    library = keras3_models if keras3_models.is_file(path) else models
    try:
        with context.eager_mode():
            return library.load(path, custom_objects)
    except TfdistributeError:
        raise
    except Exception as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        reader = " by Keras 3" if library is keras3_models else ""
        raise ModelError(
            f'`keras_model_path` "{path}" cannot be loaded{reader}: {reason}',
            "Give a file that Keras has saved, and in `custom_objects` the objects that are not Keras's own.",
            value=path,
        ) from error


def describe(model: Any) -> KerasFacts:
    if keras3_models.is_model(model):
        return keras3_models.describe(model)
    known = models.describe(model)
    # Clones are of Keras's own class, and legacy optimizers call what their classes define.
    overrides.check(model, ("call",), ())
    overrides.check_metrics(
        model, (metric for each in model._flatten_layers() for metric in each._metrics)
    )
    return known


def make_estimator(parts: KerasParts, config: Any) -> Any:
    library = keras3_estimator if parts.known.is_keras_3 else estimator
    return library.make_estimator(parts, config)


def trained_model(known: KerasFacts, read: Callable[[str], Any]) -> Any:
    """Return the model with trained weights; the known model changes."""
    library = keras3_estimator if known.is_keras_3 else estimator
    return library.trained_model(known, read)


def outside_graphs(function: Callable[..., Any], *values: Any) -> Any:
    with context.eager_mode():
        return function(*values)
