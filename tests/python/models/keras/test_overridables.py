"""Each member and setting of Keras that a user may override: as in fit(), or refused by name.

A row is a function of the library (``tf.keras`` or Keras 3) that builds a model, and what follows: None if weights,
losses and metrics are those of fit() and evaluate(), or else the text of the error.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import keras_models, models
from support.inputs import from_function, in_memory
from support.keras_models import settings
from support.sampling import sampled

from tfdistribute import versions
from tfdistribute.engine import tf
from tfdistribute.errors import TfdistributeError, UnsupportedError
from tfdistribute.training import concatenate, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

pytestmark = pytest.mark.usefixtures("tensorflow")

STEPS, ROWS, BATCH = 10, 64, 8
X = np.random.default_rng(0).normal(size=(ROWS, 2)).astype("float32")
Y = (X[:, :1] - 2 * X[:, 1:]).astype("float32")
CLASS = (Y > 0).astype("float32")

LIBRARIES = ["Keras 2", "Keras 3"][: 1 + versions.is_newer(versions.tensorflow())]

Build = Callable[[Any], Any]
Row = tuple[Build, str | None]


def sgd(keras: Any, **settings: Any) -> Any:
    library = keras.optimizers if keras is not tf.keras else keras.optimizers.legacy
    return library.SGD(0.05, **settings)


def network(
    middle: Build | None = None,
    optimizer: Build = sgd,
    of: Build = lambda keras: keras.Model,
    then: Callable[[Any], None] = lambda _model: None,
    **options: Any,
) -> Build:
    """Return a function that builds a compiled model of two or three layers."""

    def build(keras: Any) -> Any:
        x = keras.Input((2,), name="x", batch_size=options.get("rows"))
        hidden = (middle(keras) if middle else keras.layers.Dense(3, "tanh"))(x)
        model = of(keras)(x, keras.layers.Dense(1, name="y")(hidden))
        arguments = {"loss": "mse", **options.get("arguments", {})}
        model.compile(optimizer(keras), **{k: _of(v, keras) for k, v in arguments.items()})
        then(model)
        return model

    return build


def _of(value: Any, keras: Any) -> Any:
    return value(keras) if callable(value) else value


def compiled(**arguments: Any) -> Build:
    return network(arguments=arguments)


def overriding(name: str, value: Any = None) -> Build:
    """Return a function that builds a model of a subclass with its own ``name``."""

    def own(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(super(type(self), self), name)(*args, **kwargs)

    return network(of=lambda keras: type("Own", (keras.Model,), {name: value or own}))


def with_optimizer(name: str, **settings: Any) -> Build:
    def make(keras: Any) -> Any:
        both = keras.optimizers
        library = both if keras is not tf.keras or not hasattr(both.legacy, name) else both.legacy
        return getattr(library, name)(0.02, **settings)

    return network(optimizer=make)


def own_optimizer(name: str) -> Build:
    def make(keras: Any) -> Any:
        library = keras.optimizers if keras is not tf.keras else keras.optimizers.legacy

        def own(self: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(library.SGD, name)(self, *args, **kwargs)

        return type("Own", (library.SGD,), {name: own})(0.05)

    return network(optimizer=make)


def excluding(keras: Any) -> Any:
    optimizer = keras.optimizers.AdamW(0.05, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    return optimizer


def halving(keras: Any) -> Any:
    class Halving(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.factor = self.add_weight(shape=(shape[-1],), initializer="ones", name="factor")

        def call(self, x: Any, training: bool = False) -> Any:
            if training:
                self.factor.assign(self.factor * 0.5)
            return x * self.factor

    return Halving()


def penalizing(keras: Any) -> Any:
    class Penalizing(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            self.add_loss(0.1 * tf.reduce_sum(tf.square(x)))
            return x

    return Penalizing()


def measuring(keras: Any) -> Any:
    class Measuring(keras.layers.Layer):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.mean = keras.metrics.Mean(name="own")

        def call(self, x: Any) -> Any:
            self.mean.update_state(x)
            return x

    return Measuring()


def frozen_inside(keras: Any) -> Any:
    class Frozen(keras.layers.Layer):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.first = keras.layers.Dense(3, "tanh")
            self.second = keras.layers.Dense(3, "tanh")

        def call(self, x: Any) -> Any:
            return self.second(self.first(x))

    layer = Frozen()
    layer.first.trainable = False
    return layer


def freeze(model: Any) -> None:
    model.layers[1].trainable = False


def two_outputs(keys: dict[str, str], **losses: Any) -> Build:
    """Return a function that builds a model whose outputs have ``keys``, from layers of these names."""

    def build(keras: Any) -> Any:
        x = keras.Input((2,), name="x")
        hidden = keras.layers.Dense(3, "tanh")(x)
        first, second = keys.items()
        outputs = {
            first[0]: keras.layers.Dense(1, name=first[1])(hidden),
            second[0]: keras.layers.Dense(1, "sigmoid", name=second[1])(hidden),
        }
        model = keras.Model(x, outputs)
        given = {first[0]: "mse", second[0]: "binary_crossentropy", **losses}
        model.compile(sgd(keras), given, metrics={first[0]: ["mae"], second[0]: ["accuracy"]})
        return model

    return build


LAYERS: dict[str, Build] = {
    "constraint": lambda k: k.layers.Dense(3, kernel_constraint=k.constraints.MaxNorm(0.5)),
    "regularizers": lambda k: k.layers.Dense(3, kernel_regularizer="l2", bias_regularizer="l2"),
    "l1": lambda k: k.layers.Dense(3, kernel_regularizer="l1", bias_regularizer="L1L2"),
    "activity": lambda k: k.layers.Dense(3, activity_regularizer="l2"),
    "add_loss": penalizing,
    "momentum": lambda k: k.layers.BatchNormalization(momentum=0.6),
    "renamed": lambda k: k.layers.Dense(3, name="other"),
    "frozen": lambda k: k.layers.Dense(3, trainable=False),
    "frozen inside": frozen_inside,
    "halving": halving,
    "spectral": lambda k: k.layers.SpectralNormalization(k.layers.Dense(3)),
}

COMPILE: dict[str, dict[str, Any]] = {
    "loss_weights": {"loss_weights": [0.5]},
    "metrics": {"metrics": ["mae", "mse"]},
    "weighted_metrics": {"weighted_metrics": ["mae"]},
    "F1": {"metrics": lambda k: [k.metrics.F1Score(threshold=0.5)]},
    "R2": {"metrics": lambda k: [k.metrics.R2Score()]},
    "metric object": {"metrics": lambda k: [k.metrics.RootMeanSquaredError()]},
    "loss object": {"loss": lambda k: k.losses.Huber()},
    "sum": {"loss": lambda k: k.losses.MeanSquaredError(reduction="sum")},
    "run_eagerly": {"run_eagerly": True},
    "steps_per_execution": {"steps_per_execution": 2},
    "jit_compile": {"jit_compile": False},
}

OWN = "defines its own {}, which an Estimator does not call"
MEMBERS = ["train_step", "test_step", "predict_step", "compute_loss", "compute_metrics"]
MEMBERS += ["make_train_function", "make_test_function", "make_predict_function"]
MEMBERS += ["fit", "evaluate", "predict"]

CLIPPED = {"clipnorm": 0.1, "clipvalue": 0.1, "global_clipnorm": 0.1}


def nested(keras: Any) -> Any:
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(3), penalizing(keras)])


def adding_to_the_loss(model: Any) -> None:
    model.add_loss(tf.reduce_mean(tf.square(model.layers[1].output)))


def adding_a_metric(model: Any) -> None:
    model.add_metric(tf.reduce_mean(model.layers[1].output), name="own", aggregation="mean")


OWN_METRIC = 'has a layer with the metric "own"'

BOTH: dict[str, Row] = {
    **{name: (network(middle), None) for name, middle in LAYERS.items()},
    "nested": (network(nested), None),
    "layer metric": (network(measuring), OWN_METRIC),
    **{f"compile {name}": (compiled(**each), None) for name, each in COMPILE.items()},
    **{f"model {name}": (overriding(name), OWN.format(name)) for name in MEMBERS},
    "frozen later": (network(then=freeze), None),
    **{f"SGD {name}": (with_optimizer("SGD", **{name: v}), None) for name, v in CLIPPED.items()},
    "SGD nesterov": (with_optimizer("SGD", momentum=0.9, nesterov=True), None),
    "Adam amsgrad": (with_optimizer("Adam", amsgrad=True), None),
    "RMSprop centered": (with_optimizer("RMSprop", centered=True, momentum=0.5), None),
    **{
        name: (with_optimizer(name), None)
        for name in ("Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl")
    },
}

OTHER, CROSSED = two_outputs({"price": "a", "class": "b"}), two_outputs({"p": "q", "q": "p"})

KERAS_2: dict[str, Row] = {
    "add_loss of the model": (network(then=adding_to_the_loss), None),
    "add_metric of the model": (network(then=adding_a_metric), OWN_METRIC),
    "outputs of other names": (OTHER, "names its outputs 'class', 'price'"),
    "outputs of crossed names": (CROSSED, "names its outputs 'p', 'q'"),
    "model call": (overriding("call"), OWN.format("call")),
    "AdamW": (with_optimizer("AdamW"), "which an Estimator cannot use"),
    "Lion": (with_optimizer("Lion"), "which an Estimator cannot use"),
    "use_ema": (
        network(optimizer=lambda k: k.optimizers.SGD(0.05, use_ema=True)),
        "which an Estimator cannot use",
    ),
}

KERAS_3: dict[str, Row] = {
    "outputs of other names": (OTHER, None),
    "outputs of crossed names": (CROSSED, None),
    "compile weighted mean": (
        compiled(loss=lambda k: k.losses.MeanSquaredError(reduction="mean_with_sample_weight")),
        None,
    ),
    "model call": (overriding("call"), None),
    "model stateless": (overriding("__call__"), OWN.format("__call__")),
    "optimizer apply": (own_optimizer("apply"), None),
    "optimizer update_step": (own_optimizer("update_step"), None),
    "optimizer apply_gradients": (own_optimizer("apply_gradients"), OWN.format("apply_gradients")),
    "exclude_from_weight_decay": (network(optimizer=excluding), None),
    "loss_scale_factor": (with_optimizer("SGD", loss_scale_factor=4.0), None),
    "use_ema": (with_optimizer("SGD", use_ema=True, ema_momentum=0.9), None),
    "ema_overwrite_frequency": (
        with_optimizer("SGD", use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=3),
        None,
    ),
    "gradient_accumulation_steps": (
        with_optimizer("SGD", gradient_accumulation_steps=2),
        "has an optimizer with `gradient_accumulation_steps`",
    ),
    **{name: (with_optimizer(name), None) for name in ("AdamW", "Lion", "Adafactor", "Lamb")},
    "weight_decay": (with_optimizer("SGD", weight_decay=0.1), None),
    "unknown loss": (two_outputs({"p": "q", "q": "p"}, r="mse"), 'a loss for "r", which is not'),
    "several losses": (compiled(loss=["mse", "mae"]), "several losses for one output"),
    "dropout": (network(lambda k: k.layers.Dropout(0.5, seed=1)), None),
}

ROWS_OF: dict[str, dict[str, Row]] = {
    "Keras 2": {**BOTH, **KERAS_2},
    "Keras 3": {**BOTH, **KERAS_3},
}
CASES = [(library, name) for library, rows in ROWS_OF.items() for name in rows]
# `make check` trains what both libraries have with one of them, in turn. test_keras3.py has these optimizers, too.
TRAINED_BY_BOTH = [name for name, (_, refusal) in BOTH.items() if refusal is None]
LEFT = [
    *(("Keras 2", name) for name in TRAINED_BY_BOTH[::2]),
    *(("Keras 3", name) for name in (*TRAINED_BY_BOTH[1::2], "Lion", "Adafactor", "Lamb")),
]


def _library(name: str) -> Any:
    if name == "Keras 2":
        return tf.keras
    import keras

    return keras


def batches(model: Any, repeat: bool = True) -> Any:
    names = list(model.output) if isinstance(model.output, dict) else []
    labels = {name: CLASS if name in ("class", "q") else Y for name in names} or Y
    made = tf.data.Dataset.from_tensor_slices(({"x": X}, labels))
    return (made.repeat() if repeat else made).batch(BATCH, drop_remainder=True)


@sampled(("library", "name"), CASES, check=[each for each in CASES if each not in LEFT])
def test_what_keras_lets_a_user_override_acts_as_in_fit_or_is_refused(
    tmp_path: Path, library: str, name: str
) -> None:
    keras = _library(library)
    build, refusal = ROWS_OF[library][name]
    described = models.model("keras", tmp_path / "m", function=lambda: build(keras))
    if refusal is not None:
        with pytest.raises(TfdistributeError, match=refusal):
            _train(described)
        return
    plain = described.model_facts(1).model
    start = plain.get_weights()
    _train(described)
    plain = build(keras)
    plain.set_weights(start)
    plain.fit(batches(plain), steps_per_epoch=STEPS, epochs=1, shuffle=False, verbose=0)
    _assert_equal(described, plain, name)


def _train(described: Any) -> None:
    model = described.model_facts(1).model
    train(described, settings(seed=1), from_function(lambda: batches(model)), steps=STEPS)


def _assert_equal(described: Any, plain: Any, name: str) -> None:
    found = keras_models.weights(described.model_dir)
    facts = described.model_facts()
    if "ema" not in name:
        for (key, _), weight in zip(facts.weights, plain.get_weights(), strict=True):
            np.testing.assert_allclose(found[key], weight, rtol=1e-5, atol=1e-6, err_msg=key)
    rows = from_function(lambda: batches(plain, repeat=False))
    expected = plain.evaluate(batches(plain, repeat=False), verbose=0, return_dict=True)
    measured = evaluate(described, settings(), rows)
    for key, value in expected.items():
        assert measured[key] == pytest.approx(np.asarray(value).item(), rel=1e-5), key
    predicted = concatenate(predict(described, settings(), rows))
    expected = plain.predict(X, verbose=0)
    expected = expected if isinstance(expected, dict) else {"y": expected}
    for key, values in expected.items():
        np.testing.assert_allclose(predicted[key], values, rtol=1e-5, atol=1e-5, err_msg=key)


def masked(keras: Any) -> Any:
    """Compile a model whose loss is a mean over the words that are not 0."""
    x = keras.Input((4,), name="x", dtype="int32")
    hidden = keras.layers.Embedding(6, 3, mask_zero=True)(x)
    model = keras.Model(x, keras.layers.Dense(1, name="y")(hidden))
    model.compile(sgd(keras), "mse")
    return model


@pytest.mark.versions
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_mask_counts_alike_on_two_devices_and_not_in_micro_batches(
    tmp_path: Path, library: str
) -> None:
    keras, random = _library(library), np.random.default_rng(1)
    words = random.integers(0, 6, (ROWS, 4)).astype("int32")
    words[::BATCH, 1:] = 0
    words[:, 0] = 1
    y = random.normal(size=(ROWS, 4, 1)).astype("float32")
    rows = in_memory({"x": words, "y": y}, batch_size=BATCH, shuffle=False)
    described = models.model("keras", tmp_path / "m", function=lambda: masked(keras))
    plain = masked(keras)
    plain.set_weights(described.model_facts(1).model.get_weights())
    train(described, settings("mirrored", seed=1), rows)
    made = tf.data.Dataset.from_tensor_slices(({"x": words}, y)).batch(BATCH)
    plain.fit(made, epochs=1, shuffle=False, verbose=0)
    found = keras_models.weights(described.model_dir)
    for (key, _), weight in zip(described.model_facts().weights, plain.get_weights(), strict=True):
        np.testing.assert_allclose(found[key], weight, rtol=1e-5, atol=1e-6, err_msg=key)
    described = models.model("keras", tmp_path / "parts", function=lambda: masked(keras))
    with pytest.raises(UnsupportedError, match="number differs in `micro_batches`"):
        train(described, settings(micro_batches=2), rows)


@pytest.mark.parametrize("middle", [halving, LAYERS["spectral"]])
@pytest.mark.parametrize(("strategy", "micro_batches"), [("mirrored", 1), ("none", 2)])
def test_a_weight_that_a_layer_of_keras_3_assigns_needs_one_whole_batch(
    tmp_path: Path, middle: Build, strategy: str, micro_batches: int
) -> None:
    keras = _library("Keras 3")
    described = models.model("keras", tmp_path, function=lambda: network(middle)(keras))
    rows = in_memory({"x": X, "y": Y[:, 0]}, batch_size=BATCH, epochs=None)
    with pytest.raises(UnsupportedError, match="assigns a trainable weight in call"):
        train(described, settings(strategy, micro_batches=micro_batches), rows, steps=1)
