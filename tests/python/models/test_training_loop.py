"""Training loops: steps of the user against the same model as one function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import inputs
from support.callbacks import as_callback, as_model_fn
from support.checkpoints import assert_alike, assert_identical, variables
from support.custom_models import ROWS, X, Y, described, mean_square, settings, source
from support.models import model
from support.sampling import sampled

import tfdistribute
from tfdistribute.errors import ModelError
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.predict import concatenate, predict
from tfdistribute.training.train import train

v1 = tf.compat.v1
legacy = tf.keras.optimizers.legacy

pytestmark = pytest.mark.usefixtures("tensorflow")

STEPS = 10


def build(params: Any = None) -> dict[str, Any]:
    layers = [tf.keras.layers.Dense(4, "tanh"), tf.keras.layers.Dense(1)]
    return {
        "net": tf.keras.Sequential(layers),
        "optimizer": legacy.Adam(0.01 if params is None else params),
    }


def applied(optimizer: Any, tape: Any, loss: Any, variables: Any) -> Any:
    pairs = zip(tape.gradient(loss, variables), variables, strict=True)
    return optimizer.apply_gradients(pairs)


def train_step(parts: Any, features: Any, labels: Any) -> dict[str, Any]:
    with tf.GradientTape() as tape:
        loss = mean_square(labels, parts["net"](features["x"]))
    net = parts["net"].trainable_variables
    return {"loss": loss, "train_op": applied(parts["optimizer"], tape, loss, net)}


def eval_step(parts: Any, features: Any, labels: Any) -> dict[str, Any]:
    far = tf.square(labels - parts["net"](features["x"]))
    return {"loss": far, "mean": tf.reduce_mean(far), "far": v1.metrics.mean(far)}


def predict_step(parts: Any, features: Any) -> Any:
    return {"y": parts["net"](features["x"])}


def loop(directory: Path, **fields: Any) -> Any:
    steps = {"train_step": train_step, "eval_step": eval_step, "predict_step": predict_step}
    return model("training_loop", directory, **{"build_parts": build, **steps, **fields})


def as_one_function(features: Any, labels: Any, mode: str) -> Any:
    del mode
    return train_step(build(), features, labels)


def of_r(directory: Path) -> Any:
    """The loop as R passes it: what was built stays in R."""
    made: dict[str, Any] = {}

    def build_in_r() -> dict[str, Any]:
        made.update(build())
        return {}

    def step(features: Any, labels: Any, step: Any) -> Any:
        del step
        return train_step(made, features, labels)

    return loop(
        directory,
        build_parts=as_callback(build_in_r, ()),
        train_step=as_callback(step, ("features", "labels", "step")),
    )


@sampled("strategy", ["none", "mirrored", "central storage"], check=["none", "mirrored"])
@pytest.mark.parametrize("in_r", [False, True])
def test_a_loop_trains_bit_for_bit_as_one_function(
    tmp_path: Path, runs: list[int], strategy: str, in_r: bool
):
    steps = of_r(tmp_path / "loop") if in_r else loop(tmp_path / "loop")
    history = train(steps, settings(strategy), source(), steps=STEPS)
    assert max(runs) > 1
    function = as_model_fn(as_one_function) if in_r else as_one_function
    one = described(function, tmp_path / "one")
    expected = train(one, settings(strategy), source(), steps=STEPS)
    assert history.losses == expected.losses
    assert_identical(variables(tmp_path / "loop"), variables(tmp_path / "one"))


def test_two_devices_train_a_loop_as_one(tmp_path: Path):
    train(loop(tmp_path / "one"), settings(), source(), steps=STEPS)
    train(loop(tmp_path / "two"), settings("mirrored"), source(), steps=STEPS)
    assert_alike(variables(tmp_path / "two"), variables(tmp_path / "one"))


def test_a_step_may_return_a_loss_only(tmp_path: Path):
    def loss_only(parts: Any, features: Any, labels: Any) -> Any:
        return {"loss": mean_square(labels, parts["net"](features["x"]))}

    train(loop(tmp_path / "one"), settings(), source(), steps=STEPS)
    train(loop(tmp_path / "own", train_step=loss_only), settings(), source(), steps=STEPS)
    found, expected = variables(tmp_path / "own"), variables(tmp_path / "one")
    assert_alike(
        {name: found[name] for name in found if name.startswith("dense")},
        {name: expected[name] for name in expected if name.startswith("dense")},
    )


def test_two_optimizers_take_one_step_together(tmp_path: Path):
    def build_two(params: Any) -> dict[str, Any]:
        return {name: build(rate) for name, rate in params.items()}

    def both(parts: Any, features: Any, labels: Any, step: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            output = {name: parts[name]["net"](features["x"]) for name in ("a", "b")}
            losses = {
                "a": mean_square(labels, output["a"]),
                "b": mean_square(tf.stop_gradient(output["a"]), output["b"]),
            }
        updates = [
            applied(each["optimizer"], tape, losses[name], each["net"].trainable_variables)
            for name, each in parts.items()
        ]
        return {"loss": losses["a"], "train_op": updates, "step": tf.cast(step, tf.float32)}

    two = loop(
        tmp_path,
        build_parts=build_two,
        train_step=both,
        eval_step=None,
        predict_step=None,
        params={"a": 0.01, "b": 0.0},
    )
    train(two, settings(), source(), steps=1)
    before = variables(tmp_path)
    train(two, settings("mirrored"), source(), steps=4)
    after = variables(tmp_path)
    assert after["global_step"] == 5
    changed = {name for name in after if not np.array_equal(after[name], before[name])}
    kernels = {name for name in after if name.endswith("kernel")}
    # The second optimizer's learning rate is 0.
    assert len(kernels) == 4
    assert len(kernels & changed) == 2


def test_metrics_are_means_over_rows(tmp_path: Path):
    steps = loop(tmp_path)
    train(steps, settings(), source(), steps=3)
    uneven = inputs.in_memory({"x": X, "y": Y}, batch_size=20, epochs=1, shuffle=False)
    predictions = concatenate(predict(steps, settings(), uneven))["y"]
    assert len(predictions) == ROWS
    expected = float(np.mean((Y.ravel() - predictions.ravel()) ** 2))
    metrics = evaluate(steps, settings(), uneven)
    assert set(metrics) == {"loss", "mean", "far", "global_step"}
    for name in ("loss", "mean", "far"):
        assert metrics[name] == pytest.approx(expected, rel=1e-5), name


@pytest.mark.parametrize("verb", [evaluate, predict])
def test_a_verb_without_its_step_is_refused(tmp_path: Path, verb: Any):
    train(loop(tmp_path), settings(), source(), steps=1)
    bare = loop(tmp_path, eval_step=None, predict_step=None)
    with pytest.raises(ModelError, match=f"which {verb.__name__}\\(\\) needs") as caught:
        list(verb(bare, settings(), source(epochs=1)))
    assert caught.value.remedy == f"Give `{caught.value.argument}` to training_loop()."


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda loss: [loss], "`train_step` returned list, and its values have names."),
        (lambda loss: {"train_op": loss}, "`train_step` returned no `loss`."),
        (lambda loss: {"loss": loss}, "`train_step` returned no `train_op`, and `build` made no"),
    ],
)
def test_results_of_a_step_that_cannot_train_are_refused(
    tmp_path: Path, returned: Any, message: str
):
    steps = loop(
        tmp_path,
        build_parts=lambda: None,
        train_step=lambda features: returned(tf.reduce_mean(features["x"])),
    )
    with pytest.raises(ModelError) as caught:
        train(steps, settings(), source(), steps=1)
    assert caught.value.problem.startswith(message)
    assert caught.value.remedy


def test_python_describes_a_loop_by_the_words_of_r(tmp_path: Path):
    steps = (train_step, eval_step, predict_step)
    made = tfdistribute.training_loop(build, *steps, model_dir=str(tmp_path))
    assert made == loop(tmp_path)
