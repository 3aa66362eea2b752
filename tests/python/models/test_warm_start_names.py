"""Warm starts of models whose columns, classes or factors have other positions than in the checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models, strategies
from support.inputs import Factor, in_memory
from support.sampling import sampled

from tfdistribute.errors import ModelError
from tfdistribute.inputs import Input
from tfdistribute.run_config import RunSettings
from tfdistribute.training.predict import concatenate, predict
from tfdistribute.training.train import train
from tfdistribute.training.variables import variable_names, variable_value

STILL, FAST = models.sgd(0.0), models.optimizer("Adam", learning_rate=0.05)
VALUES = {"a": 10.0, "b": -5.0, "c": 0.0}
ROWS = ["a", "b", "c"] * 8


def source(rows: list[str] = ROWS, levels: str = "abc", **fields: Any) -> Input:
    factor = Factor(np.array([levels.index(each) for each in rows]), list(levels))
    y = np.array([VALUES.get(each, 1.0) for each in rows], "float32")
    columns = {"g": factor, "x": np.linspace(-1, 1, len(rows)).astype("float32"), "y": y}
    return in_memory({**columns, **fields}, batch_size=len(rows), epochs=40)


def vocabulary(categories: str, **fields: Any) -> dict[str, Any]:
    kind = "categorical_with_vocabulary_list"
    return {"kind": kind, "key": "g", "vocabulary_list": list(categories), **fields}


def indicator(categories: str) -> dict[str, Any]:
    return {"kind": "indicator", "categorical_column": vocabulary(categories)}


def embedding(categories: str) -> dict[str, Any]:
    return {"kind": "embedding", "categorical_column": vocabulary(categories), "dimension": 2}


def number(center: float, scale: float = 2.0) -> dict[str, Any]:
    return {"kind": "numeric", "key": "x", "center": [center], "scale": [scale]}


def started(folder: Path, first: Any, kind: str, pattern: Any = ".*", **fields: Any) -> Any:
    start = {"ckpt_to_initialize_from": first.model_dir, "vars_to_warm_start": pattern}
    return models.model(kind, folder / "second", warm_start_from=start, **fields)


ROWS_OF = {
    "vocabulary": "linear_model/g/weights",
    "indicator": "linear_model/g_indicator/weights",
    "embedding": "input_layer/g_embedding/embedding_weights",
}
TANH = {"hidden_units": [4], "activation_fn": "tanh"}


def fields_of(kind: str, column: Any, optimizer: Any) -> dict[str, Any]:
    if kind.startswith("linear"):
        return {"feature_columns": [column], "optimizer": optimizer}
    if kind == "dnn_regressor":
        return {"feature_columns": [column], "optimizer": optimizer, **TANH}
    parts = {"linear_feature_columns": [column], "dnn_feature_columns": [embedding("abc")]}
    optimizers = {"linear_optimizer": optimizer, "dnn_optimizer": optimizer}
    return {**parts, **optimizers, "dnn_hidden_units": [4]}


def predicted(model: Any, rows: list[str], levels: str = "abc") -> Any:
    given = source(rows, levels)
    outputs = concatenate(predict(model, RunSettings(), given))
    return outputs["predictions"][: len(rows), 0]


@sampled(
    ("kind", "column", "strategy"),
    [
        (kind, column, strategy)
        for kind, column in [
            ("linear_regressor", vocabulary),
            ("linear_regressor", indicator),
            ("dnn_regressor", embedding),
            ("dnn_linear_combined_regressor", vocabulary),
        ]
        for strategy in ["none", "mirrored", "central storage"]
    ],
    check=[
        ("linear_regressor", vocabulary, "none"),
        ("linear_regressor", indicator, "mirrored"),
        ("dnn_regressor", embedding, "none"),
    ],
    versions=[("linear_regressor", vocabulary, "none")],
)
def test_weights_follow_their_categories_by_name(
    tensorflow: Any, tmp_path: Path, kind: str, column: Any, strategy: str
) -> None:
    first = models.model(kind, tmp_path / "first", **fields_of(kind, column("abc"), FAST))
    train(first, RunSettings(seed=1), source())
    second = started(tmp_path, first, kind, **fields_of(kind, column("dcab"), STILL))
    train(second, strategies.settings(strategy), source(), steps=1)
    expected = predicted(first, list("abc"))
    assert len(set(expected.round(3))) == 3
    np.testing.assert_allclose(predicted(second, list("abc")), expected, rtol=1e-6)
    (name,) = (
        name
        for name in variable_names(second.model_dir)
        if name.endswith(ROWS_OF[column.__name__]) and not name.startswith("training")
    )
    assert not variable_value(second.model_dir, name)[0].any()


def test_buckets_of_unlisted_values_follow_if_their_number_is_the_same(
    tensorflow: Any, tmp_path: Path
) -> None:
    fields = {"feature_columns": [vocabulary("ab", num_oov_buckets=2)], "optimizer": FAST}
    first = models.model("linear_regressor", tmp_path / "first", **fields)
    train(first, RunSettings(), source(list("abcdef") * 4, "abcdef"))
    fields = {"feature_columns": [vocabulary("ba", num_oov_buckets=2)], "optimizer": STILL}
    second = started(tmp_path, first, "linear_regressor", **fields)
    train(second, RunSettings(), source(), steps=1)
    one, other = (predicted(each, list("abcdef"), "abcdef") for each in (first, second))
    np.testing.assert_allclose(other, one, rtol=1e-6)


NUMERIC = {"kind": "numeric", "key": "x"}
BUCKETS = {"kind": "bucketized", "source_column": NUMERIC}
LINEAR, DEEP = {"kind": "linear_regressor"}, {"kind": "dnn_regressor", "hidden_units": [4]}
IDENTITY = {"kind": "categorical_with_identity", "key": "g", "num_buckets": 3}
CLASSIFIER = {"kind": "linear_classifier", "n_classes": 3, "feature_columns": [NUMERIC]}
REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "center": (
        {**LINEAR, "feature_columns": [number(0.0)]},
        {**LINEAR, "feature_columns": [number(1.0)]},
        r"`center` of its column `x` is \[0.0\], this model's is \[1.0\]",
    ),
    "scale in layers": (
        {**DEEP, "feature_columns": [number(0.0)]},
        {**DEEP, "feature_columns": [number(0.0, 3.0)]},
        r"`scale` of its column `x` is \[2.0\], this model's is \[3.0\]",
    ),
    "boundaries": (
        {**LINEAR, "feature_columns": [{**BUCKETS, "boundaries": [0.0, 1.0]}]},
        {**LINEAR, "feature_columns": [{**BUCKETS, "boundaries": [0.0, 2.0]}]},
        "`boundaries` of its column `x_bucketized`",
    ),
    "an indicator in layers": (
        {**DEEP, "feature_columns": [indicator("abc")]},
        {**DEEP, "feature_columns": [indicator("cab")]},
        "`vocabulary_list` of its column `g_indicator`",
    ),
    "other columns in layers": (
        {**DEEP, "feature_columns": [NUMERIC]},
        {**DEEP, "feature_columns": [{"kind": "numeric", "key": "g"}]},
        "the layers read x, this model's layers read g",
    ),
    "classes": (
        {**CLASSIFIER, "label_vocabulary": ["a", "b", "c"]},
        {**CLASSIFIER, "label_vocabulary": ["c", "b", "a"]},
        "classes .`label_vocabulary`.",
    ),
}


def reads(description: dict[str, Any]) -> Input:
    labels = description["kind"] == "linear_classifier"
    codes = np.arange(24) % 3
    y = Factor(codes, list("abc")) if labels else codes.astype("float32")
    columns = {"x": codes.astype("float32"), "y": y}
    read = str(description["feature_columns"])
    if "indicator" in read:
        columns["g"] = Factor(codes, list("abc"))
    if "'key': 'g'" in read and "indicator" not in read:
        columns["g"] = codes.astype("float32")
    return in_memory(columns, batch_size=24)


@pytest.mark.parametrize("case", REFUSED)
def test_weights_with_another_meaning_are_refused_with_the_column(
    tensorflow: Any, tmp_path: Path, case: str
) -> None:
    old, new, text = REFUSED[case]
    first = models.model(**old, model_dir=tmp_path / "first")
    train(first, RunSettings(), reads(old), steps=1)
    fields = {name: value for name, value in new.items() if name != "kind"}
    with pytest.raises(ModelError, match=text) as caught:
        train(started(tmp_path, first, new["kind"], **fields), RunSettings(), reads(new), steps=1)
    assert caught.value.argument == "warm_start_from"


def test_weights_that_are_not_taken_may_have_another_meaning(
    tensorflow: Any, tmp_path: Path
) -> None:
    fields = {"hidden_units": [4, 4], "optimizer": STILL}
    old, new = [number(0.0)], [number(1.0)]
    first = models.model("dnn_regressor", tmp_path / "first", feature_columns=old, **fields)
    train(first, RunSettings(), source(), steps=1)
    pattern = ".*hiddenlayer_1"
    second = started(tmp_path, first, "dnn_regressor", pattern, feature_columns=new, **fields)
    train(second, RunSettings(), source(), steps=1)
    name = "dnn/hiddenlayer_1/kernel"
    np.testing.assert_array_equal(*(variable_value(e.model_dir, name) for e in (first, second)))


def test_levels_of_a_factor_that_is_read_as_codes_are_compared(
    tensorflow: Any, tmp_path: Path
) -> None:
    first = models.model("linear_regressor", tmp_path / "first", feature_columns=[IDENTITY])
    train(first, RunSettings(), source(), steps=1)
    second = started(tmp_path, first, "linear_regressor", feature_columns=[IDENTITY])
    with pytest.raises(ModelError, match="levels of the factor `g` are .*a.*b.*c.*this model's"):
        train(second, RunSettings(), source(levels="cba"), steps=1)


@pytest.mark.parametrize("pattern", ["no such weight", ["linear.*", "no such weight"]])
def test_a_pattern_without_a_match_is_refused_with_the_variables(
    tensorflow: Any, tmp_path: Path, pattern: Any
) -> None:
    fields = {"feature_columns": [vocabulary("abc")]}
    first = models.model("linear_regressor", tmp_path / "first", **fields)
    train(first, RunSettings(), source(), steps=1)
    second = started(tmp_path, first, "linear_regressor", pattern, **fields)
    with pytest.raises(ModelError, match='"no such weight" matches no variable') as caught:
        train(second, RunSettings(), source(), steps=1)
    assert "linear/linear_model/g/weights" in str(caught.value.remedy)


def test_a_vocabulary_file_belongs_to_the_model(tensorflow: Any, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("a\nb\nc\n")
    column = {
        "kind": "categorical_with_vocabulary_file",
        "key": "g",
        "vocabulary_file": str(words),
        "vocabulary_size": 3,
    }
    model = models.model("linear_regressor", tmp_path / "model", feature_columns=[column])
    train(model, RunSettings(), source(), steps=1)
    words.write_text("a\nb\nc\nunread")
    train(model, RunSettings(), source(), steps=1)
    words.write_text("c\nb\na\n")
    text = 'the vocabulary file ".*words.txt" of its column `g` had other lines in training'
    second = started(tmp_path, model, "linear_regressor", feature_columns=[column])
    for attempt in (
        lambda: train(model, RunSettings(), source(), steps=1),
        lambda: predicted(model, ["a"]),
        lambda: train(second, RunSettings(), source(), steps=1),
    ):
        with pytest.raises(ModelError, match=text):
            attempt()


def test_a_signature_without_the_content_of_a_vocabulary_file_is_accepted(
    tensorflow: Any, tmp_path: Path
) -> None:
    words = tmp_path / "words.txt"
    words.write_text("a\nb\nc\n")
    column = {"kind": "categorical_with_vocabulary_file", "key": "g", "vocabulary_file": str(words)}
    model = models.model("linear_regressor", tmp_path / "model", feature_columns=[column])
    train(model, RunSettings(), source(), steps=1)
    signature = tmp_path / "model" / "tfdistribute-model.json"
    lines = signature.read_text().splitlines()
    kept = [each for each in lines if '"lines"' not in each and '"vocabulary_file":' not in each]
    assert len(kept) == len(lines) - 2
    signature.write_text("\n".join(kept).replace(",\n      }", "\n      }"))
    train(model, RunSettings(), source(), steps=1)
    assert '"lines"' in signature.read_text()
