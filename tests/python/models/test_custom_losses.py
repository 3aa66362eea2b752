"""Step sizes and reported losses of model functions on several devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support.checkpoints import assert_alike
from support.custom_models import (
    STEPS,
    TRAIN_OPS,
    clip_and_apply,
    described,
    legacy,
    line,
    mean_square,
    settings,
    source,
    trained,
    with_optimizer,
)
from support.sampling import sampled
from support.strategies import STRATEGIES

from tfdistribute import engine
from tfdistribute.errors import ModelError
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


@sampled(
    ("how", "strategy"),
    [
        *[(how, "mirrored") for how in TRAIN_OPS],
        ("get_updates", "mirrored over 3"),
        ("get_updates", "central storage"),
    ],
    check=[
        ("apply_gradients", "mirrored"),
        ("loss scaling", "mirrored"),
        ("v1", "mirrored"),
        ("get_updates", "central storage"),
    ],
)
def test_a_loss_for_one_device_takes_the_same_steps_on_several(
    alone: Any, tmp_path: Path, how: str, strategy: str
):
    expected = alone(how, with_optimizer(how))
    assert abs(expected["kernel"]).max() > 0.01
    assert_alike(trained(with_optimizer(how), tmp_path, strategy), expected)


@pytest.mark.parametrize("how", ["get_updates", "v1"])
def test_a_loss_that_the_user_divided_is_not_divided_again(alone: Any, tmp_path: Path, how: str):
    def divided(labels: Any, output: Any) -> Any:
        return tf.nn.compute_average_loss(tf.squeeze(tf.square(labels - output), 1))

    function = with_optimizer(how, divided)
    several = trained(function, tmp_path, "mirrored", loss_reduction="sum")
    assert_alike(several, alone(how, with_optimizer(how)))


@pytest.mark.parametrize("how", ["get_updates", "v1"])
def test_a_sum_over_examples_stays_a_sum(alone: Any, tmp_path: Path, how: str):
    def total(labels: Any, output: Any) -> Any:
        return v1.losses.mean_squared_error(
            labels, output, weights=0.01, reduction=v1.losses.Reduction.SUM
        )

    several = trained(with_optimizer(how, total), tmp_path, "mirrored")
    assert_alike(several, alone(f"total {how}", with_optimizer(how, total)))


def test_reported_losses_are_those_of_one_device(tmp_path: Path):
    def losses(strategy: str) -> tuple[list[float], float]:
        function = described(with_optimizer("get_updates"), tmp_path / strategy)
        several = settings(strategy, eval_distribute=STRATEGIES[strategy])
        history = train(function, several, source(), steps=STEPS)
        evaluation = evaluate(function, several, source(epochs=1))
        return history.losses, evaluation["loss"]

    single, several = losses("none"), losses("mirrored")
    np.testing.assert_allclose(several[0], single[0], rtol=1e-5)
    assert several[1] == pytest.approx(single[1], rel=1e-5)


def test_optimizers_outside_model_functions_stay_as_they_are():
    engine.repairs.gradient_scale.install()
    variable = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        loss = variable * 2.0
    gradient = tape.gradient(loss, variable)
    legacy.SGD(0.5).apply_gradients([(gradient, variable)])
    tf.keras.optimizers.SGD(0.5).apply_gradients([(gradient, variable)])
    assert variable.numpy() == -1.0


def test_an_optimizer_of_the_new_keras_is_refused_by_name(tmp_path: Path):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output, ours = line(features)
        loss = mean_square(labels, output)
        train_op = clip_and_apply(tf.keras.optimizers.Adam(0.1), loss, ours)
        return {"loss": loss, "train_op": train_op}

    with pytest.raises(ModelError, match=r"tf\.keras\.optimizers\.Adam") as caught:
        trained(model_fn, tmp_path)
    assert "legacy.Adam" in str(caught.value.remedy)
