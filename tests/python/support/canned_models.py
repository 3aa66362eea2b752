"""Canned models, the same models made by hand, and their data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tfdistribute.descriptions import read
from tfdistribute.models import Model

SGD = {"kind": "named", "name": "sgd", "settings": {"learning_rate": 0.05}}
NUMBER = {"kind": "numeric", "key": "x"}
WORD = {
    "kind": "categorical_with_vocabulary_list",
    "key": "word",
    "vocabulary_list": ["a", "b", "c"],
}
EMBEDDED = {"kind": "embedding", "categorical_column": WORD, "dimension": 2}
WIDE: dict[str, Any] = {"feature_columns": [NUMBER, WORD], "optimizer": SGD}
DEEP: dict[str, Any] = {
    "feature_columns": [NUMBER, EMBEDDED],
    "hidden_units": [4, 3],
    "optimizer": SGD,
}
BOTH: dict[str, Any] = {
    "linear_feature_columns": [WORD],
    "linear_optimizer": SGD,
    "dnn_feature_columns": [NUMBER, EMBEDDED],
    "dnn_hidden_units": [4],
    "dnn_optimizer": SGD,
    "batch_norm": True,
}
NAMES = ["no", "perhaps", "yes"]
FIELDS: dict[str, dict[str, Any]] = {
    "linear_regressor": WIDE,
    "linear_classifier": {**WIDE, "n_classes": 3, "label_vocabulary": NAMES},
    "dnn_regressor": {**DEEP, "activation_fn": "tanh"},
    "dnn_classifier": DEEP,
    "dnn_linear_combined_regressor": BOTH,
    "dnn_linear_combined_classifier": {**BOTH, "n_classes": 3},
    "baseline_regressor": {"optimizer": SGD},
    "baseline_classifier": {"n_classes": 3, "label_vocabulary": NAMES, "optimizer": SGD},
}


def model(kind: str, model_dir: str | Path = "models/m", **fields: Any) -> Any:
    return read(
        Model, {"kind": kind, "model_dir": str(model_dir), **FIELDS.get(kind, {}), **fields}
    )


def by_hand(tf: Any, kind: str, model_dir: Path) -> Any:
    """The same models with nothing of this package in them."""
    number = tf.feature_column.numeric_column("x")
    word = tf.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b", "c"])
    dense = [number, tf.feature_column.embedding_column(word, 2)]
    sgd = lambda: tf.keras.optimizers.legacy.SGD(0.05)  # noqa: E731 - one optimizer per graph
    common = {"model_dir": str(model_dir), "config": configuration(tf)}
    wide = {"feature_columns": [number, word], "optimizer": sgd, **common}
    deep = {"feature_columns": dense, "optimizer": sgd, "hidden_units": [4, 3], **common}
    both = {
        "linear_feature_columns": [word],
        "linear_optimizer": sgd,
        "dnn_feature_columns": dense,
        "dnn_optimizer": sgd,
        "dnn_hidden_units": [4],
        "batch_norm": True,
        **common,
    }
    named = {"n_classes": 3, "label_vocabulary": NAMES}
    library = tf.estimator
    makers: dict[str, Callable[[], Any]] = {
        "linear_regressor": lambda: library.LinearRegressor(**wide),
        "linear_classifier": lambda: library.LinearClassifier(**named, **wide),
        "dnn_regressor": lambda: library.DNNRegressor(activation_fn=tf.nn.tanh, **deep),
        "dnn_classifier": lambda: library.DNNClassifier(**deep),
        "dnn_linear_combined_regressor": lambda: library.DNNLinearCombinedRegressor(**both),
        "dnn_linear_combined_classifier": lambda: library.DNNLinearCombinedClassifier(
            n_classes=3, **both
        ),
        "baseline_regressor": lambda: library.BaselineRegressor(optimizer=sgd, **common),
        "baseline_classifier": lambda: library.BaselineClassifier(optimizer=sgd, **named, **common),
    }
    return makers[kind]()


def configuration(tf: Any, replicas: int = 1) -> Any:
    session = tf.compat.v1.ConfigProto(device_count={"CPU": 3})
    strategy = None
    if replicas > 1:
        # Collectives refuse sparse gradients whose number of rows changes from step to step.
        reduction = tf.distribute.ReductionToOneDevice()
        devices = [f"/cpu:{index}" for index in range(replicas)]
        strategy = tf.distribute.MirroredStrategy(devices, cross_device_ops=reduction)
    return tf.estimator.RunConfig(
        tf_random_seed=11, session_config=session, train_distribute=strategy
    )


def input_fn(
    tf: Any, kind: str, features: tuple[str, ...] = ("x", "word"), batch: int = 8
) -> Callable[[], Any]:
    generator = np.random.default_rng(1)
    known = {
        "x": generator.normal(size=48).astype("float32"),
        "word": generator.choice(["a", "b", "c"], size=48),
    }
    classes = generator.integers(0, 3, size=48)
    label: Any = classes.astype("float32")
    if FIELDS[kind].get("label_vocabulary"):
        label = np.array(NAMES)[classes]
    elif kind == "dnn_classifier":
        label = classes % 2
    elif kind.endswith("classifier"):
        label = classes
    chosen = {name: known[name] for name in features}
    return lambda: tf.data.Dataset.from_tensor_slices((chosen, label)).batch(batch)
