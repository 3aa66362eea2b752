"""One cluster task as a script to start with TF_CONFIG; also the tests' data and models.

Run as ``python cluster_task.py DIRECTORY OPTIONS``. For each model in the options it calls the bridge as R does, and
writes the verbs' results to ``DIRECTORY/answer-<task>.json`` and the rows that it trained on to
``DIRECTORY/<model>/rows-<task>.txt``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROWS, BATCH, SEED = 96, 12, 5

random = np.random.default_rng(11)
X = random.normal(size=(ROWS, 2)).astype("float32")
Y = (X @ [1.0, -2.0] + 0.5).astype("float32")
# Classes by a number, neither in the order of their numbers of rows nor in the order of their names.
CLASSES, SIZES = ("few", "most", "none", "fewest", "many"), (14, 40, 0, 12, 30)
NOISY = X[:, 0] + random.normal(size=ROWS) / 3
CLASS = np.repeat(np.arange(len(SIZES)), SIZES)[np.argsort(np.argsort(NOISY))].astype("int32")

NUMBERS = [{"kind": "numeric", "key": "a"}, {"kind": "numeric", "key": "b"}]
BUCKETS = {"kind": "bucketized", "source_column": NUMBERS[0], "boundaries": [-1.0, -0.3, 0.3, 1.0]}
SGD = {"kind": "named", "name": "SGD", "settings": {"learning_rate": 0.05}}


def task_name() -> str:
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "alone", "index": 0})
    return f"{task['type']}-{task['index']}"


def source(
    epochs: int | None,
    names: tuple[str, ...] = ("a", "b", "id"),
    nan_row: int | None = None,
    rows: int = ROWS,
) -> dict[str, Any]:
    label = Y[:rows].copy()
    if nan_row is not None:
        label[nan_row] = np.nan
    columns = {
        "a": {"type": "float", "values": lambda: X[:rows, 0].copy()},
        "b": {"type": "float", "values": lambda: X[:rows, 1].copy()},
        "id": {"type": "integer", "values": lambda: np.arange(rows, dtype="int32")},
        "y": {"type": "float", "values": lambda: label},
    }
    return {
        "kind": "in_memory",
        "columns": [{"name": name, **columns[name]} for name in (*names, "y")],
        "response": "y",
        "batch_size": BATCH,
        "epochs": epochs,
    }


def with_classes(described: dict[str, Any]) -> dict[str, Any]:
    """Return a source of classes, with a column that divides rows as another one does."""
    labels = {"codes": CLASS, "labels": CLASSES}
    opposite = {"name": "opposite", "type": "float", "values": lambda: -X[:, 0]}
    label = {"name": "y", "type": "string", "values": lambda: labels, "levels": [*CLASSES]}
    return {**described, "columns": [*described["columns"][:-1], opposite, label]}


def uneven(input_context: Any = None) -> Any:
    """User-defined data: one task has fewer batches than the other."""
    import tensorflow as tf

    short = os.environ["TEST_SHORT"] == task_name()
    rows = {"a": X[:6, 0], "b": X[:6, 1], "id": np.arange(6, dtype="int32")}
    return tf.data.Dataset.from_tensors((rows, Y[:6, np.newaxis])).repeat(5 if short else 4000)


class Custom:
    """A linear model as R passes it: called on one thread, and recording the rows it was trained on.

    Args:
        directory: Directory of the record.
        normalised: Whether to add moving averages, which each task keeps for itself.
    """

    def __init__(self, directory: Path, normalised: bool = False) -> None:
        self.directory = directory
        self.normalised = normalised

    def described(self) -> dict[str, Any]:
        formals = ("features", "labels", "mode", "config")
        return {"kind": "custom", "model_fn": {"call": self.answer, "formals": formals}}

    def answer(self, **arguments: Any) -> dict[str, Any]:
        assert threading.current_thread() is threading.main_thread()
        return {"value": self.model_fn(**arguments)}

    def model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> dict[str, Any]:
        import tensorflow as tf

        v1 = tf.compat.v1
        x = tf.concat([tf.reshape(features[name], [-1, 1]) for name in ("a", "b")], axis=1)
        output = self.forward(x, mode)
        loss = v1.losses.mean_squared_error(tf.reshape(labels, [-1, 1]), output)
        if mode != "train":
            return {"mode": mode, "loss": loss, "predictions": {"y": output}}
        about = {"is_chief": config.is_chief, "task": f"{config.task_type}-{config.task_id}"}
        self.file("config").write_text(json.dumps(about))
        noted = v1.py_func(self.note_rows, [features["id"]], [], stateful=True)
        updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies([noted, *updates]):
            train_op = v1.train.GradientDescentOptimizer(0.05).minimize(
                loss, global_step=v1.train.get_or_create_global_step()
            )
        return {"mode": mode, "loss": loss, "train_op": train_op}

    def forward(self, x: Any, mode: str) -> Any:
        import tensorflow as tf

        v1 = tf.compat.v1
        output = v1.layers.dense(x, 1, kernel_initializer=v1.glorot_uniform_initializer(seed=3))
        if self.normalised:
            output = v1.layers.batch_normalization(output, training=mode == "train")
        return output

    def note_rows(self, rows: Any) -> None:
        time.sleep(float(os.environ.get("TEST_STEP_S", "0")))
        with self.file("rows").open("a") as file:
            file.writelines(f"{row}\n" for row in np.ravel(rows))

    def file(self, name: str) -> Path:
        self.directory.mkdir(parents=True, exist_ok=True)
        return self.directory / f"{name}-{task_name()}.txt"


class InParts(Custom):
    """A model in two stages, which records the devices of its variables."""

    def forward(self, x: Any, mode: str) -> Any:
        import tensorflow as tf

        import tfdistribute

        layers = tf.compat.v1.layers
        stages = [lambda x: layers.dense(x, 4, tf.nn.tanh), lambda x: layers.dense(x, 1)]
        output = tfdistribute.pipeline(x, stages, micro_batches=2)
        if mode == "train":
            variables = tf.compat.v1.trainable_variables()
            devices = {each.op.name: each.device for each in variables}
            self.file("devices").write_text(json.dumps(devices))
        return output


def loop() -> dict[str, Any]:
    """Steps of the user's own, with a gradient tape."""

    def build_parts() -> Any:
        import tensorflow as tf

        net = [tf.keras.layers.Dense(4, "tanh"), tf.keras.layers.Dense(1)]
        return {"net": net, "optimizer": tf.keras.optimizers.legacy.SGD(0.05)}

    def losses(parts: Any, features: Any, labels: Any) -> Any:
        import tensorflow as tf

        x = tf.stack([features["a"], features["b"]], axis=1)
        return tf.square(tf.squeeze(parts["net"][1](parts["net"][0](x)), 1) - labels)

    def train_step(parts: Any, features: Any, labels: Any) -> Any:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(losses(parts, features, labels))
        variables = [each for layer in parts["net"] for each in layer.trainable_variables]
        pairs = zip(tape.gradient(loss, variables), variables, strict=True)
        return {"loss": loss, "train_op": parts["optimizer"].apply_gradients(pairs)}

    def eval_step(parts: Any, features: Any, labels: Any) -> Any:
        return {"loss": losses(parts, features, labels)}

    steps = {"train_step": train_step, "eval_step": eval_step}
    return {"kind": "training_loop", "build_parts": build_parts, **steps}


def keras_model() -> Any:
    import tensorflow as tf

    layers = tf.keras.layers
    inputs = [tf.keras.Input((1,), name=name) for name in ("a", "b")]
    start = tf.keras.initializers.GlorotUniform(seed=3)
    output = layers.Dense(1, kernel_initializer=start, name="y")(layers.Concatenate()(inputs))
    model = tf.keras.Model(inputs, output)
    model.compile(tf.keras.optimizers.legacy.SGD(0.05), "mse")
    return model


def keras_3_model() -> Any:
    import keras

    layers = keras.layers
    inputs = [keras.Input((1,), name=name) for name in ("a", "b")]
    hidden = layers.Dense(4, "tanh")(layers.Concatenate()(inputs))
    # The only normalisation that is the same on one device and on several.
    normal = layers.BatchNormalization(synchronized=True)(hidden)
    model = keras.Model(inputs, layers.Dense(1, name="y")(normal))
    model.compile(keras.optimizers.AdamW(0.01), "mse")
    return model


def dropping_model() -> Any:
    """Make a Keras 3 model that drops or doubles the number one in each row, and whose loss is that number."""
    import keras

    layers = keras.layers
    inputs = [keras.Input((1,), name=name) for name in ("a", "b")]
    ones = layers.Dense(1, kernel_initializer="zeros", bias_initializer="ones")
    output = layers.Dropout(0.5)(ones(layers.Concatenate()(inputs)))
    model = keras.Model(inputs, output)
    model.compile(keras.optimizers.SGD(0.0), lambda labels, predictions: predictions)
    return model


# Options of trainings that are the same with a cluster.
TRAININGS: dict[str, dict[str, Any]] = {
    "custom": {
        "models": ["custom"],
        "max_steps": 30,
        "config": {"strategy": {"kind": "multi_worker"}},
    },
    "trees": {"models": ["trees"], "verb": "train", "epochs": 1},
    "chosen": {"models": ["chosen"], "verb": "train", "epochs": 1},
}

MODELS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "linear": lambda directory: {
        "kind": "linear_regressor",
        "feature_columns": NUMBERS,
        "optimizer": SGD,
    },
    # Both workers read each of its rows.
    "clipped": lambda directory: {
        "kind": "linear_regressor",
        "feature_columns": [BUCKETS],
        "optimizer": {**SGD, "settings": {"learning_rate": 0.05, "clipnorm": 0.1}},
    },
    "weighted": lambda directory: {
        "kind": "linear_regressor",
        "feature_columns": NUMBERS,
        # Weights are numbers of rows. With a higher rate, the coefficients grow without bound, and so does rounding.
        "optimizer": {**SGD, "settings": {"learning_rate": 0.002}},
        "weight_column": "id",
    },
    "custom": lambda directory: Custom(directory).described(),
    "normalised": lambda directory: Custom(directory, normalised=True).described(),
    "parts": lambda directory: InParts(directory).described(),
    "keras": lambda directory: {"kind": "keras", "function": keras_model},
    "keras 3": lambda directory: {"kind": "keras", "function": keras_3_model},
    "dropping": lambda directory: {"kind": "keras", "function": dropping_model},
    "loop": lambda directory: loop(),
    "tabular": lambda directory: {
        "kind": "tabular_regressor",
        "hidden_units": [8],
        "batch_size": BATCH,
        "epochs": 5,
        "dropout": 0.0,
    },
    # It learns no part again, because other rows judge it.
    "chosen": lambda directory: {
        "kind": "tabular_regressor",
        "parts": ["layers"],
        "hidden_units": [8],
        "batch_size": 4 * BATCH,
        "dropout": 0.0,
    },
    # In a cluster, many trees take seconds.
    "trees": lambda directory: {
        "kind": "boosted_trees_regressor",
        "n_trees": int(os.environ.get("TEST_TREES", "20")),
        "learning_rate": 0.005,
        "splits": os.environ.get("TEST_SPLITS", "axis"),
    },
    "classes": lambda directory: {
        "kind": "boosted_trees_classifier",
        "n_trees": 20,
        "max_depth": 3,
    },
    # Different tasks read different numbers of table rows.
    "sparse": lambda directory: {
        "kind": "linear_regressor",
        "feature_columns": [BUCKETS, *NUMBERS],
        "optimizer": {"kind": "named", "name": "Adagrad", "settings": {"learning_rate": 0.05}},
    },
}


def train(directory: Path, model: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Train one model with these options through the bridge."""
    from tfdistribute import bridge

    config = {
        "seed": SEED,
        "save_checkpoints_steps": 10,
        **options.get("config", {}),
        **options.get("configs", {}).get(model, {}),
    }
    estimator = {
        **MODELS[model](directory / model),
        "model_dir": options.get("remote")
        or str(directory / model / options.get("model_dir", "model")),
        "config": config,
    }
    names = ("a", "b") if estimator["kind"] == "keras" else ("a", "b", "id")
    if "learning_rate" in options:
        settings = {"learning_rate": options["learning_rate"]}
        estimator["optimizer"] = {**SGD, "settings": settings}
    rows = options.get("rows", ROWS)
    training = source(options.get("epochs"), names, options.get("nan_row"), rows)
    training |= options.get("input", {})
    if model == "classes":
        training = with_classes(training)
    if model in options.get("in_order", ()):
        training["shuffle"] = False
    if options.get("uneven"):
        training = {"kind": "dataset_function", "function": uneven}
    looks = {"kind": "session_run", "after_run": lambda context, values: None}
    hooks = [*options.get("hooks", ())]
    if options.get("looks_at_every_step") == task_name():
        hooks.append(looks)
    if options.get("verb") == "train":
        arguments = {"input": training, "steps": options.get("steps"), "hooks": hooks}
        if model == "chosen":
            arguments["validation"] = training
        return bridge.call("train", {"estimator": estimator, **arguments})
    return bridge.call(
        "train_and_evaluate",
        {
            "estimator": estimator,
            "train_spec": {
                "input": training,
                "max_steps": options.get("max_steps"),
                "hooks": hooks,
            },
            "eval_spec": {"input": source(1, names), "start_delay_secs": 0, "throttle_secs": 0},
        },
    )


def take_many_steps(directory: Path) -> None:
    """Let "auto" start at once, however slow the machine is, and record the steps of each run."""
    from tfdistribute import engine

    engine.step.runs.WORTH_AFTER_S, engine.step.runs.RUN_S = 0.0, 1000.0
    run = engine.step.loop.StepLoop.run

    def noted(self: Any, session: Any, steps: int, *others: Any) -> Any:
        with (directory / f"runs-{task_name()}.txt").open("a") as file:
            file.write(f"{steps}\n")
        return run(self, session, steps, *others)

    engine.step.loop.StepLoop.run = noted


def compress_small_sums() -> None:
    """Compress sums that are too small for it by default."""
    from tfdistribute import engine

    engine.step.all_reduce._LEAST_COMPRESSED = 1


def keep_trees_often() -> None:
    """Write a snapshot of boosted trees each second, from which a restarted task continues."""
    from tfdistribute.training.trees import ydf

    ydf._SNAPSHOT_S = 1


def share_files_within(seconds: float) -> None:
    """Expect less of a network file system than by default."""
    from tfdistribute.training.multi_worker import handshake, resume
    from tfdistribute.training.trees import task

    handshake.SHARE_S = resume.SHARE_S = task.SHARE_S = seconds


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else str(value)


def main(directory: Path, options: Mapping[str, Any]) -> None:
    answers: dict[str, Any] = {}
    # Options of this task alone.
    options = {**options, **json.loads(os.environ.get("TEST_OPTIONS", "{}"))}
    if options.get("many_steps"):
        take_many_steps(directory)
    if options.get("compress_all"):
        compress_small_sums()
    if options.get("snapshots"):
        keep_trees_often()
    if "share_s" in options:
        share_files_within(options["share_s"])
    for model in options["models"]:
        answers[model] = train(directory, model, options)
        if "error" in answers[model]:
            sys.stderr.write(answers[model]["error"]["traceback"])
            break
    text = json.dumps(answers, default=plain)
    (directory / f"answer-{task_name()}.json").write_text(text)
    time.sleep(float(os.environ.get("TEST_STAY_S", "0")))
    from tfdistribute import task_events
    from tfdistribute.training.multi_worker import standby

    codes = {"error": 1, "interrupt": 130}
    code = max(code for answer in answers.values() for code in [codes.get(next(iter(answer)), 0)])
    if code and os.environ.get(task_events.CHANNEL) and standby.await_task(code):
        return
    # TensorFlow's servers never exit by themselves.
    os._exit(code)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
