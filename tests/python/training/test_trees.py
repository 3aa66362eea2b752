"""Boosted trees: what ydf grows, TensorFlow predicts, and a training keeps."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoints import variables
from support.inputs import Factor, from_function, in_memory
from support.models import model
from support.tabular import CITIES, CITY, PRICE, ROWS, SEED, X, Z, rows

from tfdistribute.bridge import jobs
from tfdistribute.errors import (
    ArgumentError,
    BackendError,
    ModelError,
    RunConfigError,
    UnsupportedError,
)
from tfdistribute.inputs import Input
from tfdistribute.plan import Workload
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies import Mirrored
from tfdistribute.training import as_keras_model, concatenate, export_savedmodel, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.model_directory import global_step
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train import train
from tfdistribute.training.train_and_evaluate import train_and_evaluate
from tfdistribute.training.trees import ydf as growths
from tfdistribute.training.trees.forest import as_forest, logits_by_trees

pytest.importorskip("ydf")

FEW: dict[str, Any] = {"n_trees": 20}
TWO = Factor((PRICE > 230_000).astype("int32"), ["cheap", "dear"])
THREE = Factor(np.digitize(PRICE, [210_000, 240_000]).astype("int32"), ["a", "b", "c"])
COUNT = CITY.astype("float32")
RESPONSES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "numbers": ("boosted_trees_regressor", PRICE, {}),
    "counts": ("boosted_trees_regressor", COUNT, {"loss": "poisson"}),
    "two classes": ("boosted_trees_classifier", TWO, {}),
    "three classes": ("boosted_trees_classifier", THREE, {}),
    "oblique splits": ("boosted_trees_regressor", PRICE, {"splits": "oblique"}),
}
# More trees than go through the graph at a time.
MANY = {"n_trees": 70}


def outputs(described: Any, source: Input | None = None) -> Any:
    return concatenate(predict(described, RunSettings(), source or rows()))


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The models of ydf, each with the rows that it learned from."""
    found: list[tuple[Any, Any]] = []
    grow = growths.Growth.grow

    def keep(self: Any, table: Any, *arguments: Any) -> Any:
        found.append((grow(self, table, *arguments), self._table(table)))
        return found[-1][0]

    def with_one_thread(*, num_threads: int, **arguments: Any) -> Any:
        # Few rows.
        assert num_threads == 1
        return learner(num_threads=num_threads, **arguments)

    library = growths.library()
    learner = library.GradientBoostedTreesLearner
    monkeypatch.setattr(library, "GradientBoostedTreesLearner", with_one_thread)
    monkeypatch.setattr(growths.Growth, "grow", keep)
    return found


def test_rows_decide_on_threads_unless_the_settings_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growths, "core_count", lambda: 4)
    counts = [growths.thread_count(SEED, rows) for rows in (150, 50_000, 1_000_000)]
    assert counts == [1, 2, 4]
    own = RunSettings(session_config={"intra_op_parallelism_threads": 3})
    assert [growths.thread_count(own, rows) for rows in (150, 1_000_000)] == [3, 3]


@pytest.mark.parametrize("is_binned", [False, True])
def test_arrays_predict_what_ydf_does(tmp_path: Path, is_binned: bool) -> None:
    random = np.random.default_rng(1)
    matrix = random.integers(0, 3, (900, 3)).astype("float32")
    matrix[:, 0] = random.normal(size=900)
    labels = (np.sin(matrix[:, 0]) + matrix[:, 1] * (matrix[:, 2] == 1)).astype("float32")
    settings = {"loss": "SQUARED_ERROR", "num_trees": 20}
    growth = growths.Growth(0, (3,), {}, settings, is_binned)
    rows = {"rows": matrix, "labels": labels, "weights": np.ones(900, "float32")}
    grown = growth.grow(rows, str(tmp_path), RunSettings())
    forest = as_forest(grown, (3,), matrix, is_settled=False)
    thresholds = forest["threshold"][forest["first_category"] < 0]
    # Values at the thresholds, too.
    others = matrix.copy()
    others[:, 0] = np.resize(thresholds, 900)
    for values in (matrix, others):
        *_, found = logits_by_trees(forest, values)
        expected = grown.predict(growth._table({**rows, "rows": values}))
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", RESPONSES)
def test_predictions_are_those_of_ydf(
    tensorflow: Any, tmp_path: Path, grown: list[Any], name: str
) -> None:
    kind, response, fields = RESPONSES[name]
    described = model(kind, tmp_path, validation=0, **MANY, **fields)
    history = train(described, SEED, rows(response))
    (forest, table), found = grown[0], outputs(described)
    expected = forest.predict(table)
    if "classes" in name:
        expected = np.stack([1 - expected, expected], 1) if name == "two classes" else expected
        np.testing.assert_allclose(found["probabilities"], expected, atol=2e-6)
    else:
        known = np.asarray(response, "float64")
        mean, spread = (0, known.mean()) if name == "counts" else (known.mean(), known.std())
        np.testing.assert_allclose(found["predictions"][:, 0], expected * spread + mean, rtol=1e-5)
    # Ties are broken by weights that differ by a thousandth.
    metrics = evaluate(described, RunSettings(), rows(response))
    assert metrics["global_step"] == len(history.losses) == MANY["n_trees"]
    assert history.losses[-1] == pytest.approx(metrics["loss"], rel=5e-3)


@pytest.mark.parametrize("name", ["numbers", "counts", "two classes", "three classes"])
def test_the_trees_with_the_least_validation_loss_are_kept(
    tensorflow: Any, tmp_path: Path, name: str
) -> None:
    kind, response, fields = RESPONSES[name]
    described = model(kind, tmp_path, n_trees=60, learning_rate=0.5, **fields)
    others = np.arange(ROWS) % 2 == 0
    columns = {"x": X, "z": Z, "city": Factor(CITY, CITIES)}

    def part(chosen: Any) -> Input:
        def taken(values: Any) -> Any:
            is_factor = isinstance(values, Factor)
            codes = values.codes[chosen] if is_factor else values[chosen]
            return Factor(codes, values.levels) if is_factor else codes

        return in_memory({name: taken(each) for name, each in {**columns, "y": response}.items()})

    history = train(described, SEED, part(others), validation=part(~others))
    losses = [each["loss"] for each in history.evaluations]
    assert len(losses) == 60
    kept = int(np.argmin(losses)) + 1
    # The counts are learned exactly.
    assert kept == 60 if name == "counts" else kept < 60
    assert global_step(str(tmp_path)) == kept
    assert evaluate(described, RunSettings(), part(~others))["loss"] == pytest.approx(
        losses[kept - 1], rel=1e-5
    )
    assert f"{kept} of 60 trees are kept" in history.notes[-1]


def test_a_share_of_the_rows_does_not_train(
    tensorflow: Any, tmp_path: Path, grown: list[Any]
) -> None:
    history = train(
        model("boosted_trees_classifier", tmp_path, **FEW, validation=0.25), SEED, rows(THREE)
    )
    label = grown[0][1]["label"]
    np.testing.assert_allclose(np.bincount(label), 0.75 * np.bincount(THREE.codes), atol=1)
    assert len(history.evaluations) == FEW["n_trees"]


def test_a_later_training_begins_anew(tensorflow: Any, tmp_path: Path) -> None:
    described = model("boosted_trees_regressor", tmp_path, **FEW)
    train(described, SEED, rows())
    first = outputs(described)["predictions"]
    history = train(described, SEED, rows())
    assert "grown anew" in history.notes[0]
    np.testing.assert_array_equal(outputs(described)["predictions"], first)


def test_steps_have_no_meaning_and_an_evaluation_follows(tensorflow: Any, tmp_path: Path) -> None:
    described = model("boosted_trees_regressor", tmp_path, **FEW)
    history = train_and_evaluate(
        described, SEED, TrainSpec(rows(), max_steps=3), EvalSpec(rows(), name="all")
    )
    assert "have no meaning" in history.notes[0]
    assert [each["global_step"] for each in history.evaluations] == [global_step(str(tmp_path))]


COLUMNS: list[dict[str, Any]] = [
    {"kind": "numeric", "key": "x"},
    {"kind": "bucketized", "source_column": {"kind": "numeric", "key": "pair", "shape": [2]}}
    | {"boundaries": [0.0]},
    {
        "kind": "indicator",
        "categorical_column": {
            "kind": "categorical_with_vocabulary_list",
            "key": "city",
            "vocabulary_list": CITIES,
        },
    },
    {"kind": "categorical_with_identity", "key": "code", "num_buckets": 12},
]


def test_feature_columns_are_read_by_their_numbers_and_categories(
    tensorflow: Any, tmp_path: Path, grown: list[Any]
) -> None:
    pair = np.stack([X, -X], 1)
    columns = {"x": X, "pair": pair, "city": Factor(CITY, CITIES), "code": CITY.astype("int32")}
    described = model("boosted_trees_regressor", tmp_path, feature_columns=COLUMNS, **FEW)
    train(described, SEED, in_memory({**columns, "y": PRICE}))
    forest, table = grown[0]
    assert sorted(forest.input_feature_names()) == ["c0", "c1", "c2", "c3", "c4"]
    assert [table[f"c{place}"].dtype.kind for place in range(5)] == ["f", "f", "f", "i", "i"]
    found = outputs(described, in_memory(columns, None))["predictions"][:, 0]
    assert np.corrcoef(found, PRICE)[0, 1] > 0.9


def test_rows_of_a_function_train_with_feature_columns(tensorflow: Any, tmp_path: Path) -> None:
    def read() -> Any:
        return tensorflow.data.Dataset.from_tensor_slices(({"x": X}, PRICE)).batch(50)

    described = model("boosted_trees_regressor", tmp_path, feature_columns=COLUMNS[:1], **FEW)
    history = train(described, SEED, from_function(read))
    assert history.losses[-1] < history.losses[0] / 2


def test_a_row_of_weight_0_is_no_row(tensorflow: Any, tmp_path: Path) -> None:
    counts = (np.arange(ROWS) % 3 > 0).astype("float32")
    response = np.where(counts > 0, PRICE, -1e9).astype("float32")
    few = {**FEW, "validation": 0, "weight_column": "w"}
    described = model("boosted_trees_regressor", tmp_path, **few)
    train(described, SEED, rows(response, w=counts))
    found = outputs(described)["predictions"]
    assert found.min() > 0


def test_class_weights_multiply_the_weights_of_rows(
    tensorflow: Any, tmp_path: Path, grown: list[Any]
) -> None:
    fields = {**FEW, "validation": 0, "class_weights": {"cheap": 1, "dear": 5}}
    train(model("boosted_trees_classifier", tmp_path, **fields), SEED, rows(TWO))
    expected = np.where(grown[0][1]["label"] == 1, 5, 1)
    np.testing.assert_allclose(grown[0][1]["weight"], expected, rtol=1e-3)


@pytest.mark.parametrize("counts", [(20, 40), (20, 40, 60), (60, 0, 40), (60, 1, 40)])
def test_classes_keep_their_order_whatever_their_number_of_rows(
    tensorflow: Any, tmp_path: Path, counts: tuple[int, ...]
) -> None:
    classes = np.repeat(np.arange(len(counts)), counts)
    source = in_memory({"x": classes, "y": Factor(classes, ["a", "b", "c"][: len(counts)])})
    few = {"n_trees": 20, "min_node_weight": 1.0, "validation": 0.0}
    described = model("boosted_trees_classifier", tmp_path, n_classes=len(counts), **few)
    train(described, SEED, source)
    assert outputs(described, source)["class_ids"].ravel().tolist() == classes.tolist()


def test_rows_of_one_class_are_not_split(tensorflow: Any, tmp_path: Path) -> None:
    described = model("boosted_trees_classifier", tmp_path, n_trees=5, validation=0)
    classes = Factor((X > 0).astype("int32"), ["a", "b"])
    train(described, SEED, rows(classes))
    # Each tree has a root and two leaves.
    assert len(variables(tmp_path)["trees/value"]) == 15


@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
def test_predictions_follow_a_direction(tensorflow: Any, tmp_path: Path, direction: str) -> None:
    fields = {**FEW, direction: ["x"]}
    described = model("boosted_trees_regressor", tmp_path, **fields)
    train(described, SEED, rows((PRICE * np.sign(X)).astype("float32")))
    line = np.linspace(-3, 3, 50).astype("float32")
    same = {"z": np.zeros(50, "float32"), "city": Factor(np.zeros(50, "int32"), CITIES)}
    steps = np.diff(outputs(described, in_memory({"x": line, **same}, None))["predictions"][:, 0])
    assert (steps >= 0).all() if direction == "increasing" else (steps <= 0).all()


NUMBER = {"kind": "numeric", "key": "x"}
WORD = {"kind": "categorical_with_hash_bucket", "key": "city", "hash_bucket_size": 5}
UNREAD = {
    "embedding": {"kind": "embedding", "categorical_column": WORD, "dimension": 2},
    "crossed": {"kind": "crossed", "keys": ["city", "code"], "hash_bucket_size": 5},
    "categorical_weighted": {
        "kind": "categorical_weighted",
        "categorical_column": WORD,
        "weight_feature_key": "w",
    },
}


@pytest.mark.parametrize("kind", UNREAD)
def test_columns_that_trees_do_not_read_are_named(kind: str) -> None:
    with pytest.raises(ModelError, match=f"has the {kind} column"):
        model("boosted_trees_regressor", feature_columns=[UNREAD[kind]])


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = {
    "strategy": ({}, {"settings": RunSettings(Mirrored())}, RunConfigError, "`strategy` is mirr"),
    "micro-batches": (
        {},
        {"settings": RunSettings(micro_batches=2)},
        RunConfigError,
        "is 2 and ch",
    ),
    "precision": (
        {},
        {"settings": RunSettings(precision="mixed_bfloat16")},
        RunConfigError,
        "`precision` is 'mixed_bfloat16' and changes steps",
    ),
    "compilation": ({}, {"settings": RunSettings(compile=True)}, RunConfigError, "`compile` is Tr"),
    "hooks": ({}, {"hooks": (object(),)}, ArgumentError, "`hooks` act on steps"),
    "direction": ({"increasing": ["city"]}, {}, ArgumentError, '"city", which is no numeric'),
    "twice": (
        {"increasing": ["x"], "decreasing": ["x"]},
        {},
        ArgumentError,
        '"x", which is also in `increasing`',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_trees_cannot_do_is_refused_by_name(
    tensorflow: Any, tmp_path: Path, name: str
) -> None:
    fields, options, error, message = REFUSED[name]
    settings = options.pop("settings", SEED)
    with pytest.raises(error, match=message):
        train(model("boosted_trees_regressor", tmp_path, **fields), settings, rows(), **options)


def test_what_a_cluster_lacks_is_refused_before_its_processes_start(tmp_path: Path) -> None:
    fields = {"splits": "oblique", "l1_regularization": 1.0, "l2_regularization": 1.0}
    for name, value in {**fields, "increasing": ["x"], "decreasing": ["x"]}.items():
        config = {"cluster": {"kind": "local", "workers": 2}}
        described = {"kind": "boosted_trees_regressor", "model_dir": str(tmp_path), name: value}
        with pytest.raises(UnsupportedError, match=f"`{name}` is .* one process only"):
            jobs.prepare_verb({**described, "config": config}, "train", Workload(str(tmp_path)))


def test_a_bucket_is_refused_where_workers_are_on_several_hosts() -> None:
    config = {"cluster": {"kind": "ssh", "hosts": ["a", "b"], "workers": 2}}
    described = {"kind": "boosted_trees_regressor", "model_dir": "gs://bucket/m", "config": config}
    with pytest.raises(UnsupportedError, match=r"`model_dir` \"gs://bucket/m\" is in a bucket"):
        jobs.prepare_verb(described, "train", Workload("gs://bucket/m"))


@pytest.mark.parametrize("name", ["numbers", "three classes"])
def test_tensorflow_alone_serves_the_predictions(
    tensorflow: Any, tmp_path: Path, name: str
) -> None:
    kind, response, fields = RESPONSES[name]
    described = model(kind, tmp_path / "m", **FEW, **fields)
    train(described, SEED, rows(response))
    path = export_savedmodel(described, RunSettings(), str(tmp_path / "export"), request=rows())
    served = tensorflow.saved_model.load(path).signatures["predict"]
    city = np.array([each.encode() for each in CITIES])[CITY]
    given = {"x": X, "z": Z, "city": city}
    answer = served(**{each: tensorflow.constant(values) for each, values in given.items()})
    output = "predictions" if name == "numbers" else "probabilities"
    np.testing.assert_allclose(answer[output], outputs(described)[output], rtol=1e-6)


def test_descriptions_refuse_what_trees_do_not_have() -> None:
    with pytest.raises(UnsupportedError, match=r"`tree_complexity` is 0\.5"):
        model("boosted_trees_regressor", tree_complexity=0.5)
    with pytest.raises(ModelError, match="`label_dimension` is 2"):
        model("boosted_trees_regressor", label_dimension=2)


def test_class_weights_need_the_names_of_all_classes(tensorflow: Any, tmp_path: Path) -> None:
    described = model("boosted_trees_classifier", tmp_path, class_weights={"dear": 2})
    with pytest.raises(ArgumentError, match="the classes are cheap, dear"):
        train(described, SEED, rows(TWO))


def test_trees_are_not_converted(tensorflow: Any, tmp_path: Path) -> None:
    described = model("boosted_trees_regressor", tmp_path, n_trees=1, validation=0)
    train(described, SEED, rows())
    with pytest.raises(UnsupportedError, match="cannot be converted to Keras or ONNX"):
        as_keras_model(described)
    with pytest.raises(UnsupportedError, match="cannot be converted to Keras or ONNX"):
        export_savedmodel(described, RunSettings(), str(tmp_path / "onnx"), format="onnx")


def test_ydf_is_needed_to_train_only(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = model("boosted_trees_regressor", tmp_path, n_trees=2, validation=0)
    train(described, SEED, rows())
    monkeypatch.setitem(__import__("sys").modules, "ydf", None)
    assert outputs(described)["predictions"].shape == (ROWS, 1)
    with pytest.raises(BackendError, match=r"install_tfdistribute\(trees = TRUE\)"):
        train(described, SEED, rows())


def interrupt_after(trees: int, model_dir: Path) -> threading.Thread:
    def interrupt() -> None:
        while not any(growths.trees_grown(str(each)) > trees for each in kept_in(model_dir)):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    return thread


def kept_in(model_dir: Path) -> list[Path]:
    return list(model_dir.glob("tmp_trees_*"))


def test_an_interrupted_training_continues(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growths, "_SNAPSHOT_S", 0)
    random = np.random.default_rng(1)
    numbers = {f"x{each}": random.normal(size=4000) for each in range(8)}
    source = in_memory({**numbers, "y": sum(numbers.values()) ** 2})
    whole, parts = (
        model("boosted_trees_regressor", tmp_path / name, n_trees=150, validation=0)
        for name in ("whole", "parts")
    )
    train(whole, SEED, source)
    thread = interrupt_after(5, tmp_path / "parts")
    with pytest.raises(KeyboardInterrupt, match="continues from the trees"):
        train(parts, SEED, source)
    thread.join()
    assert global_step(str(tmp_path / "parts")) == 0
    (kept,) = kept_in(tmp_path / "parts")
    assert growths.trees_grown(str(kept)) > 5
    train(parts, SEED, source)
    assert not kept_in(tmp_path / "parts")
    found, expected = (outputs(each, in_memory(numbers, None)) for each in (parts, whole))
    np.testing.assert_array_equal(found["predictions"], expected["predictions"])
