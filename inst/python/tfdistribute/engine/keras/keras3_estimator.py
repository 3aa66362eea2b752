"""Estimators of Keras 3 models.

Keras 3 has no graphs of TensorFlow 1, but calls a model as a function of the values of its variables. The Estimator's
graph has one variable for each of Keras's, and assigns the values that come back.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine.estimator import EstimatorOptions, adopt
from tfdistribute.engine.keras import keras3_models
from tfdistribute.engine.keras.keras3_calls import call_model
from tfdistribute.engine.keras.keras3_losses import evaluation, loss_of_rows, read_all
from tfdistribute.engine.keras.keras3_optimizers import FunctionalOptimizer
from tfdistribute.engine.keras.models import KerasFacts
from tfdistribute.engine.keras.parts import (
    ROW_LOSS,
    KerasParts,
    input_tensors,
    load_values,
    nothing,
    prediction,
)
from tfdistribute.engine.keras2 import optimizer_utils
from tfdistribute.errors import UnsupportedError

v1 = tf.compat.v1


def make_estimator(parts: KerasParts, config: Any) -> Any:
    """Make an Estimator as ``engine.keras.estimator`` does; UnsupportedError with parameter servers."""
    if config.num_ps_replicas:
        # A step writes whole values, not differences: workers that do not wait for each other would undo steps.
        raise UnsupportedError(
            "A Keras 3 model cannot be trained with parameter servers.",
            "Leave `ps` out of the cluster, or use a model of tf.keras (Keras 2).",
            argument="strategy",
            value="parameter_server",
        )
    # Outside the Estimator's graph, where variables have values.
    optimizer = FunctionalOptimizer(
        parts.known.model.optimizer, parts.known.model.trainable_variables
    )
    start = _Values(parts.known.model, optimizer)

    def model_fn(features: Any, labels: Any, mode: Any) -> Any:
        features, weights = parts.split(features)
        tensors = input_tensors(parts, features)
        held = _Variables(start)
        if mode == tf.estimator.ModeKeys.TRAIN:
            return _training(parts, held, tensors, (labels, weights), optimizer)
        call = call_model(
            parts, held.evaluation_weights(), read_all(held.others), tensors, training=False
        )
        if mode == tf.estimator.ModeKeys.PREDICT:
            # Mixed precision ends in types that NumPy does not have.
            half = (tf.bfloat16, tf.float16)
            full = [
                tf.cast(each, tf.float32) if each.dtype in half else each for each in call.outputs
            ]
            return prediction(parts.known, full)
        return evaluation(parts, call.outputs, call.penalties, (labels, weights))

    options = EstimatorOptions(reads_matrices=True, row_loss=ROW_LOSS, hides_row_loss=True)
    return adopt(tf.estimator.Estimator(model_fn, config=config), options)


def trained_model(known: KerasFacts, read: Callable[[str], Any]) -> Any:
    model = known.model
    optimizer = FunctionalOptimizer(model.optimizer, model.trainable_variables)
    start = _Values(model, optimizer)
    sources = {id(each): each for each in model.weights}
    if start.averages is not None:
        # Keras ends a training with the averages.
        sources.update(
            (id(weight), average)
            for weight, average in zip(start.weights, start.averages, strict=True)
        )
    model.set_weights([read(start.names[id(sources[id(each)])]) for each in model.weights])
    model.optimizer.build(model.trainable_variables)
    for variable, own in zip(optimizer.state_of(model.optimizer), start.state, strict=True):
        variable.assign(read(start.names[id(own)]))
    model.optimizer.iterations.assign(read(tf.compat.v1.GraphKeys.GLOBAL_STEP))
    return model


class _Values:
    def __init__(self, model: Any, optimizer: FunctionalOptimizer) -> None:
        self.weights = list(model.trainable_variables)
        self.others = list(model.non_trainable_variables)
        self.state = optimizer.state
        self.averages = optimizer.averages()
        # First the model's weights, whose names do not depend on the optimizer.
        everything = list(model.weights)
        ids = {id(each) for each in everything}
        rest = [*self.weights, *self.others, *self.state]
        everything += [each for each in rest if id(each) not in ids]
        names = keras3_models.variable_names(everything)
        self.names = dict(zip(map(id, everything), names, strict=True))
        self.initial = {id(each): each.numpy() for each in everything}


class _Variables:
    def __init__(self, start: _Values) -> None:
        self.start = start
        self.weights = [self._make(each, trainable=True) for each in start.weights]
        self.others = [self._make(each) for each in start.others]
        self.state: list[Any] = []

    def add_state(self) -> None:
        self.state = [self._make(each) for each in self.start.state]

    def trained(self) -> list[Any]:
        """List all variables of a training, after ``add_state()``."""
        return [*self.weights, *self.others, *self.state]

    def evaluation_weights(self) -> list[Any]:
        averages = self.start.averages
        if averages is None:
            return read_all(self.weights)
        return read_all([self._make(each) for each in averages])

    def _make(self, variable: Any, trainable: bool = False) -> Any:
        dtype = tf.as_dtype(variable.dtype)
        # Moving averages belong to each replica, and are averaged when they are read.
        own = not trainable and dtype.is_floating and self._is_average(variable)
        sync = tf.VariableSynchronization
        aggregation = tf.VariableAggregation
        return v1.get_variable(
            self.start.names[id(variable)],
            shape=variable.shape,
            dtype=dtype,
            initializer=v1.zeros_initializer(),
            trainable=trainable,
            use_resource=True,
            synchronization=sync.ON_READ if own else sync.AUTO,
            aggregation=aggregation.MEAN if own else aggregation.ONLY_FIRST_REPLICA,
        )

    def _is_average(self, variable: Any) -> bool:
        return any(variable is each for each in self.start.others)

    def load(self) -> Any:
        start = self.start
        values = [start.initial[id(each)] for each in (*start.weights, *start.others, *start.state)]
        return load_values(self.trained(), values)


def _training(
    parts: KerasParts,
    held: _Variables,
    tensors: Sequence[Any],
    targets: tuple[Any, Any],
    optimizer: FunctionalOptimizer,
) -> Any:
    if not held.weights:
        raise nothing("no weights that can be trained", "Set `trainable` of a layer to TRUE.")
    held.add_state()
    weights, state = read_all(held.weights), read_all(held.state)
    call = call_model(parts, weights, read_all(held.others), tensors, training=True)
    # This replica's share: Estimator adds up the shares, and so do the gradients below.
    loss = loss_of_rows(parts, call.outputs, call.penalties, targets)[0]
    scaled = parts.known.model.optimizer.scale_loss(loss)
    gradients = _sum_over_replicas(call.gradients(scaled), held.weights)
    step = v1.train.get_or_create_global_step()
    trained, state = optimizer.apply(state, gradients, call.latest(), tf.convert_to_tensor(step))
    pairs = list(zip(held.trained(), [*trained, *call.others, *state], strict=True))
    # Nothing is written when the input ends, and the step is counted after it was read.
    with tf.control_dependencies([loss]):
        updates = [variable.assign(value, read_value=False) for variable, value in pairs]
    with tf.control_dependencies(tf.nest.flatten(updates)):
        counted = step.assign_add(1, read_value=False)
    return tf.estimator.EstimatorSpec(
        tf.estimator.ModeKeys.TRAIN,
        loss=loss,
        train_op=counted,
        scaffold=v1.train.Scaffold(init_fn=held.load()),
    )


def _sum_over_replicas(gradients: Sequence[Any], variables: Sequence[Any]) -> list[Any]:
    if tf.distribute.get_strategy().num_replicas_in_sync == 1:
        return list(gradients)
    pairs = zip(gradients, variables, strict=True)
    return [gradient for gradient, _ in optimizer_utils.all_reduce_sum_gradients(pairs)]
