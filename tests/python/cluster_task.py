"""One task of a cluster, as a script that anybody may start with TF_CONFIG; also the data and models of the tests.

Run as ``python cluster_task.py DIRECTORY OPTIONS``. It calls the bridge as R does, writes what the verb gave to
``DIRECTORY/answer-<task>.json``, and the rows that it trained on to ``DIRECTORY/rows-<task>.txt``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS, BATCH, SEED = 96, 12, 5

random = np.random.default_rng(11)
X = random.normal(size=(ROWS, 2)).astype("float32")
Y = (X @ [1.0, -2.0] + 0.5).astype("float32")

NUMBERS = [{"kind": "numeric", "key": "a"}, {"kind": "numeric", "key": "b"}]
SGD = {"kind": "named", "name": "SGD", "settings": {"learning_rate": 0.05}}


def task_name() -> str:
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "alone", "index": 0})
    return f"{task['type']}-{task['index']}"


def source(options: dict[str, Any], epochs: int | None) -> dict[str, Any]:
    if options.get("input") == "uneven":
        return {"kind": "dataset_function", "function": uneven}
    columns = [
        {"name": "a", "type": "float", "values": lambda: X[:, 0].copy()},
        {"name": "b", "type": "float", "values": lambda: X[:, 1].copy()},
        {"name": "id", "type": "integer", "values": lambda: np.arange(ROWS, dtype="int32")},
        {"name": "y", "type": "float", "values": lambda: Y.copy()},
    ]
    return {
        "kind": "in_memory",
        "columns": columns,
        "response": "y",
        "batch_size": options.get("batch_size", BATCH),
        "num_epochs": epochs,
    }


def uneven(input_context: Any = None) -> Any:
    """Data of the user's own: worker 0 has fewer batches than the chief."""
    import tensorflow as tf

    batches = 40 if input_context is None or input_context.input_pipeline_id == 0 else 5
    rows = {"a": X[:6, 0], "b": X[:6, 1], "id": np.arange(6, dtype="int32")}
    return tf.data.Dataset.from_tensors((rows, Y[:6, np.newaxis])).repeat(batches)


def model_fn(features: Any, labels: Any, mode: str) -> dict[str, Any]:
    """A linear model that leaves a list of the rows it was trained on."""
    import tensorflow as tf

    v1 = tf.compat.v1
    x = tf.stack([tf.cast(features["a"], tf.float32), tf.cast(features["b"], tf.float32)], axis=1)
    x = tf.reshape(x, [-1, 2])
    output = v1.layers.dense(x, 1, kernel_initializer=v1.glorot_uniform_initializer(seed=3))
    if os.environ.get("TEST_BATCH_NORMALISATION"):
        output = v1.layers.batch_normalization(output, training=mode == "train")
    loss = v1.losses.mean_squared_error(tf.reshape(labels, [-1, 1]), output)
    if mode != "train":
        return {"mode": mode, "loss": loss, "predictions": {"y": output}}
    noted = v1.py_func(note_rows, [features["id"]], [], stateful=True)
    updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies([noted, *updates]):
        train_op = v1.train.GradientDescentOptimizer(0.05).minimize(
            loss, global_step=v1.train.get_or_create_global_step()
        )
    return {"mode": mode, "loss": loss, "train_op": train_op}


def note_rows(rows: Any) -> None:
    time.sleep(float(os.environ.get("TEST_STEP_S", "0")))
    with (Path(sys.argv[1]) / f"rows-{task_name()}.txt").open("a") as file:
        file.writelines(f"{row}\n" for row in np.ravel(rows))


def keras_model() -> Any:
    import tensorflow as tf

    ones = tf.keras.initializers.GlorotUniform(seed=3)
    inputs = [tf.keras.Input((1,), name=name) for name in ("a", "b")]
    joined = tf.keras.layers.Concatenate()(inputs)
    model = tf.keras.Model(
        inputs, tf.keras.layers.Dense(1, kernel_initializer=ones, name="y")(joined)
    )
    model.compile(tf.keras.optimizers.legacy.SGD(0.05), "mse")
    return model


MODELS: dict[str, Callable[[], dict[str, Any]]] = {
    "linear": lambda: {
        "kind": "linear_regressor",
        "feature_columns": NUMBERS,
        "optimizer": SGD,
    },
    "custom": lambda: {"kind": "custom", "model_fn": model_fn},
}


def main(directory: Path, options: dict[str, Any]) -> dict[str, Any]:
    from tfdistribute import bridge

    config = {"tf_random_seed": SEED, "save_checkpoints_steps": 10, **options.get("config", {})}
    estimator = {
        **MODELS[options["model"]](),
        "model_dir": str(directory / "model"),
        "config": config,
    }
    training = source(options, options.get("epochs"))
    if options.get("verb") == "train":
        arguments: dict[str, Any] = {"input": training, "max_steps": options.get("max_steps")}
        return bridge.call("train", {"estimator": estimator, **arguments})
    return bridge.call(
        "train_and_evaluate",
        {
            "estimator": estimator,
            "train_spec": {"input": training, "max_steps": options.get("max_steps")},
            "eval_spec": {
                "input": source({}, 1),
                "start_delay_secs": 0,
                "throttle_secs": options.get("throttle_secs", 0),
            },
        },
    )


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else str(value)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    given = main(folder, json.loads(sys.argv[2]))
    (folder / f"answer-{task_name()}.json").write_text(json.dumps(given, default=plain))
    if "error" in given:
        print(given["error"]["problem"], file=sys.stderr)
        if given["error"]["kind"] == "training":
            print(given["error"]["traceback"], file=sys.stderr)
    # TensorFlow's servers have no end of their own.
    sys.stdout.flush()
    os._exit(1 if "error" in given else 0)
