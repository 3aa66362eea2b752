"""Feature column descriptions and TensorFlow's feature columns."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfdistribute.callbacks import Callback
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, ModelError, TfdistributeError
from tfdistribute.models import FeatureColumn, Initializer, Model, safe_key
from tfdistribute.models.feature_columns.initializers import InitializerName
from tfdistribute.models.feature_columns.numeric import Numeric

X = {"kind": "numeric", "key": "x"}
RANGES = {"kind": "bucketized", "source_column": X, "boundaries": [0, 1]}
LISTED = {"kind": "categorical_with_vocabulary_list", "key": "word", "vocabulary_list": ["a", "b"]}
HASHED = {"kind": "categorical_with_hash_bucket", "key": "word", "hash_bucket_size": 10}
NUMBERED = {"kind": "categorical_with_identity", "key": "k", "num_buckets": 3}
WEIGHTED = {"kind": "categorical_weighted", "categorical_column": LISTED, "weight_feature_key": "w"}
CROSSED = {"kind": "crossed", "keys": [RANGES, "word", "color"], "hash_bucket_size": 10}
EVERY = {
    "numeric": X,
    "bucketized": RANGES,
    "categorical_with_vocabulary_list": LISTED,
    "categorical_with_hash_bucket": HASHED,
    "categorical_with_identity": NUMBERED,
    "categorical_weighted": WEIGHTED,
    "crossed": CROSSED,
    "indicator": {"kind": "indicator", "categorical_column": CROSSED},
    "embedding": {"kind": "embedding", "categorical_column": HASHED, "dimension": 2},
}


def column(mapping: dict[str, Any]) -> FeatureColumn:
    return read(FeatureColumn, mapping)


@pytest.mark.parametrize("kind", EVERY)
def test_a_column_has_the_name_that_tensorflow_gives_it(tensorflow: Any, kind: str) -> None:
    described = column(EVERY[kind])
    assert described.kind == kind
    assert described.build().name == described.name


@pytest.mark.smoke
@pytest.mark.parametrize("kind", EVERY)
def test_a_column_reads_the_features_that_tensorflows_reads(tensorflow: Any, kind: str) -> None:
    described = column(EVERY[kind])
    assert {need.feature for need in described.requirements()} == set(
        described.build().parse_example_spec
    )


@pytest.mark.parametrize("kind", EVERY)
def test_a_column_says_what_it_means_in_plain_values(kind: str) -> None:
    structure = column(EVERY[kind]).structure()
    assert json.loads(json.dumps(structure)) == structure
    assert structure["kind"] == kind


def test_every_kind_of_column_is_tested() -> None:
    # Vocabulary files are tested below.
    assert set(FeatureColumn.kinds) == {*EVERY, "categorical_with_vocabulary_file"}


def test_categories_can_be_listed_in_a_file(tensorflow: Any, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("a\nb\n", encoding="utf-8")
    described = column(
        {"kind": "categorical_with_vocabulary_file", "key": "word", "vocabulary_file": str(file)}
    )
    assert described.build().num_buckets == 2
    described.check_files()


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("petal_length", "petal_length"),
        ("petal length", "petal_length"),
        ("größe", "gru00f6u00dfe"),
        ("長さ", "u9577u3055"),
        ("a/b:c%", "a_b_c_"),
        ("x.1-y", "x.1-y"),
    ],
)
def test_any_name_becomes_one_that_scopes_accept(name: str, key: str) -> None:
    assert safe_key(name) == key


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("a b", "a_b", '"a b" and "a_b", which both become "a_b"'),
        ("x", "x", 'two feature columns with the name "x"'),
    ],
)
def test_columns_that_clash_are_refused_by_both_names(
    first: str, second: str, message: str
) -> None:
    columns = [{"kind": "numeric", "key": first}, {"kind": "numeric", "key": second}]
    with pytest.raises(ModelError, match=message):
        read(Model, {"kind": "linear_regressor", "model_dir": "m", "feature_columns": columns})


def test_features_of_two_parts_that_clash_are_refused_too() -> None:
    with pytest.raises(ModelError, match='features "a b" and "a_b"'):
        read(
            Model,
            {
                "kind": "dnn_linear_combined_regressor",
                "model_dir": "m",
                "linear_feature_columns": [{"kind": "numeric", "key": "a b"}],
                "dnn_feature_columns": [{"kind": "numeric", "key": "a_b"}],
                "dnn_hidden_units": 2,
            },
        )


def test_one_feature_may_be_read_by_both_parts() -> None:
    described = read(
        Model,
        {
            "kind": "dnn_linear_combined_regressor",
            "model_dir": "m",
            "linear_feature_columns": [X],
            "dnn_feature_columns": [X],
            "dnn_hidden_units": 2,
        },
    )
    assert {need.feature for need in described.required_features()} == {"x"}


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({**RANGES, "boundaries": [1, 1]}, "`boundaries` must be increasing numbers"),
        ({**RANGES, "source_column": {**X, "shape": [2, 2]}}, "has shape"),
        ({**X, "scale": 0}, "`scale` must be numbers above 0"),
        ({**RANGES, "source_column": LISTED}, "is not a field|numeric|Numeric|kind"),
        ({**LISTED, "vocabulary_list": ["a", "a"]}, "lists 'a' twice"),
        ({**LISTED, "vocabulary_list": []}, "`vocabulary_list` must be strings or whole numbers"),
        ({**LISTED, "default_value": 0, "num_oov_buckets": 2}, "cannot both be given"),
        ({**CROSSED, "keys": ["a"]}, "`keys` must be at least two names"),
        ({**CROSSED, "keys": ["a", X]}, "cannot hold x, which is numeric"),
        (
            {**CROSSED, "keys": ["a", HASHED]},
            "cannot hold word, which is categorical_with_hash_bucket",
        ),
        (
            {"kind": "indicator", "categorical_column": X},
            r"column_indicator\(\) needs a categorical column",
        ),
        ({**EVERY["embedding"], "ckpt_to_load_from": "c"}, "`ckpt_to_load_from` was given alone"),
    ],
)
def test_what_tensorflow_would_refuse_is_refused_when_it_is_described(
    mapping: dict[str, Any], message: str
) -> None:
    with pytest.raises(TfdistributeError, match=message) as caught:
        column(mapping)
    assert caught.value.argument in mapping


def test_a_function_from_r_normalizes(tensorflow: Any) -> None:
    halve = {"call": lambda x: {"value": x / 2}, "formals": ["x"]}
    described = column({**X, "normalizer_fn": halve})
    assert isinstance(described, Numeric)
    assert isinstance(described.normalizer_fn, Callback)
    layer = tensorflow.keras.layers.DenseFeatures([described.build()])
    np.testing.assert_array_equal(layer({"x": np.array([2.0, 4.0])}), [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("values", "dtype", "fields", "expected"),
    [
        ([[3.0], [5.0]], "float32", {"center": 3, "scale": 2}, [[0.0], [1.0]]),
        ([[3], [5]], "int32", {"scale": 2}, [[1.5], [2.5]]),
        # Single precision would round these seconds to multiples of 128.
        ([[1.6e9], [1.6e9 + 1]], "float64", {"center": 1.6e9}, [[0.0], [1.0]]),
        (
            [[1.0, 10.0]],
            "float32",
            {"shape": [2], "center": [1, 8], "scale": [1, 4]},
            [[0.0, 0.5]],
        ),
    ],
)
def test_center_and_scale_are_plain_values(
    tensorflow: Any, values: Any, dtype: str, fields: dict[str, Any], expected: Any
) -> None:
    tf = tensorflow
    built = column({**X, **fields}).build()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        layer = tf.compat.v1.feature_column.input_layer({"x": tf.constant(values, dtype)}, [built])
        assert session.run(layer).tolist() == expected


@pytest.mark.parametrize("name", typing.get_args(InitializerName))
def test_every_initializer_in_the_table_makes_values(tensorflow: Any, name: str) -> None:
    settings = {"value": 2.0} if name == "constant" else {}
    initializer = read(Initializer, {"kind": "named", "name": name, "settings": settings})
    assert initializer.build()((3, 4), dtype=tensorflow.float32).shape == (3, 4)


def test_an_initializer_reaches_the_vectors_of_an_embedding(tensorflow: Any) -> None:
    embedding = {
        **EVERY["embedding"],
        "initializer": {"kind": "named", "name": "constant", "settings": {"value": 2.0}},
    }
    layer = tensorflow.keras.layers.DenseFeatures([column(embedding).build()])
    np.testing.assert_array_equal(layer({"word": np.array(["a"])}), [[2.0, 2.0]])


def test_unknown_initializers_and_settings_are_named(tensorflow: Any) -> None:
    with pytest.raises(ArgumentError, match="`name` must be one of .*, not 'normal'"):
        read(Initializer, {"kind": "named", "name": "normal"})
    strange = read(Initializer, {"kind": "named", "name": "zeros", "settings": {"stddev": 1.0}})
    with pytest.raises(ArgumentError, match='`initializer` "zeros" cannot take stddev'):
        strange.build()
    with pytest.raises(ArgumentError, match="`initializer` must be a function"):
        read(Initializer, {"kind": "function", "function": 3}).build()


def test_ignored_and_refused_labels_are_the_same_model():
    listed = {"kind": "categorical_with_vocabulary_list", "key": "w", "vocabulary_list": ["a"]}
    refuses, ignores = column(listed), column({**listed, "default_value": -1})
    assert refuses.structure() == ignores.structure()
    assert ignores.requirements()[0].accepted is None
    found = refuses.requirements()[0].accepted
    assert found is not None
    assert set(found.values) == {"a", ""}
