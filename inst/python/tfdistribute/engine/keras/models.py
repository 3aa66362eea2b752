"""Keras models as they are made, loaded and looked at, before an Estimator clones them into its graph."""

from __future__ import annotations

import contextlib
import random
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from absl import logging
from keras.src import backend
from tensorflow.python.eager import context

from tfdistribute.errors import ModelError, TfdistributeError

Shape = tuple["int | None", ...]


def load(path: str, custom_objects: Mapping[str, Any]) -> Any:
    """Read a saved model.

    Args:
        path: A ``.keras`` or ``.h5`` file, or a SavedModel's directory.
        custom_objects: Layers, losses, metrics and functions that Keras does not have, by name.

    Returns:
        A compiled ``tf.keras.Model``.

    Raises:
        ModelError: the file holds no Keras model, or needs an object that custom_objects does not have.
    """
    try:
        with context.eager_mode(), _fresh_names(), _without_warnings():
            return tf.keras.models.load_model(path, custom_objects=dict(custom_objects))
    except TfdistributeError:
        raise
    except Exception as error:
        raise ModelError(
            f'`keras_model_path` "{path}" cannot be loaded: {_first_line(error)}',
            "Give a file that Keras has saved, and in `custom_objects` what is not Keras's own.",
            argument="keras_model_path",
            value=path,
        ) from error


def build(function: Callable[[], Any], seed: int) -> Any:
    """Call a function that builds a model.

    The same function gives the same names and, with the same seed, the same weights, however often it is called.

    Args:
        function: A function without arguments.
        seed: Seed of the initial weights.

    Returns:
        What the function returned.
    """
    with context.eager_mode(), _fresh_names(), _seeded(seed):
        return function()


@dataclass(frozen=True)
class KerasFacts:
    """What a model is, taken down outside graphs: inside one, Keras's classes are others and have no answers.

    Args:
        model: A compiled ``tf.keras.Model`` that knows its inputs.
        inputs: Name, shape of one example, and dtype of each input.
        outputs: Shape of one example by the output's name, in the order in which outputs are flattened.
        losses: The loss by the output's name, as the user gave it; None for an output without one.
        weights: Name and shape of each weight.
        compiled: The arguments of ``compile()``.
    """

    model: Any
    inputs: tuple[tuple[str, Shape, str], ...]
    outputs: Mapping[str, Shape]
    losses: Mapping[str, Any]
    weights: tuple[tuple[str, Shape], ...]
    compiled: Mapping[str, Any]


def describe(model: Any) -> KerasFacts:
    """See that a model can be cloned into an Estimator's graph, and take down what it is.

    Args:
        model: Anything.

    Returns:
        The model and its facts.

    Raises:
        ModelError: it is no ``tf.keras.Model``, is not compiled, or does not know its inputs.
    """
    _check(model)
    compiled, names = model._get_compile_args(), list(model.output_names)
    shapes = [tuple(tensor.shape[1:]) for tensor in tf.nest.flatten(model.outputs)]
    read = zip(model.input_names, tf.nest.flatten(model.inputs), strict=True)
    return KerasFacts(
        model=model,
        inputs=tuple((name, tuple(tensor.shape[1:]), tensor.dtype.name) for name, tensor in read),
        outputs=dict(zip(names, shapes, strict=True)),
        losses=_by_output(compiled["loss"], names),
        weights=tuple(
            (weight.name.partition(":")[0], tuple(weight.shape.as_list()))
            for weight in model.weights
        ),
        compiled=compiled,
    )


def _by_output(losses: Any, names: list[str]) -> dict[str, Any]:
    if isinstance(losses, Mapping):
        return {name: losses.get(name) for name in names}
    if isinstance(losses, (list, tuple)):
        return dict(zip(names, losses, strict=True))
    return dict.fromkeys(names, losses)


def _check(model: Any) -> None:
    if not isinstance(model, tf.keras.Model):
        raise _unusable(
            f"is {'nothing' if model is None else f'an object of class {_class(model)}'} and no tf.keras model",
            "Give a compiled tf.keras model, or a function that returns one.",
            model,
        )
    if getattr(model, "optimizer", None) is None:
        raise _unusable(
            "is not compiled", "Call compile() with an optimizer and a loss first.", model
        )
    if not model._is_graph_network:
        what = (
            "does not know its inputs"
            if isinstance(model, tf.keras.Sequential)
            else f"is a subclass of Model ({_class(model)})"
        )
        raise _unusable(
            f"{what}, so its inputs cannot be found in the data",
            "Give its first layer an `input_shape`, or make a model of inputs and outputs: "
            "tf$keras$Model(inputs, outputs).",
            model,
        )


def serving_input_receiver_fn(known: KerasFacts) -> Callable[[], Any]:
    """Make what turns a request to an exported model into features: a tensor for each input.

    Args:
        known: What ``facts`` returned.

    Returns:
        A function that returns a ``ServingInputReceiver`` whose inputs have the names of the model's.
    """

    def receive() -> Any:
        tensors = {
            name: tf.compat.v1.placeholder(dtype, [None, *shape])
            for name, shape, dtype in known.inputs
        }
        return tf.estimator.export.ServingInputReceiver(tensors, dict(tensors))

    return receive


@contextlib.contextmanager
def _fresh_names() -> Iterator[None]:
    """Number layers that the user did not name from the start, and go on afterwards as if nothing had happened.

    Keras counts the layers of a process: the second call of a function would make "dense_1" of "dense", and a
    checkpoint's variables would not be found again.

    Yields:
        Nothing.
    """
    counters, observed = backend.PER_GRAPH_OBJECT_NAME_UIDS, backend.OBSERVED_NAMES
    backend.PER_GRAPH_OBJECT_NAME_UIDS, backend.OBSERVED_NAMES = weakref.WeakKeyDictionary(), set()
    try:
        yield
    finally:
        backend.PER_GRAPH_OBJECT_NAME_UIDS, backend.OBSERVED_NAMES = counters, observed


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Hide that Keras does not restore the variables of a saved optimizer, which Estimators make anew anyway.

    Yields:
        Nothing.
    """
    level = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(level)


@contextlib.contextmanager
def layer_seeds(seed: int) -> Iterator[None]:
    """Let layers draw their seeds from a generator of their own and not from Python's, which is the user's.

    Args:
        seed: Seed of the generator.

    Yields:
        Nothing.
    """
    # Keras keeps its generator per thread, so every replica begins with the same.
    before = getattr(backend._SEED_GENERATOR, "generator", None)
    backend._SEED_GENERATOR.generator = random.Random(seed)  # noqa: S311 - weights are no secret
    try:
        yield
    finally:
        backend._SEED_GENERATOR.generator = before


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed what a function may draw weights from, and put the user's own generators back.

    Yields:
        Nothing.
    """
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


def _unusable(problem: str, remedy: str, model: Any) -> ModelError:
    return ModelError(
        f"`keras_model` {problem}.", remedy, argument="keras_model", value=_class(model)
    )
