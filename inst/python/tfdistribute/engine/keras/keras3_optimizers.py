"""Optimizers of Keras 3 as functions from old values to new ones.

In a graph of TensorFlow 1, the writes of their variables have no order, and replicas would write to the same ones.
Keras 3 has a second implementation without writes, for other backends.
"""

import importlib
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches
from tfdistribute.errors import ModelError


class FunctionalOptimizer:
    """A copy of a Keras 3 optimizer for the variables of a model.

    ``state`` lacks the step and the learning rate, because a training that continues may have another rate.
    """

    def __init__(self, optimizer: Any, variables: Sequence[Any]) -> None:
        self._optimizer = type(optimizer).from_config(optimizer.get_config())
        functional = _functional_class(type(optimizer))
        patches.put("functional_optimizers", self._optimizer, "__class__", functional)
        _copy_settings(optimizer, self._optimizer, variables)
        self._optimizer.build(list(variables))
        rate = self._optimizer._learning_rate
        # A schedule, or a function, is evaluated in the graph.
        self._rate = rate.numpy() if hasattr(rate, "numpy") else None
        self.state = self.state_of(self._optimizer)

    def state_of(self, optimizer: Any) -> list[Any]:
        fixed = [optimizer._iterations]
        if self._rate is not None:
            fixed.append(optimizer._learning_rate)
        return [each for each in optimizer.variables if all(each is not one for one in fixed)]

    def apply(
        self, state: Sequence[Any], gradients: Sequence[Any], weights: Sequence[Any], step: Any
    ) -> tuple[list[Any], list[Any]]:
        """Return the new weights and state. A gradient is None if the loss does not depend on its weight."""
        optimizer, state_values = self._optimizer, iter(state)
        values = []
        for variable in optimizer.variables:
            if variable is optimizer._iterations:
                values.append(tf.cast(step, variable.dtype))
            elif self._rate is not None and variable is optimizer._learning_rate:
                values.append(tf.constant(self._rate))
            else:
                values.append(next(state_values))
        after, variables = optimizer.stateless_apply(values, list(gradients), list(weights))
        by_id = {
            id(variable): value
            for variable, value in zip(optimizer.variables, variables, strict=True)
        }
        return list(after), [by_id[id(variable)] for variable in self.state]

    def averages(self) -> list[Any] | None:
        """Return the moving averages of the weights that replace them at the end of a training, or None."""
        optimizer = self._optimizer
        return list(optimizer._model_variables_moving_average) if optimizer.use_ema else None


def _copy_settings(optimizer: Any, copy: Any, variables: Sequence[Any]) -> None:
    """Copy the settings that a configuration lacks, before ``copy`` is built."""
    for name, value in vars(optimizer).items():
        if not name.startswith("_") and isinstance(value, (int, float, str)) and name != "built":
            setattr(copy, name, value)
    excluded = [each for each in variables if not optimizer._use_weight_decay(each)]
    if excluded:
        copy.exclude_from_weight_decay(var_list=excluded)


def _functional_class(optimizer_class: type) -> type:
    """Make a class in which an optimizer's ``super()`` is the implementation without writes."""
    writing = importlib.import_module("keras.src.backend.tensorflow.optimizer").TFOptimizer
    base = importlib.import_module("keras.src.optimizers.base_optimizer").BaseOptimizer
    if not issubclass(optimizer_class, writing):
        name = optimizer_class.__name__
        raise ModelError(
            f"`keras_model` is compiled with the optimizer {name}, whose updates cannot run in a graph.",
            "Compile the model with another optimizer.",
            value=name,
        )
    members = {
        name: getattr(base, name)
        for name in vars(writing)
        if name in vars(base)
        and not name.startswith("__")
        # It reads only, and takes the sparse gradients of embeddings.
        and name != "_clip_by_norm"
    }
    members["_overwrite_model_variables_with_average_value"] = _overwrite
    members["_update_model_variables_moving_average"] = _average
    functional = type("FunctionalOptimizer", (writing,), members)
    return type(optimizer_class.__name__, (optimizer_class, functional), {})


def _average(self: Any, variables: Sequence[Any]) -> None:
    """Update the averages, and let them replace the weights without a branch, which cannot return values to a graph."""
    base = importlib.import_module("keras.src.optimizers.base_optimizer").BaseOptimizer
    base._update_model_variables_moving_average(self, variables)
    if not self.ema_overwrite_frequency:
        return
    now = tf.equal((self.iterations + 1) % self.ema_overwrite_frequency, 0)
    for variable, average in zip(variables, self._model_variables_moving_average, strict=True):
        if average is not None:
            variable.assign(tf.where(now, average.value, variable.value))


def _overwrite(self: Any, variables: Sequence[Any]) -> None:
    """Do nothing, because ``_average`` has replaced the weights already."""
