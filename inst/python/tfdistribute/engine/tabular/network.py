"""The parts of a tabular model: layers, which learn here, a linear model and trees. Their weighted mean is the model.

Source:
    RealMLP: https://arxiv.org/abs/2407.04491, "Better by Default: Strong Pre-Tuned MLPs and Boosted Trees on Tabular
    Data".
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import tensorflow as tf
from tensorflow_estimator.python.estimator.canned import linear

from tfdistribute.engine import trees
from tfdistribute.engine.tabular import cycles
from tfdistribute.engine.tabular.schedule import Schedule, TabularAdam

v1 = tf.compat.v1
# Numbers are clipped smoothly at this many robust scales.
CLIP = 3.0
FREQUENCIES, EMBEDDED = 16, 3
# Factors of the rate for variables that learn slower or faster than weights.
_FACTORS = {"bias": 0.1, "scale": 6.0, "plr": 0.1, "act": 0.1}


@dataclass(frozen=True)
class Network:
    """Columns, constants and sizes of the layers.

    Args:
        numbers: Numeric columns, each centered and scaled by its median and a robust scale.
        categories: Dense columns of categories.
        linear: Columns of the same categories for the linear model.
        shift, stretch: Median and robust scale of each number relative to its mean and standard deviation.
        farthest: Robust scales to which each number is clipped.
        incomplete: Positions of numbers that were missing in rows of the training.
        cycles: Position of a date, and the factor and the offset that turn its number into a phase.
        ensemble: Number of networks, which share the embeddings. They learn side by side, and the model is their mean.
        weights: Weights of the parts "linear", "layers" and "trees" in the mean of logits.
        temperature: What divides the mean.
        forest: What trees read, and the shapes of their arrays.
        begin: Step after which the training begins.
    """

    numbers: Sequence[Any]
    categories: Sequence[Any]
    linear: Sequence[Any]
    shift: Sequence[float]
    stretch: Sequence[float]
    farthest: float
    incomplete: Sequence[int]
    cycles: Sequence[tuple[int, float, float]]
    hidden_units: Sequence[int]
    ensemble: int
    activation: Literal["mish", "selu"]
    dropout: float
    weight_decay: float
    learning_rate: float
    steps: int
    weights: Mapping[str, float]
    temperature: float
    forest: tuple[trees.Columns, Mapping[str, Sequence[int]]]
    begin: int = 0

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.learning_rate, self.steps, self.begin)


def make_model_fn(network: Network, head: Any, weights: str | None) -> Callable[..., Any]:
    # Estimator requires these parameter names.
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        training = mode == tf.estimator.ModeKeys.TRAIN
        step = v1.train.get_or_create_global_step()
        width = head.logits_dimension
        make = {
            "layers": lambda: head.mean_logits(_layers(network, features, width, 0.0)),
            "linear": lambda: _linear(network, features, width),
            "trees": lambda: _trees(network, features, width),
        }
        with v1.variable_scope("tabular"):
            if training:
                rate = tf.constant(network.dropout)
                logits = _layers(network, features, width, rate)
                v1.add_to_collection(cycles.LOGITS, head.mean_logits(logits))
                v1.add_to_collection(cycles.OMITTED, rate)
                # The checkpoints keep what the other parts learned before.
                for part in sorted(network.weights.keys() - {"layers"}):
                    make[part]()
            else:
                # Layers first, because names of their variables count the layers of Keras before them.
                used = [part for part in make if part in network.weights]
                parts = [make[part]() * network.weights[part] for part in used]
                logits = _sum_of_pairs(parts) / network.temperature
        if training:
            # The networks of an ensemble learn alone, so each of them has the loss of each row.
            logits = tf.unstack(logits)
            labels = tf.concat([labels] * len(logits), 0)
            if weights is not None:
                features = {weights: tf.concat([features[weights]] * len(logits), 0)}
            logits = tf.concat(logits, 0)
        optimizer = _optimizer(network, step) if training else None
        return head.create_estimator_spec(
            features=features,
            mode=mode,
            labels=labels,
            logits=logits,
            optimizer=optimizer,
            trainable_variables=v1.trainable_variables(),
        )

    return model_fn


def _optimizer(network: Network, step: Any) -> Any:
    optimizer = TabularAdam(network.schedule, network.weight_decay, _FACTORS)
    optimizer.iterations = step
    return optimizer


def _linear(network: Network, features: Any, width: int) -> Any:
    logits: list[Any] = []
    if network.numbers:
        plain, _ = _read_numbers(network, features)
        weights = _variable("linear_weights", [plain.shape[1], width], 0.0, trainable=False)
        bias = _variable("linear_bias", [width], 0.0, trainable=False)
        logits.append(tf.nn.bias_add(tf.matmul(plain, weights), bias))
    if network.categories:
        model = linear.LinearModel(network.linear, width, trainable=False, name="linear")
        logits.append(model(features))
    return _sum_of_pairs(logits)


def _trees(network: Network, features: Any, width: int) -> Any:
    columns, shapes = network.forest
    forest = {
        name: v1.get_variable(
            f"trees/{name}", shapes[name], dtype, v1.zeros_initializer(), trainable=False
        )
        for name, (dtype, _) in trees.ARRAYS.items()
    }
    return trees.logits_of(forest, columns.matrix(features), columns, width)


def _layers(network: Network, features: Any, width: int, dropout: Any) -> Any:
    """Return the logits of the members; ``dropout`` is a share of their units, a tensor while they train."""
    inputs: list[Any] = []
    if network.numbers:
        inputs.append(_embed(_read_numbers(network, features)[1]))
    if network.categories:
        inputs.append(tf.keras.layers.DenseFeatures(network.categories)(features))
    hidden, factor = tf.expand_dims(tf.concat(inputs, 1), 0), 1.0
    for index, units in enumerate(network.hidden_units, 1):
        hidden = _activate(network, _dense(network, hidden, units, index, factor), index)
        if network.dropout > 0 and tf.is_tensor(dropout):
            hidden, factor = drop(hidden, dropout)
    return _dense(network, hidden, width, len(network.hidden_units) + 1, factor, is_last=True)


def _read_numbers(network: Network, features: Any) -> tuple[Any, Any]:
    """Return the standardized numbers, and the robustly scaled ones, both with indicators of missing numbers."""
    robust = tf.keras.layers.DenseFeatures(network.numbers)(features)
    missing = tf.math.is_nan(robust)
    # A missing number counts as the median.
    robust = tf.where(missing, tf.zeros_like(robust), robust)
    numbers = tf.clip_by_value(robust, -network.farthest, network.farthest)
    values = numbers * list(network.stretch) + list(network.shift)
    robust = numbers / tf.sqrt(1 + tf.square(numbers / CLIP))
    added: list[Any] = []
    if network.incomplete:
        added.append(tf.cast(tf.gather(missing, list(network.incomplete), axis=1), tf.float32))
    if network.cycles:
        places, factors, offsets = (list(each) for each in zip(*network.cycles, strict=True))
        phases = 2 * math.pi * (tf.gather(numbers, places, axis=1) * factors + offsets)
        added += [tf.sin(phases), tf.cos(phases)]
    return tf.concat([values, *added], 1), tf.concat([robust, *added], 1)


def _embed(numbers: Any) -> Any:
    """Embed each number by a periodic layer and a linear one, and keep the number itself ("PBLD" of RealMLP)."""
    count = numbers.shape[1]
    frequencies = _variable("plr_w1", [1, count, FREQUENCIES], v1.random_normal_initializer(0, 0.1))
    phases = _variable("plr_b1", [1, count, FREQUENCIES], _uniform(math.pi))
    weights = _variable("plr_w2", [count, FREQUENCIES, EMBEDDED], _uniform(0.25))
    biases = _variable("plr_b2", [1, count, EMBEDDED], _uniform(0.25))
    each = tf.expand_dims(numbers, 2)
    waves = tf.cos(2 * math.pi * each * frequencies + phases)
    embedded = tf.concat([tf.einsum("bnk,nkh->bnh", waves, weights) + biases, each], 2)
    return tf.reshape(embedded, [-1, count * (EMBEDDED + 1)])


def _dense(
    network: Network, inputs: Any, units: int, index: int, factor: Any, is_last: bool = False
) -> Any:
    """A layer in NTK form of inputs times a factor. The last one begins with 0, as does the linear model."""
    members, width = network.ensemble, inputs.shape[2]
    initial: Any = 0.0 if is_last else v1.random_normal_initializer(0, 1)
    # The members share the inputs of the first layer, so each scales its weights in their place.
    scale = _variable("scale", [members, 1, width], 1.0) if index == 1 else None
    weights = _variable(f"weight_{index}", [members, width, units], initial)
    bias = _variable(f"bias_{index}", [members, 1, units], initial)
    weights = weights * (factor / math.sqrt(width))
    if scale is not None:
        weights *= tf.transpose(scale, [0, 2, 1])
    if members > 1:
        return tf.matmul(inputs, weights) + bias
    # A third of the time of a product with an axis more.
    return tf.expand_dims(tf.nn.bias_add(tf.matmul(inputs[0], weights[0]), bias[0, 0]), 0)


def _activate(network: Network, values: Any, index: int) -> Any:
    share = _variable(f"act_{index}", [values.shape[0], 1, values.shape[2]], 1.0)
    return mixed(ACTIVATIONS[network.activation], values, share)


def mixed(activation: Callable[[Any], Any], values: Any, share: Any) -> Any:
    """Return what lies between the values and their activation, by a share of each unit."""

    @tf.custom_gradient
    def mix(x: Any, share: Any) -> Any:
        added, slope = activation(x)

        def gradient(upstream: Any) -> Any:
            of_share = tf.reduce_sum(upstream * added, 1, keepdims=True)
            return upstream * (1 + share * slope()), of_share

        return x + share * added, gradient

    return mix(values, share)


def _mish(x: Any) -> tuple[Any, Callable[[], Any]]:
    """Return what x tanh(log(1 + e^x)) adds to x, and the slope of that, by one exponential."""
    # Beyond 20, nothing is added in 32 bits.
    power = tf.exp(tf.minimum(x, 20.0))
    more = power + 1
    # tanh(log(y)) = 1 - 2 / (y^2 + 1)
    rest = -2 / (tf.square(more) + 1)
    added = x * rest
    return added, lambda: rest * (1 + added * (more * power))


def _selu(x: Any) -> tuple[Any, Callable[[], Any]]:
    value = tf.nn.selu(x)
    bend = _SELU_SCALE * _SELU_ALPHA
    return value - x, lambda: tf.where(x >= 0, _SELU_SCALE, value + bend) - 1


_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
ACTIVATIONS = {"mish": _mish, "selu": _selu}


def drop(values: Any, rate: Any) -> tuple[Any, Any]:
    """Omit a share of the units, to 1/256; return the others and the factor that keeps the sum.

    Each unit takes a byte of a random number.
    """
    shape = tf.shape(values)
    count = tf.reduce_prod(shape)
    pairs = tf.cast(tf.random.uniform([(count + 1) // 2]) * 65_536, tf.uint16)
    drawn = tf.reshape(tf.reshape(tf.bitcast(pairs, tf.uint8), [-1])[:count], shape)
    omitted = tf.round(rate * 256)
    kept = tf.cast(drawn >= tf.cast(omitted, tf.uint8), tf.float32)
    return values * kept, 256 / (256 - omitted)


def _sum_of_pairs(values: Sequence[Any]) -> Any:
    """Add tensors two at a time.

    A sum of three, such as the gradient of a tensor with three consumers, is added in an order that depends on which
    memory is free ("AddN" in tensorflow/core/kernels/aggregate_ops.cc), so its last digits would differ between runs.
    """
    return functools.reduce(tf.add, values)


def _variable(name: str, shape: Sequence[int], initial: Any, trainable: bool = True) -> Any:
    if isinstance(initial, float):
        initial = v1.constant_initializer(initial)
    return v1.get_variable(name, shape, tf.float32, initial, trainable=trainable)


def _uniform(bound: float) -> Any:
    return v1.random_uniform_initializer(-bound, bound)
