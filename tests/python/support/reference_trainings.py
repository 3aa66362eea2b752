"""Trainings whose losses, checkpoints and exports must be the same with every version of TensorFlow.

``python -m support.reference_trainings DIRECTORY`` writes what the version of its Python makes of them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from support import canned_models, keras_models, models
from support.inputs import Factor, in_memory
from tfdistribute.engine import tf
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.train import train

STEPS, ROWS, BATCH = 20, 48, 8
SETTINGS = RunSettings(seed=11, save_summary_steps=0)

numbers = np.random.default_rng(1)
X = numbers.normal(size=ROWS).astype("float32")
WORDS = numbers.integers(0, 3, size=ROWS)
CLASSES = numbers.integers(0, 3, size=ROWS).astype("int32")

CANNED = ("dnn_classifier", "dnn_linear_combined_regressor")
NAMES = (*CANNED, "custom", "keras")


def described(name: str, directory: Path) -> Model:
    if name == "custom":
        formals = ("features", "labels", "mode")
        call = {"call": lambda **each: {"value": _custom(**each)}, "formals": formals}
        return models.model("custom", directory, model_fn=call)
    if name == "keras":
        middle = lambda: tf.keras.layers.BatchNormalization()  # noqa: E731 - made in eager mode
        return keras_models.described(directory, lambda: keras_models.built(middle=middle()))
    return canned_models.model(name, directory)


def _custom(features: Any, labels: Any, mode: str) -> Any:
    v1 = tf.compat.v1
    training = mode == tf.estimator.ModeKeys.TRAIN
    rows = tf.stack([features["width"], features["height"]], axis=1)
    start = v1.glorot_uniform_initializer(seed=3)
    hidden = v1.layers.dense(rows, 4, tf.nn.tanh, kernel_initializer=start)
    normal = v1.layers.batch_normalization(hidden, training=training)
    output = tf.squeeze(v1.layers.dense(normal, 1, kernel_initializer=start), 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return {"mode": mode, "predictions": {"price": output}}
    loss = tf.reduce_mean(tf.square(output - labels))
    with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        step = v1.train.get_or_create_global_step()
        train_op = (
            v1.train.AdamOptimizer(0.01).minimize(loss, global_step=step) if training else None
        )
    return {"mode": mode, "loss": loss, "train_op": train_op}


def source(name: str, epochs: int | None = None) -> Input:
    if name in ("custom", "keras"):
        return keras_models.source(batch_size=BATCH, epochs=epochs)
    label = CLASSES % 2 if name == "dnn_classifier" else CLASSES.astype("float32")
    columns = {"x": X, "word": Factor(WORDS, ["a", "b", "c"]), "y": label}
    return in_memory(columns, batch_size=BATCH, epochs=epochs, shuffle=False)


def trained(name: str, directory: Path) -> dict[str, Any]:
    """Train on from what is in the directory; return losses and the evaluation."""
    model = described(name, directory)
    history = train(model, SETTINGS, source(name), steps=STEPS)
    return {
        "losses": [float(loss) for loss in history.losses],
        "evaluation": {
            key: float(value)
            for key, value in evaluate(model, SETTINGS, source(name, epochs=1)).items()
        },
    }


def request(name: str) -> dict[str, Any]:
    """Return the tensors of a request, by the names of the exported signature."""
    if name in ("custom", "keras"):
        return {"width": keras_models.WIDTH, "height": keras_models.HEIGHT}
    return {"x": X, "word": np.array(["a", "b", "c"])[WORDS]}


def exported(name: str, directory: Path, target: Path) -> dict[str, Any]:
    """Export what is in the directory; return the predictions."""
    model = described(name, directory)
    export_savedmodel(model, SETTINGS, str(target), request=source(name))
    found = concatenate(predict(model, SETTINGS, source(name, epochs=1)))
    return {key: np.asarray(value).tolist() for key, value in found.items() if key != "classes"}


def main(directory: Path) -> None:
    """Train, export and train on; write results.json, the checkpoints of the first training, and exports."""
    results: dict[str, Any] = {"version": tf.__version__}
    for name in NAMES:
        first = trained(name, directory / name)
        predictions = exported(name, directory / name, directory / f"{name}-export")
        shutil.copytree(directory / name, directory / f"{name}-start")
        results[name] = {
            "first": first,
            "predictions": predictions,
            "continued": trained(name, directory / name),
        }
    (directory / "results.json").write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
