"""Keras models outside graphs: built, loaded and described, before an Estimator clones them."""

from __future__ import annotations

import contextlib
import random
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from absl import logging
from tensorflow.python.eager import context

from tfdistribute.engine import patches
from tfdistribute.engine.model_graphs import layer_seeds
from tfdistribute.errors import ModelError, TfdistributeError

Shape = tuple["int | None", ...]


def load(path: str, custom_objects: Mapping[str, Any]) -> Any:
    """Read a saved model; ModelError if it is none, or needs an object that custom_objects does not have."""
    try:
        with context.eager_mode(), _fresh_names(), _without_warnings():
            return tf.keras.models.load_model(path, custom_objects=dict(custom_objects))
    except TfdistributeError:
        raise
    except Exception as error:
        raise ModelError(
            f'`keras_model_path` "{path}" cannot be loaded: {_first_line(error)}',
            "Give a file that Keras has saved, and in `custom_objects` the objects that are not Keras's own.",
            argument="keras_model_path",
            value=path,
        ) from error


def build(function: Callable[[], Any], seed: int) -> Any:
    """Call a function that builds a model; each call gives the same names and, for one seed, the same weights."""
    with context.eager_mode(), _fresh_names(), _seed_generators(seed):
        return function()


@dataclass(frozen=True)
class KerasFacts:
    """A model and its facts, read outside graphs: inside a graph, Keras's classes change and cannot be inspected."""

    model: Any
    inputs: tuple[tuple[str, Shape, str], ...]
    # Shape of one example by name, in the order in which outputs are flattened.
    outputs: Mapping[str, Shape]
    losses: Mapping[str, Any]  # By output, as the user gave them; None for an output without one.
    weights: tuple[tuple[str, Shape], ...]
    compiled: Mapping[str, Any]  # Arguments of ``compile()``.
    is_keras_3: bool = False


def describe(model: Any) -> KerasFacts:
    """Read the facts of a model; ModelError if it cannot be cloned into an Estimator's graph."""
    _check(model)
    compiled, names = model._get_compile_args(), list(model.output_names)
    shapes = [tuple(tensor.shape[1:]) for tensor in tf.nest.flatten(model.outputs)]
    read = zip(model.input_names, tf.nest.flatten(model.inputs), strict=True)
    return KerasFacts(
        model=model,
        inputs=tuple((name, tuple(tensor.shape[1:]), tensor.dtype.name) for name, tensor in read),
        outputs=dict(zip(names, shapes, strict=True)),
        losses=by_output(compiled["loss"], names),
        weights=tuple(
            (weight.name.partition(":")[0], tuple(weight.shape.as_list()))
            for weight in model.weights
        ),
        compiled=compiled,
    )


def by_output(losses: Any, names: list[str]) -> dict[str, Any]:
    if isinstance(losses, Mapping):
        return {name: losses.get(name) for name in names}
    if isinstance(losses, (list, tuple)):
        return dict(zip(names, losses, strict=True))
    return dict.fromkeys(names, losses)


def _check(model: Any) -> None:
    if not isinstance(model, tf.keras.Model):
        raise unusable(
            f"is {'NULL' if model is None else f'an object of class {_class(model)}'}, not a tf.keras model",
            "Give a compiled tf.keras model, or a function that returns one.",
            model,
        )
    if getattr(model, "optimizer", None) is None:
        raise unusable(
            "is not compiled", "Call compile() with an optimizer and a loss first.", model
        )
    if not model._is_graph_network:
        what = (
            "does not know its inputs"
            if isinstance(model, tf.keras.Sequential)
            else f"is a subclass of Model ({_class(model)})"
        )
        raise unusable(
            f"{what}, so its inputs cannot be found in the data",
            "Give its first layer an `input_shape`, or make a model of inputs and outputs: "
            "tf$keras$Model(inputs, outputs).",
            model,
        )


def serving_input_receiver_fn(known: KerasFacts) -> Callable[[], Any]:
    """Make the function that receives requests with a tensor for each input of the model."""

    def receive() -> Any:
        tensors = {
            name: tf.compat.v1.placeholder(dtype, [None, *shape])
            for name, shape, dtype in known.inputs
        }
        return tf.estimator.export.ServingInputReceiver(tensors, dict(tensors))

    return receive


def _fresh_names() -> Any:
    """Restart Keras's numbering of unnamed layers inside the block.

    Keras numbers layers per process: a second call of a function would name a layer "dense_1" that the first call named
    "dense", and its variables would not be found in a checkpoint.
    """
    return patches.patch_temporarily("keras_names", weakref.WeakKeyDictionary(), set())


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Hide the warning that Keras does not restore a saved optimizer's variables; Estimators make new ones anyway."""
    level = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(level)


@contextlib.contextmanager
def _seed_generators(seed: int) -> Iterator[None]:
    """Seed all generators of weights inside the block, then restore the user's."""
    state, eager = random.getstate(), context.context()
    before = eager._seed, getattr(eager, "_rng", None)
    random.seed(seed)
    context.set_global_seed(seed)
    try:
        with layer_seeds(seed):
            yield
    finally:
        random.setstate(state)
        eager._seed, eager._rng = before


def _class(model: Any) -> str:
    return f"{type(model).__module__}.{type(model).__qualname__}"


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")


def unusable(problem: str, remedy: str, model: Any) -> ModelError:
    return ModelError(
        f"`keras_model` {problem}.", remedy, argument="keras_model", value=_class(model)
    )
