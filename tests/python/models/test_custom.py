"""Model functions of the user: the same numbers on several devices as on one, and what is refused."""

from __future__ import annotations

import functools
import inspect
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import equality_models as models  # noqa: E402
from support.sampling import sampled  # noqa: E402
from tensorflow.core.protobuf import rewriter_config_pb2  # noqa: E402

from tfdistribute import engine  # noqa: E402
from tfdistribute.descriptions import read  # noqa: E402
from tfdistribute.errors import (  # noqa: E402
    ArgumentError,
    CallbackError,
    ModelDirectoryError,
    ModelError,
    RunConfigError,
)
from tfdistribute.inputs import Input  # noqa: E402
from tfdistribute.models import Model  # noqa: E402
from tfdistribute.run_config import RunSettings  # noqa: E402
from tfdistribute.training.evaluate import evaluate  # noqa: E402
from tfdistribute.training.predict import joined, predict  # noqa: E402
from tfdistribute.training.train import train  # noqa: E402

v1 = tf.compat.v1
legacy = tf.keras.optimizers.legacy

pytestmark = pytest.mark.usefixtures("tensorflow")

STEPS, ROWS = 4, 48
STRATEGIES: dict[str, dict[str, Any] | None] = {
    "none": None,
    "one device": {"kind": "one_device", "device": "CPU:0"},
    "mirrored over 2": {"kind": "mirrored", "devices": 2},
    "mirrored over 3": {"kind": "mirrored", "devices": 3},
    "central storage": {"kind": "central_storage", "devices": 2},
}
SEVERAL = [name for name in STRATEGIES if name.startswith(("mirrored", "central"))]


def as_callback(model_fn: Any) -> dict[str, Any]:
    """A function as R hands it over: it is given all arguments, and answers with a value or the text of an error."""

    def call(features: Any, labels: Any, mode: str, config: Any) -> dict[str, Any]:
        try:
            return {"value": model_fn(features, labels, mode)}
        except Exception as error:  # noqa: BLE001
            return {"error": str(error)}

    return {"call": call, "formals": ["features", "labels", "mode", "config"]}


def described(model_fn: Any, directory: Path, **fields: Any) -> Model:
    return read(
        Model, {"kind": "custom", "model_fn": model_fn, "model_dir": str(directory), **fields}
    )


def settings(strategy: str | None = None, **fields: Any) -> RunSettings:
    distribute = STRATEGIES[strategy or "none"]
    return read(RunSettings, {"train_distribute": distribute, "tf_random_seed": 3, **fields})


def source(rows: int = ROWS, batch_size: int = 12, num_epochs: int | None = None) -> Input:
    random = np.random.default_rng(5)
    x = random.normal(size=(ROWS, models.FEATURES)).astype("float32")[:rows]
    y = (x @ np.array([1.0, -2.0, 0.5, 0.25]) + 0.1).astype("float32").reshape(-1, 1)
    columns = [
        {"name": "x", "type": "float", "shape": [models.FEATURES], "values": lambda: x},
        {"name": "y", "type": "float", "shape": [1], "values": lambda: y},
    ]
    return read(
        Input,
        {
            "kind": "in_memory",
            "columns": columns,
            "response": "y",
            "batch_size": batch_size,
            "num_epochs": num_epochs,
            "shuffle": False,
        },
    )


def variables(directory: Path) -> dict[str, Any]:
    checkpoint = tf.train.latest_checkpoint(str(directory))
    names = [name for name, _ in tf.train.list_variables(checkpoint)]
    return {name: tf.train.load_variable(checkpoint, name) for name in names}


def trained(
    model_fn: Any, directory: Path, strategy: str = "none", steps: int = STEPS, **fields: Any
) -> dict[str, Any]:
    train(described(model_fn, directory, **fields), settings(strategy), source(), steps=steps)
    return variables(directory)


@pytest.fixture(scope="module")
def alone(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Train without a strategy, each model once."""
    known: dict[str, dict[str, Any]] = {}

    def of(name: str, model_fn: Any) -> dict[str, Any]:
        if name not in known:
            known[name] = trained(model_fn, tmp_path_factory.mktemp("alone"))
        return known[name]

    return of


def assert_alike(values: dict[str, Any], expected: dict[str, Any], rtol: float = 2e-6) -> None:
    assert set(values) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(values[name], value, rtol=rtol, atol=rtol, err_msg=name)


def line(features: Any) -> tuple[Any, Any]:
    """A linear prediction, and the variables it is made of."""
    kernel = v1.get_variable("kernel", [models.FEATURES, 1], initializer=v1.zeros_initializer())
    bias = v1.get_variable("bias", [1], initializer=v1.zeros_initializer())
    return features["x"] @ kernel + bias, [kernel, bias]


def mean_square(labels: Any, output: Any) -> Any:
    return tf.reduce_mean(tf.square(labels - output))


# Equality --------------------------------------------------------------------------------------


def pure_tensorflow(model: str, directory: Path, replicas: int, steps: int) -> dict[str, Any]:
    """The same training with tf.estimator on its threads; the loss of a Keras optimizer is divided by hand."""
    # Without it TensorFlow cannot train `all_reduce_in_model` where one device sums.
    engine.repairs.all_reduce.install()
    model_fn = models.MODELS[model]
    if model == "keras_layers":
        model_fn = functools.partial(model_fn, loss_share=1 / replicas)
    with tf.Graph().as_default():
        strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
    # Estimators without a session configuration optimise their graphs once; more passes round otherwise.
    rewriting = rewriter_config_pb2.RewriterConfig(
        meta_optimizer_iterations=rewriter_config_pb2.RewriterConfig.ONE
    )
    session_config = v1.ConfigProto(
        allow_soft_placement=True,
        graph_options=v1.GraphOptions(rewrite_options=rewriting),
        device_count={"CPU": replicas},
    )
    config = tf.estimator.RunConfig(
        tf_random_seed=3, train_distribute=strategy, session_config=session_config
    )
    estimator = tf.estimator.Estimator(model_fn, str(directory), config)
    estimator.train(models.batches, steps=steps)
    return variables(directory)


@sampled(
    ("model", "steps_per_run"),
    [*((each, 1) for each in models.MODELS), ("batch_norm_with_adam", "auto")],
    check=[("two_optimizers", 1), ("batch_norm_with_adam", "auto")],
)
def test_functions_of_r_give_the_variables_of_pure_tensorflow_to_the_bit(
    tmp_path: Path, runs: list[int], model: str, steps_per_run: int | str
):
    # By itself a run takes one step, then two.
    steps = STEPS if steps_per_run == 1 else 10
    data = read(Input, {"kind": "dataset_function", "function": models.batches})
    function = described(as_callback(models.MODELS[model]), tmp_path / "r")
    chosen = settings("mirrored over 2", steps_per_run=steps_per_run)
    train(function, chosen, data, steps=steps)
    assert (max(runs, default=0) > 1) == (steps_per_run == "auto")
    values = variables(tmp_path / "r")
    expected = pure_tensorflow(model, tmp_path / "pure", 2, steps)
    assert values["global_step"] == steps
    for name in values:
        np.testing.assert_array_equal(values[name], expected[name], err_msg=name, strict=True)
    # What TensorFlow saves once more for each replica, this package saves once.
    assert all("/replica_" in name for name in set(expected) - set(values))


@sampled(
    ("model", "strategy"),
    [
        (model, strategy)
        for model in ("keras_layers", "all_reduce_in_model")
        for strategy in ("mirrored over 3", "central storage")
    ],
    check=[("keras_layers", "mirrored over 3")],
)
def test_functions_of_r_and_of_python_give_the_same_variables_to_the_bit(
    tmp_path: Path, model: str, strategy: str
):
    of_python = trained(models.MODELS[model], tmp_path / "a", strategy)
    of_r = trained(as_callback(models.MODELS[model]), tmp_path / "b", strategy)
    assert of_r.keys() == of_python.keys()
    for name, value in of_python.items():
        np.testing.assert_array_equal(of_r[name], value, err_msg=name, strict=True)


def test_functions_of_r_stay_on_their_thread_and_those_of_python_on_tensorflows(tmp_path: Path):
    threads: list[int] = []

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        threads.append(threading.get_ident())
        return models.dense_with_sgd(features, labels, mode)

    trained(as_callback(model_fn), tmp_path / "r", "mirrored over 2", steps=1)
    assert threads == [threading.get_ident()] * 2
    threads.clear()
    trained(model_fn, tmp_path / "python", "mirrored over 2", steps=1)
    assert len(threads) == 2
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("strategy", ["none", "mirrored over 2"])
def test_functions_run_as_they_are_written_under_every_strategy(tmp_path: Path, strategy: str):
    files = []

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        # AutoGraph would have written the function anew, into a file of its own.
        files.append(inspect.currentframe().f_code.co_filename)
        return models.dense_with_sgd(features, labels, mode)

    trained(model_fn, tmp_path, strategy, steps=1)
    assert set(files) == {__file__}


@sampled("strategy", ["mirrored over 2", "central storage"], check=["central storage"])
def test_values_that_depend_on_variables_can_be_reduced_over_replicas(
    alone: Any, tmp_path: Path, strategy: str
):
    values = trained(models.all_reduce_in_model, tmp_path, strategy)
    assert_alike(values, alone("all_reduce", models.all_reduce_in_model))


# Step sizes and reported losses (trap 2 and 3) -----------------------------------------------------


def get_updates(optimizer: Any, loss: Any, trained_ones: Any) -> Any:
    optimizer.iterations = v1.train.get_or_create_global_step()
    return optimizer.get_updates(loss, trained_ones)[0]


def clip_and_apply(optimizer: Any, loss: Any, trained_ones: Any) -> Any:
    gradients = [tf.clip_by_value(each, -50.0, 50.0) for each in tf.gradients(loss, trained_ones)]
    return optimizer.apply_gradients(zip(gradients, trained_ones, strict=True))


KERAS = {
    "get_updates": lambda loss, ours: get_updates(legacy.SGD(0.1, momentum=0.9), loss, ours),
    "apply_gradients": lambda loss, ours: clip_and_apply(legacy.Adagrad(0.5), loss, ours),
    "clipped by the optimizer": lambda loss, ours: get_updates(
        legacy.SGD(0.1, global_clipnorm=0.5), loss, ours
    ),
    "loss scaling": lambda loss, ours: clip_and_apply(
        tf.keras.mixed_precision.LossScaleOptimizer(
            legacy.SGD(0.1), dynamic=False, initial_scale=1
        ),
        loss,
        ours,
    ),
    "v1": lambda loss, ours: v1.train.GradientDescentOptimizer(0.1).minimize(
        loss, v1.train.get_or_create_global_step()
    ),
}


def with_optimizer(how: str, loss_of: Any = mean_square) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output, ours = line(features)
        loss = loss_of(labels, output)
        train_op = KERAS[how](loss, ours) if mode == "train" else None
        return {"loss": loss, "predictions": {"y": output}, "train_op": train_op}

    return model_fn


@sampled(
    ("how", "strategy"),
    [
        *[(how, "mirrored over 2") for how in KERAS],
        ("get_updates", "mirrored over 3"),
        ("get_updates", "central storage"),
    ],
    check=[
        ("apply_gradients", "mirrored over 2"),
        ("loss scaling", "mirrored over 2"),
        ("v1", "mirrored over 2"),
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
    several = trained(function, tmp_path, "mirrored over 2", loss_reduction="sum")
    assert_alike(several, alone(how, with_optimizer(how)))


@pytest.mark.parametrize("how", ["get_updates", "v1"])
def test_a_sum_over_examples_stays_a_sum(alone: Any, tmp_path: Path, how: str):
    def total(labels: Any, output: Any) -> Any:
        return v1.losses.mean_squared_error(
            labels, output, weights=0.01, reduction=v1.losses.Reduction.SUM
        )

    several = trained(with_optimizer(how, total), tmp_path, "mirrored over 2")
    assert_alike(several, alone(f"total {how}", with_optimizer(how, total)))


def test_reported_losses_are_those_of_one_device(tmp_path: Path):
    def losses(strategy: str) -> tuple[list[float], float]:
        function = described(with_optimizer("get_updates"), tmp_path / strategy)
        several = settings(strategy, eval_distribute=STRATEGIES[strategy])
        history = train(function, several, source(), steps=STEPS)
        evaluation = evaluate(function, several, source(num_epochs=1))
        return history.losses, evaluation["loss"]

    single, several = losses("none"), losses("mirrored over 2")
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


# What model functions return ----------------------------------------------------------------------

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
    values = trained(beside_the_loss(made, in_graph), tmp_path, "mirrored over 2")
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
    metrics = evaluate(function, settings(), source(num_epochs=1))
    outputs = joined(predict(function, settings(), source(num_epochs=1)))["y"]
    labels = np.concatenate(
        [batch[1] for batch in source(num_epochs=1).input_fn("evaluate", 1)().as_numpy_iterator()]
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
        (lambda loss: {"loss": loss, "solver": "sgd"}, "`solver`, which is no part"),
        (lambda loss: {"loss": loss, "mode": "eval"}, 'returned a specification of mode "eval"'),
        (
            lambda loss: {"loss": [loss, loss], "optimizer": "sgd"},
            "TensorFlow refuses: loss must be Tensor",
        ),
        (lambda loss: {"loss": loss, "train_op": "a"}, "`train_op` is 'a'"),
    ],
)
def test_what_is_no_specification_is_refused(tmp_path: Path, returned: Any, problem: str):
    def model_fn(features: Any, labels: Any) -> Any:
        return returned(mean_square(labels, line(features)[0]))

    with pytest.raises(ModelError, match=problem):
        trained(model_fn, tmp_path)


@pytest.mark.parametrize("strategy", ["none", "mirrored over 2"])
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
        train(function, settings(tf_random_seed=seed), source(), steps=1)
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

    for strategy in ("none", "mirrored over 2"):
        function = described(model_fn, tmp_path / strategy)
        train(function, settings(strategy), source(), steps=10)
        assert variables(tmp_path / strategy)["global_step"] == 2
        evaluate(function, settings(strategy), source(num_epochs=1))
    assert seen == ["begin", "begin"]


def test_a_hook_that_belongs_to_train_is_refused_in_a_model(tmp_path: Path):
    def model_fn(features: Any, labels: Any) -> Any:
        loss = mean_square(labels, line(features)[0])
        hooks = [{"kind": "progress_bar"}]
        return {"loss": loss, "optimizer": "sgd", "training_hooks": hooks}

    with pytest.raises(ArgumentError, match=r"hook_progress_bar\(\) changes what train"):
        trained(model_fn, tmp_path)


# Refusals and failures --------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["none", "mirrored over 2"])
def test_the_error_of_a_function_of_r_comes_out_as_it_is(tmp_path: Path, strategy: str):
    def failing(features: Any, labels: Any, mode: str) -> Any:
        raise ValueError("no luck {today}")

    with pytest.raises(CallbackError, match=r"^no luck \{today\}"):
        trained(as_callback(failing), tmp_path, strategy)


def test_an_error_in_the_second_replica_comes_out_and_training_works_after_it(tmp_path: Path):
    def failing(features: Any, labels: Any, mode: str) -> Any:
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        if int(tf.get_static_value(replica)) == 1 and broken:
            raise ValueError("only here")
        return models.dense_with_sgd(features, labels, mode)

    broken = True
    with pytest.raises(CallbackError, match="only here"):
        trained(as_callback(failing), tmp_path, "mirrored over 2")
    broken = False
    assert trained(as_callback(failing), tmp_path, "mirrored over 2")["global_step"] == STEPS


def test_replicas_that_run_different_code_are_refused_by_name(tmp_path: Path):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        replica = tf.distribute.get_replica_context()
        if int(tf.get_static_value(replica.replica_id_in_sync_group)) == 0:
            replica.all_reduce("sum", tf.constant(1.0))
        return models.dense_with_sgd(features, labels, mode)

    with pytest.raises(ModelError, match="merge call"):
        trained(as_callback(model_fn), tmp_path, "mirrored over 2")


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


# Placement (trap 14) ----------------------------------------------------------------------------------


class WhereItRuns(tf.estimator.SessionRunHook):
    """Note the device that really runs an operation."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self.devices: set[str] = set()

    def before_run(self, run_context: Any) -> Any:
        options = v1.RunOptions(output_partition_graphs=True)
        return tf.estimator.SessionRunArgs([], options=options)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        for graph in run_values.run_metadata.partition_graphs:
            for node in graph.node:
                if node.name.endswith(self.operation):
                    self.devices.add(node.device.rpartition("device:")[2])


@pytest.mark.parametrize("strategy", ["none", "one device", "mirrored over 2"])
def test_parts_of_a_model_run_on_the_devices_that_are_named(tmp_path: Path, strategy: str):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        with tf.device("CPU:2"):
            output, _ = line(features)
            # Something that is not computed while the graph is optimised.
            output = tf.nn.softplus(output, name="placed")
        return {"loss": mean_square(labels, output), "optimizer": "sgd"}

    where = WhereItRuns("placed")
    function = described(as_callback(model_fn), tmp_path)
    train(function, settings(strategy), source(), steps=2, hooks=[where])
    assert where.devices == {"CPU:2"}


def config_of(device_count: int, jobs: list[str]) -> Any:
    return SimpleNamespace(
        session_config=v1.ConfigProto(device_count={"CPU": device_count}),
        cluster_spec=SimpleNamespace(jobs=jobs),
    )


def test_devices_named_in_the_body_of_a_loop_are_provided_too():
    with tf.Graph().as_default() as graph:

        def body(value: Any) -> Any:
            with tf.device("CPU:3"):
                return tf.square(value)

        tf.while_loop(lambda value: value < 10, body, [tf.constant(2.0)])
        config = config_of(1, [])
        engine.placement.provide_named_cpus(graph, config)
    assert config.session_config.device_count["CPU"] == 4


def test_devices_that_a_clusters_tasks_do_not_have_are_refused():
    with tf.Graph().as_default() as graph, tf.device("/job:worker/task:0/device:CPU:1"):
        tf.constant(1.0)
    engine.placement.provide_named_cpus(graph, config_of(2, ["worker"]))
    with pytest.raises(RunConfigError, match="CPU:1") as caught:
        engine.placement.provide_named_cpus(graph, config_of(1, ["worker"]))
    assert "device_count = list(CPU = 2)" in str(caught.value.remedy)
