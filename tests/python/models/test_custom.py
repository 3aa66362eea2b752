"""Results of model functions, accepted and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import equality_models
from support.callbacks import as_model_fn
from support.checkpoints import assert_alike, variables
from support.custom_models import (
    STEPS,
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

from tfdistribute.errors import ArgumentError, CallbackError, ModelDirectoryError, ModelError
from tfdistribute.training import concatenate, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


OPTIMIZERS: dict[str, Any] = {
    "a name": "sgd",
    "a description": {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.01}},
    "an object of TensorFlow 1": lambda: v1.train.GradientDescentOptimizer(0.01),
    "a legacy object": lambda: legacy.SGD(0.01),
    "a new object": lambda: tf.keras.optimizers.SGD(0.01),
    "a new object of the graph": lambda: tf.keras.optimizers.SGD(0.01),
}


def beside_the_loss(optimizer: Any, in_graph: bool = False) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output, _ = line(features)
        hidden = v1.layers.batch_normalization(output, training=mode == "train")
        return {
            "predictions": output,
            "loss": None if labels is None else mean_square(labels, output + 0 * hidden),
            "optimizer": optimizer() if in_graph else optimizer,
        }

    return model_fn


@sampled("name", OPTIMIZERS, check=["a name", "a new object", "a new object of the graph"])
def test_an_optimizer_beside_the_loss_trains_all_variables(alone: Any, tmp_path: Path, name: str):
    optimizer = OPTIMIZERS[name]
    made = optimizer() if name in ("a legacy object", "a new object") else optimizer
    in_graph = name == "a new object of the graph"
    values = trained(beside_the_loss(made, in_graph), tmp_path, "mirrored")
    expected = alone("beside", beside_the_loss("sgd"))
    assert values["global_step"] == STEPS
    for variable in ("kernel", "bias"):
        np.testing.assert_allclose(values[variable], expected[variable], rtol=2e-6)
    assert np.abs(values["batch_normalization/moving_mean"]).max() > 0


def test_predictions_and_metrics_come_back_by_name(tmp_path: Path):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output, _ = line(features)
        if mode == "infer":
            return {"predictions": {"y": output}}
        keras = tf.keras.metrics.MeanAbsoluteError()
        keras.update_state(labels, output)
        return {
            "mode": mode,
            "loss": mean_square(labels, output),
            "optimizer": "sgd",
            "eval_metric_ops": {
                "pair": list(v1.metrics.mean_absolute_error(labels, output)),
                "keras": keras,
            },
        }

    function = described(model_fn, tmp_path)
    train(function, settings(), source(), steps=STEPS)
    metrics = evaluate(function, settings(), source(epochs=1))
    outputs = concatenate(predict(function, settings(), source(epochs=1)))["y"]
    labels = np.concatenate(
        [batch[1] for batch in source(epochs=1).input_fn("evaluate", 1)().as_numpy_iterator()]
    )
    expected = np.abs(outputs - labels).mean()
    assert metrics["pair"] == pytest.approx(expected, rel=1e-5)
    assert metrics["keras"] == pytest.approx(expected, rel=1e-5)
    assert metrics["loss"] == pytest.approx(np.square(outputs - labels).mean(), rel=1e-5)


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (lambda loss: None, "returned nothing"),
        (lambda loss: [loss], "a list without names"),
        (lambda loss: loss, "an object of class"),
        (lambda loss: {"loss": loss}, "neither of `train_op` and `optimizer`"),
        (lambda loss: {"optimizer": "sgd"}, 'no `loss` in mode "train"'),
        (lambda loss: {"loss": loss, "solver": "sgd"}, "`solver`, which is not a field"),
        (lambda loss: {"loss": loss, "mode": "eval"}, 'returned a specification of mode "eval"'),
        (
            lambda loss: {"loss": [loss, loss], "optimizer": "sgd"},
            "TensorFlow rejects: loss must be Tensor",
        ),
        (lambda loss: {"loss": loss, "train_op": "a"}, "`train_op` is 'a'"),
    ],
)
def test_a_model_function_that_returns_something_else_is_refused(
    tmp_path: Path, returned: Any, problem: str
):
    def model_fn(features: Any, labels: Any) -> Any:
        return returned(mean_square(labels, line(features)[0]))

    with pytest.raises(ModelError, match=problem):
        trained(model_fn, tmp_path)


@pytest.mark.parametrize("strategy", ["none", "mirrored"])
@pytest.mark.parametrize("counts", [True, False])
def test_every_step_is_counted_once(alone: Any, tmp_path: Path, counts: bool, strategy: str):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        loss = mean_square(labels, line(features)[0])
        step = v1.train.get_or_create_global_step() if counts else None
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    values = trained(model_fn, tmp_path, strategy)
    assert_alike(values, alone("v1", with_optimizer("v1")))
    assert values["global_step"] == STEPS


def test_layers_without_a_seed_follow_the_runs_seed(tmp_path: Path):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        hidden = v1.layers.dense(features["x"], 4)
        output = tf.keras.layers.Dense(1)(tf.keras.layers.Dropout(0.5)(hidden, mode == "train"))
        return {"loss": mean_square(labels, output), "optimizer": "sgd"}

    def kernels(name: str, seed: int) -> list[Any]:
        function = described(model_fn, tmp_path / name)
        train(function, settings(seed=seed), source(), steps=1)
        return [value for key, value in variables(tmp_path / name).items() if "kernel" in key]

    first, again, other = kernels("first", 3), kernels("again", 3), kernels("other", 4)
    assert len(first) == 2
    for index in range(2):
        np.testing.assert_array_equal(first[index], again[index])
        assert not np.array_equal(first[index], other[index])


def test_hooks_of_a_model_take_part(tmp_path: Path):
    seen: list[str] = []

    class Note(tf.estimator.SessionRunHook):
        def begin(self) -> None:
            seen.append("begin")

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output, _ = line(features)
        return {
            "loss": mean_square(labels, output),
            "predictions": output,
            "optimizer": "sgd",
            "training_hooks": [{"kind": "stop_at_step", "last_step": 2}],
            "evaluation_hooks": Note(),
        }

    for strategy in ("none", "mirrored"):
        function = described(model_fn, tmp_path / strategy)
        train(function, settings(strategy), source(), steps=10)
        assert variables(tmp_path / strategy)["global_step"] == 2
        evaluate(function, settings(strategy), source(epochs=1))
    assert seen == ["begin", "begin"]


def test_a_hook_that_belongs_to_train_is_refused_in_a_model(tmp_path: Path):
    def model_fn(features: Any, labels: Any) -> Any:
        loss = mean_square(labels, line(features)[0])
        hooks = [{"kind": "progress_bar"}]
        return {"loss": loss, "optimizer": "sgd", "training_hooks": hooks}

    with pytest.raises(ArgumentError, match=r"hook_progress_bar\(\) changes what train"):
        trained(model_fn, tmp_path)


@pytest.mark.parametrize("strategy", ["none", "mirrored"])
def test_the_error_of_a_function_of_r_comes_out_as_it_is(tmp_path: Path, strategy: str):
    def failing(features: Any, labels: Any, mode: str) -> Any:
        raise ValueError("no luck {today}")

    with pytest.raises(CallbackError, match=r"`model_fn` failed: no luck \{today\}$"):
        trained(as_model_fn(failing), tmp_path, strategy)


def test_training_works_after_an_error_in_the_second_replica(tmp_path: Path):
    def failing(features: Any, labels: Any, mode: str) -> Any:
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        if int(tf.get_static_value(replica)) == 1 and broken:
            raise ValueError("only here")
        return equality_models.dense_with_sgd(features, labels, mode)

    broken = True
    with pytest.raises(CallbackError, match="only here"):
        trained(as_model_fn(failing), tmp_path, "mirrored")
    broken = False
    assert trained(as_model_fn(failing), tmp_path, "mirrored")["global_step"] == STEPS


def test_replicas_that_run_different_code_are_refused_by_name(tmp_path: Path):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        replica = tf.distribute.get_replica_context()
        if int(tf.get_static_value(replica.replica_id_in_sync_group)) == 0:
            replica.all_reduce("sum", tf.constant(1.0))
        return equality_models.dense_with_sgd(features, labels, mode)

    with pytest.raises(ModelError, match="merge call"):
        trained(as_model_fn(model_fn), tmp_path, "mirrored")


def test_a_checkpoint_of_another_model_function_is_refused(tmp_path: Path):
    trained(with_optimizer("v1"), tmp_path)

    def other(features: Any, labels: Any) -> Any:
        output = v1.layers.dense(features["x"], 1, name="other")
        return {"loss": mean_square(labels, output), "optimizer": "sgd"}

    with pytest.raises(ModelDirectoryError, match="holds another model"):
        trained(other, tmp_path)
    with pytest.raises(ModelDirectoryError, match="its class is"):
        trained(with_optimizer("v1"), tmp_path, model_class=["mine"])


def test_a_function_without_features_is_refused():
    with pytest.raises(ModelError, match="no argument `features`"):
        described(lambda labels: None, Path("models/m"))


def test_params_reach_a_function_of_python_unchanged(tmp_path: Path):
    params = {"rate": 0.1, "layers": [1, 2]}
    seen = []

    def model_fn(features: Any, labels: Any, params: Any, config: Any) -> Any:
        seen.append((params, config.tf_random_seed))
        return {"loss": mean_square(labels, line(features)[0]), "optimizer": "sgd"}

    trained(model_fn, tmp_path, params=params)
    assert seen == [(params, 3)]
    assert seen[0][0] is params
