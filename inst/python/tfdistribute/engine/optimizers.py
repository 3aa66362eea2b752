"""Factories of optimizers, because every graph and every replica needs a new one.

Canned Estimators take legacy Keras optimizers, which work once and then fail with "Cannot set `iterations` to a new
Variable". A factory is a function without arguments.
"""

import functools
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from tfdistribute.engine.repairs import replicated_variables
from tfdistribute.errors import ArgumentError, ModelError

legacy = tf.keras.optimizers.legacy
schedules = tf.keras.optimizers.schedules

SCHEDULES: dict[str, Any] = {
    "cosine_decay": schedules.CosineDecay,
    "cosine_decay_restarts": schedules.CosineDecayRestarts,
    "exponential_decay": schedules.ExponentialDecay,
    "inverse_time_decay": schedules.InverseTimeDecay,
    "piecewise_constant_decay": schedules.PiecewiseConstantDecay,
    "polynomial_decay": schedules.PolynomialDecay,
}

# Settings of new Keras optimizers that legacy ones lack, and the value with which both do the same.
NEW_SETTINGS = {"weight_decay": None, "use_ema": False}
# Settings of new Keras optimizers that do not change the result.
IGNORED_SETTINGS = ("ema_momentum", "ema_overwrite_frequency", "jit_compile", "is_legacy_optimizer")

# Last names of the variables that are weights, of linear models, layers and embeddings.
WEIGHTS = ("weights", "kernel", "embedding_weights")

REMEDY = 'Give a name or a list, such as list("adam", learning_rate = 0.01), or a tf.keras.optimizers.legacy optimizer.'


def factory_by_name(class_name: str, settings: Mapping[str, Any]) -> Callable[[], Any]:
    """Make a factory of a legacy Keras class, with ``l2_penalty`` or not; ArgumentError if Keras rejects settings."""
    optimizer_class = getattr(legacy, class_name)

    def make() -> Any:
        arguments = dict(settings)
        penalty = arguments.pop("l2_penalty", 0)
        if "learning_rate" in arguments:
            arguments["learning_rate"] = learning_rate(arguments["learning_rate"])
        optimizer = with_own_settings(optimizer_class(**arguments))
        return _with_penalty(optimizer, penalty) if penalty > 0 else optimizer

    try:
        make()
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"`optimizer` {class_name} rejects its settings: {error}",
            "Correct the settings.",
            value=class_name,
        ) from error
    return make


def learning_rate(value: Any) -> Any:
    """Convert a number, a Keras schedule or ``{"schedule": name, ...}``; ArgumentError if it is not known."""
    if not isinstance(value, Mapping):
        return value
    settings = {str(name): setting for name, setting in value.items() if name != "schedule"}
    name = value.get("schedule")
    if name not in SCHEDULES:
        raise ArgumentError(
            f'`learning_rate` "{name}" is not a schedule.',
            f"Use a number, or one of {', '.join(sorted(SCHEDULES))}.",
            value=str(name),
        )
    try:
        return SCHEDULES[name](**settings)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f'`learning_rate` "{name}" rejects its settings: {error}.',
            "Name them as TensorFlow does.",
            value=str(name),
        ) from error


def factory_like(optimizer: Any, model_dir: str | None = None) -> Callable[[], Any]:
    """Make a factory of optimizers like an existing Keras one; ModelError if canned models do not support it.

    With ``model_dir``, its checkpoints also hold the settings, because TensorFlow's own training reads them there.
    """
    if isinstance(optimizer, legacy.Optimizer):
        optimizer_class, config = type(optimizer), optimizer.get_config()
    elif isinstance(optimizer, tf.keras.optimizers.Optimizer):
        optimizer_class, config = _legacy_class(optimizer)
    elif callable(optimizer) and not isinstance(optimizer, tf.compat.v1.train.Optimizer):
        return checked_factory(optimizer)
    else:
        raise _unusable(optimizer)
    return lambda: with_own_settings(optimizer_class.from_config(dict(config)), model_dir)


def checked_factory(function: Callable[[], Any]) -> Callable[[], Any]:
    """Make a factory from a user's function; it raises ModelError if the function does not return an optimizer."""

    def make() -> Any:
        optimizer = function()
        if isinstance(optimizer, legacy.Optimizer):
            return optimizer
        if not isinstance(optimizer, tf.keras.optimizers.Optimizer):
            raise _unusable(optimizer)
        # The learning rate of a new optimizer is readable only outside graphs.
        with context.eager_mode():
            return factory_like(function())()

    return make


def with_own_settings(optimizer: Any, model_dir: str | None = None) -> Any:
    # Keras turns a number into a variable, which the checkpoint overwrites, so a training that continues would keep
    # its first learning rate. A function does not become a variable.
    own = {
        name: functools.partial(float, value)
        for name, value in optimizer._hyper.items()
        if isinstance(value, numbers.Real)
    }
    create = optimizer._create_hypers

    def create_variables() -> None:
        create()
        optimizer._hyper.update(own)

    if model_dir is not None and _can_restore(optimizer, own, model_dir):
        optimizer._create_hypers = create_variables
    else:
        optimizer._hyper.update(own)
    return optimizer


def _can_restore(optimizer: Any, settings: Iterable[str], model_dir: str) -> bool:
    """Return whether each setting is in the newest checkpoint, which an older Estimator may have written without."""
    newest = tf.train.latest_checkpoint(model_dir)
    if newest is None:
        return True
    saved = [name for name, _ in tf.train.list_variables(newest)]
    ends = (f"/{optimizer._name}/{name}" for name in settings)
    return all(any(name.endswith(end) for name in saved) for end in ends)


def _with_penalty(optimizer: Any, penalty: float) -> Any:
    """Make an optimizer minimize the loss plus ``penalty`` times the sum of the squared weights, without biases.

    The gradient of the penalty is added after the reduction over replicas, so it does not depend on their number.
    """
    transform = optimizer._transform_gradients

    def add_penalties(gradients_and_variables: Any) -> Any:
        return transform(
            [
                (gradient, variable)
                if gradient is None or variable.name.split("/")[-1].split(":")[0] not in WEIGHTS
                else (tf.convert_to_tensor(gradient) + 2 * penalty * variable, variable)
                for gradient, variable in gradients_and_variables
            ]
        )

    optimizer._transform_gradients = add_penalties
    return optimizer


def _legacy_class(optimizer: Any) -> tuple[Any, dict[str, Any]]:
    name = type(optimizer).__name__
    legacy_class = getattr(legacy, name, None)
    config = _new_settings(optimizer)
    for setting, same in NEW_SETTINGS.items():
        if config.pop(setting, same) != same:
            raise ModelError(
                f"`optimizer` {name} has `{setting}`, which canned models do not support.",
                f"Leave `{setting}` out.",
                value=name,
            )
    # A user's class computes something else than the legacy one of the same name.
    is_own = type(optimizer) is not getattr(tf.keras.optimizers, name, None)
    if legacy_class is None or name == "Optimizer" or is_own:
        raise _unusable(optimizer)
    for setting in IGNORED_SETTINGS:
        config.pop(setting, None)
    return legacy_class, config


def _new_settings(optimizer: Any) -> dict[str, Any]:
    # A new optimizer's learning rate is a variable, which can only be read outside graphs.
    rate = optimizer._learning_rate
    if (
        not isinstance(rate, tf.Variable)
        or not replicated_variables.components(rate)[0]._in_graph_mode
    ):
        with context.eager_mode():
            return dict(optimizer.get_config())
    optimizer._learning_rate = float(
        tf.get_static_value(replicated_variables.components(rate)[0].initial_value)
    )
    try:
        return dict(optimizer.get_config())
    finally:
        optimizer._learning_rate = rate


def _unusable(optimizer: Any) -> ModelError:
    name = type(optimizer).__name__
    if isinstance(optimizer, tf.compat.v1.train.Optimizer):
        problem = f"`optimizer` {name} is a TensorFlow 1 optimizer, which canned models of TensorFlow 2 do not support."
    else:
        problem = f"`optimizer` {name} is not supported by canned models."
    return ModelError(problem, REMEDY, argument="optimizer", value=name)
