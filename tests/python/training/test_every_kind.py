"""Every kind of model with every verb, once: what `make test` shows of models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import canned_models, custom_models, keras_models, models, tabular
from support.inputs import Factor, in_memory
from support.strategies import settings

from tfdistribute.inputs import Input
from tfdistribute.models import Model, Wrapped
from tfdistribute.training import concatenate, export_savedmodel, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.model_directory import global_step
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train import train
from tfdistribute.training.train_and_evaluate import train_and_evaluate

pytestmark = pytest.mark.usefixtures("tensorflow")

STEPS = 4
CLASS = Factor((tabular.PRICE > 230_000).astype("int32"), ["cheap", "dear"])


def _canned(kind: str) -> Callable[[Path], tuple[Model, Input]]:
    def made(directory: Path) -> tuple[Model, Input]:
        features, label = next(
            iter(canned_models.input_fn(tf, kind, batch=48)().as_numpy_iterator())
        )
        word = Factor(np.unique(features["word"], return_inverse=True)[1], ["a", "b", "c"])
        if label.dtype.kind == "O":
            label = Factor(np.unique(label, return_inverse=True)[1], canned_models.NAMES)
        columns = {"x": features["x"], "word": word, "y": label}
        if kind.startswith("baseline"):
            del columns["word"]
        return canned_models.model(kind, directory), in_memory(columns, batch_size=12)

    return made


def _tabular(kind: str, response: Any) -> Callable[[Path], tuple[Model, Input]]:
    return lambda directory: (
        models.model(kind, directory, ensemble=1, epochs=1, **tabular.SMALL),
        tabular.rows(response),
    )


def _trees(kind: str, response: Any) -> Callable[[Path], tuple[Model, Input]]:
    return lambda directory: (
        models.model(kind, directory, n_trees=5),
        tabular.rows(response),
    )


def _custom(directory: Path) -> tuple[Model, Input]:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output, ours = custom_models.line(features)
        if mode == "infer":
            return {"predictions": {"y": output}}
        loss = custom_models.mean_square(labels, output)
        train_op = custom_models.TRAIN_OPS["v1"](loss, ours) if mode == "train" else None
        return {"loss": loss, "predictions": {"y": output}, "train_op": train_op}

    return custom_models.described(model_fn, directory), custom_models.source(1)


def _keras(directory: Path) -> tuple[Model, Input]:
    return keras_models.described(directory), keras_models.source(epochs=1)


def _loop(directory: Path) -> tuple[Model, Input]:
    def build() -> dict[str, Any]:
        return {"net": tf.keras.layers.Dense(1), "optimizer": tf.keras.optimizers.legacy.SGD(0.1)}

    def train_step(parts: Any, features: Any, labels: Any) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            loss = custom_models.mean_square(labels, parts["net"](features["x"]))
        ours = parts["net"].trainable_variables
        pairs = zip(tape.gradient(loss, ours), ours, strict=True)
        return {"loss": loss, "train_op": parts["optimizer"].apply_gradients(pairs)}

    steps = {
        "train_step": train_step,
        "eval_step": lambda parts, features, labels: {
            "loss": tf.square(labels - parts["net"](features["x"]))
        },
        "predict_step": lambda parts, features: {"y": parts["net"](features["x"])},
    }
    return models.model(
        "training_loop", directory, build_parts=build, **steps
    ), custom_models.source(1)


def _wrapped(directory: Path) -> tuple[Model, Input]:
    columns = [tf.feature_column.numeric_column("x")]
    rows = in_memory({"x": tabular.X, "y": tabular.X}, batch_size=12)
    return Wrapped(str(directory), tf.estimator.DNNRegressor([4], columns, str(directory))), rows


EXAMPLES: dict[str, Callable[[Path], tuple[Model, Input]]] = {
    **{kind: _canned(kind) for kind in canned_models.FIELDS},
    "tabular_regressor": _tabular("tabular_regressor", tabular.PRICE),
    "tabular_classifier": _tabular("tabular_classifier", CLASS),
    "boosted_trees_regressor": _trees("boosted_trees_regressor", tabular.PRICE),
    "boosted_trees_classifier": _trees("boosted_trees_classifier", CLASS),
    "custom": _custom,
    "keras": _keras,
    "training_loop": _loop,
    "wrapped": _wrapped,
}


_OF_OTHER_RESPONSES = [
    *("linear_classifier", "dnn_regressor", "dnn_linear_combined_classifier"),
    *("baseline_regressor", "tabular_classifier", "boosted_trees_classifier"),
]


def test_every_kind_has_an_example() -> None:
    assert EXAMPLES.keys() == Model.kinds.keys()


@pytest.mark.parametrize(
    "kind",
    # Two kinds of a name differ by their response only.
    [
        pytest.param(kind, marks=[pytest.mark.smoke] * (kind not in _OF_OTHER_RESPONSES))
        for kind in EXAMPLES
    ],
)
def test_a_model_trains_evaluates_predicts_and_is_exported(kind: str, tmp_path: Path) -> None:
    described, rows = EXAMPLES[kind](tmp_path / "model")
    # Some models choose their end.
    end = None if kind.startswith(("tabular", "boosted")) else STEPS
    history = train(described, settings(seed=3), rows, max_steps=end)
    trained = global_step(str(tmp_path / "model"))
    assert trained > 0 if end is None else trained == end
    assert np.isfinite(history.losses).all()

    metrics = evaluate(described, settings(), rows)
    assert metrics["global_step"] == trained
    assert np.isfinite(metrics["loss"])

    predicted = concatenate(predict(described, settings(), rows))
    count = rows.facts().rows
    assert count
    assert all(len(values) == count for values in predicted.values())

    exported = export_savedmodel(described, settings(), str(tmp_path / "export"))
    assert tf.saved_model.load(exported).signatures

    if end is not None:
        spec = TrainSpec(rows, max_steps=end + 2)
        history = train_and_evaluate(described, settings(seed=3), spec, EvalSpec(rows))
        assert history.evaluations[-1]["global_step"] == end + 2
