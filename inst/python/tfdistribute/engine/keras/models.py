"""Keras models outside graphs: built, loaded and described, before an Estimator clones them."""

import contextlib
import random
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from absl import logging
from tensorflow.python.eager import context

from tfdistribute.engine import patches
from tfdistribute.engine.model_graphs import layer_seeds
from tfdistribute.errors import ModelError

Shape = tuple["int | None", ...]


def load(path: str, custom_objects: Mapping[str, Any]) -> Any:
    with _fresh_names(), _without_warnings():
        return tf.keras.models.load_model(path, custom_objects=dict(custom_objects))


def build(function: Callable[[], Any], seed: int) -> Any:
    """Call a function that builds a model, with the same names and, for one seed, the same weights each time."""
    with context.eager_mode(), _fresh_names(), _seed_generators(seed):
        return function()


@dataclass(frozen=True)
class KerasFacts:
    """A model and its facts, read outside graphs, because Keras's classes change inside a graph."""

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
    weights = [weight.name.partition(":")[0] for weight in model.weights]
    twice = next((name for name in weights if weights.count(name) > 1), None)
    if twice is not None:
        raise unusable(
            f'has two weights of the name "{twice}", of which a checkpoint holds one',
            "Build the layers inside a layer by calling them, in call(), so that their names differ.",
            model,
        )
    names = model.input_names, model.output_names, weights
    return read_facts(model, names, model._get_compile_args())


def read_facts(
    model: Any,
    names: tuple[Sequence[str], Sequence[str], Sequence[str]],
    compiled: Mapping[str, Any],
    is_keras_3: bool = False,
) -> KerasFacts:
    """Read the facts of a model with these ``names`` of inputs, outputs and weights."""
    inputs = zip(names[0], tf.nest.flatten(model.inputs), strict=True)
    outputs = zip(names[1], tf.nest.flatten(model.outputs), strict=True)
    return KerasFacts(
        model=model,
        inputs=tuple(
            (name, tuple(each.shape[1:]), tf.as_dtype(each.dtype).name) for name, each in inputs
        ),
        outputs={name: tuple(each.shape[1:]) for name, each in outputs},
        losses=by_output(compiled.get("loss"), list(names[1])),
        weights=tuple(
            (name, tuple(each.shape)) for name, each in zip(names[2], model.weights, strict=True)
        ),
        compiled=compiled,
        is_keras_3=is_keras_3,
    )


def by_output(values: Any, names: list[str]) -> dict[str, Any]:
    if isinstance(values, Mapping):
        return {name: values.get(name) for name in names}
    if isinstance(values, (list, tuple)):
        return dict(zip(names, values, strict=True))
    return dict.fromkeys(names, values)


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

    keys = model._nested_outputs if isinstance(model._nested_outputs, Mapping) else ()
    if keys and sorted(keys) != list(model.output_names):
        raise unusable(
            f"names its outputs {', '.join(map(repr, sorted(keys)))}, and the layers of these "
            f"{', '.join(map(repr, model.output_names))}",
            "Give each of these layers the name of its output.",
            model,
        )


def serving_input_receiver_fn(known: KerasFacts) -> Callable[[], Any]:
    def receive() -> Any:
        tensors = {
            name: tf.compat.v1.placeholder(dtype, [None, *shape])
            for name, shape, dtype in known.inputs
        }
        return tf.estimator.export.ServingInputReceiver(tensors, dict(tensors))

    return receive


def _fresh_names() -> Any:
    """Restart Keras's numbering of unnamed layers, so that a second call makes variables of the same names."""
    return patches.patch_temporarily("keras_names", weakref.WeakKeyDictionary(), set())


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    level = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(level)


@contextlib.contextmanager
def _seed_generators(seed: int) -> Iterator[None]:
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


def unusable(problem: str, remedy: str, model: Any) -> ModelError:
    return ModelError(f"`keras_model` {problem}.", remedy, value=_class(model))
