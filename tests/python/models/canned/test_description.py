"""Descriptions of canned models: what they hold, and which are refused."""

from __future__ import annotations

import json
import typing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.canned_models import (
    FIELDS,
    NUMBER,
    WORD,
    configuration,
    model,
)

from tfdistribute.callbacks import Callback
from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.errors import ArgumentError, InputError, ModelError, TfdistributeError
from tfdistribute.models.canned.activations import find_activation
from tfdistribute.models.canned.parts import ActivationName


def test_a_structure_is_plain_values() -> None:
    for kind in FIELDS:
        structure = model(kind).structure()
        assert json.loads(json.dumps(structure)) == structure
        assert structure["kind"] == kind
        assert "optimizer" in structure


def test_the_structure_holds_momentum_but_not_the_learning_rate() -> None:
    def structure(**settings: Any) -> Any:
        optimizer = {"kind": "named", "name": "SGD", "settings": settings}
        return model("linear_regressor", optimizer=optimizer).structure()

    assert structure(learning_rate=0.1) == structure(learning_rate=0.2)
    assert structure(momentum=0.9) != structure()


def test_class_names_come_from_the_levels_of_the_label() -> None:
    facts = InputFacts(label=ColumnFacts("answer", "string", (), ("no", "yes")))
    described = model("dnn_classifier")
    assert described.label_vocabulary is None
    assert described.complete_from_input(facts).label_vocabulary == ("no", "yes")
    assert described.complete_from_input(facts).structure()["label_vocabulary"] == ["no", "yes"]
    three = InputFacts(label=ColumnFacts("answer", "string", (), ("no", "perhaps", "yes")))
    with pytest.raises(
        ModelError, match=r"`n_classes` is 2, but the response \"answer\" has 3 levels"
    ):
        described.complete_from_input(three)


def test_class_names_come_from_the_signature_of_a_trained_model() -> None:
    trained = model("dnn_classifier", label_vocabulary=["no", "yes"])
    later = model("dnn_classifier").complete_from_signature(trained.structure())
    assert later == trained
    assert model("dnn_classifier").complete_from_signature(None) == model("dnn_classifier")
    # What the user says is not overruled.
    other = model("dnn_classifier", label_vocabulary=["a", "b"])
    assert other.complete_from_signature(trained.structure()) == other


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("dnn_regressor", {"feature_columns": [WORD]}, r"categorical column \"word\""),
        (
            "dnn_linear_combined_regressor",
            {"dnn_feature_columns": [WORD]},
            "`dnn_feature_columns` has the categorical",
        ),
        ("linear_regressor", {"feature_columns": []}, "`feature_columns` is empty"),
        (
            "dnn_linear_combined_regressor",
            {"dnn_feature_columns": [], "linear_feature_columns": []},
            "`linear_feature_columns` and `dnn_feature_columns` are empty",
        ),
        (
            "linear_classifier",
            {"n_classes": 4},
            r"`n_classes` is 4, but `label_vocabulary` names 3",
        ),
    ],
)
def test_a_model_without_usable_columns_is_refused_when_it_is_described(
    kind: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        model(kind, **fields)
    assert caught.value.remedy


def test_an_unknown_activation_is_refused(tensorflow: Any, tmp_path: Path) -> None:
    with pytest.raises(
        ArgumentError, match="`activation_fn` must be one of .* or a function, not .rulu."
    ):
        model("dnn_regressor", tmp_path, activation_fn="rulu").build(configuration(tensorflow))


def test_a_missing_vocabulary_file_is_named_before_tensorflow_starts() -> None:
    column = {
        "kind": "categorical_with_vocabulary_file",
        "key": "word",
        "vocabulary_file": "no/such.txt",
    }
    boxed = {"kind": "indicator", "categorical_column": column}
    with pytest.raises(
        InputError, match=r"`vocabulary_file` \"no/such.txt\" of word does not exist"
    ):
        model("dnn_regressor", feature_columns=[boxed]).check(InputFacts())


def test_functions_of_r_are_found_in_every_field() -> None:
    callback = Callback(lambda x: {"value": x}, ("x",))
    assert not model("dnn_regressor").has_callbacks()
    assert model("dnn_regressor", activation_fn=callback).has_callbacks()
    assert model(
        "dnn_regressor", feature_columns=[{**NUMBER, "normalizer_fn": callback}]
    ).has_callbacks()
    wire = {"call": lambda: {"value": None}, "formals": []}
    assert model("dnn_regressor", optimizer={"kind": "function", "function": wire}).has_callbacks()


def test_functions_of_users_are_found_in_every_field(tensorflow: Any) -> None:
    assert not model("dnn_regressor", activation_fn="relu").has_functions()
    assert not model("dnn_regressor", activation_fn=tensorflow.nn.relu).has_functions()
    assert model("dnn_regressor", activation_fn=lambda x: x).has_functions()
    column = {**NUMBER, "normalizer_fn": lambda x: x}
    assert model("dnn_regressor", feature_columns=[column]).has_functions()


def test_the_structure_does_not_hold_the_model_directory() -> None:
    described = model("linear_regressor")
    assert replace(described, model_dir="elsewhere").structure() == described.structure()


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(
        ArgumentError, match="'random_forest_regressor', which is not a kind of Model"
    ):
        model("random_forest_regressor")


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("linear_regressor", {"feature_columns": []}, "`feature_columns` is empty"),
        ("dnn_regressor", {"feature_columns": [WORD]}, '"word", which layers cannot read directly'),
        (
            "dnn_linear_combined_regressor",
            {"linear_feature_columns": [], "dnn_feature_columns": []},
            "Both `linear_feature_columns` and `dnn_feature_columns` are empty",
        ),
        (
            "dnn_linear_combined_regressor",
            {"dnn_feature_columns": [NUMBER], "dnn_hidden_units": []},
            "`dnn_hidden_units` must be whole numbers of at least 1, one per layer",
        ),
    ],
)
def test_columns_that_no_data_could_make_right_are_refused_by_name(
    kind: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(TfdistributeError, match=message):
        model(kind, **fields)


def test_every_name_of_an_activation_is_a_function(tensorflow: Any) -> None:
    assert all(callable(find_activation(name)) for name in typing.get_args(ActivationName))


def test_activations_of_dials_equal_their_formulas(tensorflow: Any) -> None:
    x = np.array([-4.0, -1.0, -0.3, 0.0, 0.3, 1.0, 4.0])
    formulas = {
        "celu": np.maximum(x, 0) + np.minimum(0, np.expm1(x)),
        "hardshrink": np.where(np.abs(x) > 0.5, x, 0),
        "hardsigmoid": np.clip(x / 6 + 0.5, 0, 1),
        "hardtanh": np.clip(x, -1, 1),
        "log_sigmoid": -np.log1p(np.exp(-x)),
        "softshrink": np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
        "tanhshrink": x - np.tanh(x),
    }
    for name, expected in formulas.items():
        np.testing.assert_allclose(find_activation(name)(tensorflow.constant(x)), expected)
