"""Checks that data fits a model, before TensorFlow starts."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.descriptions import read
from tfdistribute.errors import InputError, ModelError, TfdistributeError
from tfdistribute.models import Model

X = {"kind": "numeric", "key": "x"}


def model(kind: str, **fields: Any) -> Model:
    columns = {"feature_columns": [X]} if kind.startswith("linear") else {}
    return read(Model, {"kind": kind, "model_dir": "m", **columns, **fields})


def facts(
    label: ColumnFacts | None, label_range: tuple[float, float] | None = None, **features: Any
) -> InputFacts:
    known = {"x": ColumnFacts("x", "float"), **features}
    return InputFacts(features=known, label=label, label_range=label_range)


REGRESSOR = model("linear_regressor")
CLASSIFIER = model("linear_classifier")
LOGICAL = model("linear_classifier", label_vocabulary=["FALSE", "TRUE"])
NAMED = model("linear_classifier", label_vocabulary=["no", "yes"])


@pytest.mark.parametrize(
    ("described", "label", "label_range"),
    [
        (REGRESSOR, ColumnFacts("y", "float"), (-1.5, 2.0)),
        (REGRESSOR, ColumnFacts("y", "logical"), (0.0, 1.0)),
        (model("linear_regressor", label_dimension=2), ColumnFacts("y", "float", (2,)), None),
        (CLASSIFIER, ColumnFacts("y", "float"), (0.0, 1.0)),
        (model("linear_classifier", n_classes=3), ColumnFacts("y", "logical"), (0.0, 1.0)),
        (LOGICAL, ColumnFacts("y", "logical"), (0.0, 1.0)),
        (LOGICAL, ColumnFacts("y", "integer"), (0.0, 1.0)),
        (model("baseline_classifier", n_classes=3), ColumnFacts("y", "integer"), (0.0, 2.0)),
        (NAMED, ColumnFacts("y", "string"), None),
        (NAMED, ColumnFacts("y", "string", (), ("yes", "no")), None),
    ],
)
def test_labels_that_fit_pass(
    described: Model, label: ColumnFacts, label_range: tuple[float, float] | None
) -> None:
    described.check(facts(label, label_range))
    assert described.complete_from_input(facts(label, label_range)) == described


def test_the_classes_of_a_logical_response_are_false_and_true() -> None:
    label = facts(ColumnFacts("y", "logical"), (0.0, 1.0))
    CLASSIFIER.check(label)
    assert CLASSIFIER.complete_from_input(label) == LOGICAL


@pytest.mark.parametrize(
    ("described", "label", "label_range", "message"),
    [
        (REGRESSOR, None, None, "The input has no response"),
        (
            REGRESSOR,
            ColumnFacts("y", "string"),
            None,
            '"y" holds strings, but a regressor predicts numbers',
        ),
        (
            REGRESSOR,
            ColumnFacts("y", "float", (3,)),
            None,
            "3 values per row, but `label_dimension` is 1",
        ),
        (CLASSIFIER, ColumnFacts("y", "string"), None, "does not know the names of its classes"),
        (CLASSIFIER, ColumnFacts("y", "float"), (0.5, 1.0), '"y" holds 0.5'),
        (
            CLASSIFIER,
            ColumnFacts("y", "integer"),
            (0.0, 2.0),
            "goes from 0 to 2, but with n_classes = 2",
        ),
        (CLASSIFIER, ColumnFacts("y", "integer"), (-1.0, 1.0), "goes from -1 to 1"),
        (CLASSIFIER, ColumnFacts("y", "date"), None, "holds dates"),
        (
            CLASSIFIER,
            ColumnFacts("y", "integer", (2,)),
            None,
            "2 values per row, but a classifier takes one",
        ),
        (NAMED, ColumnFacts("y", "integer"), (0.0, 1.0), 'have names \\("no", "yes"\\)'),
    ],
)
def test_labels_that_do_not_fit_are_refused_by_name(
    described: Model,
    label: ColumnFacts | None,
    label_range: tuple[float, float] | None,
    message: str,
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        described.check(facts(label, label_range))
    assert caught.value.remedy


def test_the_remedy_for_too_many_classes_names_their_number() -> None:
    with pytest.raises(TfdistributeError, match="n_classes = 4"):
        CLASSIFIER.check(facts(ColumnFacts("y", "integer"), (0.0, 3.0)))
    with pytest.raises(ModelError) as caught:
        CLASSIFIER.complete_from_input(facts(ColumnFacts("y", "string", (), ("a", "b", "c"))))
    assert caught.value.remedy is not None
    assert "n_classes = 3" in caught.value.remedy


def test_there_are_as_many_classes_as_names() -> None:
    label = facts(ColumnFacts("y", "string"))
    with pytest.raises(ModelError, match="`n_classes` is 3, but `label_vocabulary` names 2"):
        model("linear_classifier", label_vocabulary=["no", "yes"], n_classes=3).check(label)


def test_classes_counted_from_one_are_a_factor_not_one_class_more() -> None:
    for high, said in ((2.0, "count its classes from 0"), (4.0, "the number of its levels")):
        with pytest.raises(InputError) as caught:
            CLASSIFIER.check(facts(ColumnFacts("y", "integer"), (1.0, high)))
        assert caught.value.remedy is not None
        assert said in caught.value.remedy
        assert "n_classes =" not in caught.value.remedy


@pytest.mark.parametrize(
    ("kind", "label", "values"),
    [
        ("tabular_regressor", ColumnFacts("y", "float", (2,)), None),
        ("tabular_regressor", ColumnFacts("y", "string"), None),
        ("tabular_classifier", ColumnFacts("y", "float", (2,)), None),
        ("tabular_classifier", ColumnFacts("y", "date"), [1.0, 2.0]),
        ("tabular_classifier", ColumnFacts("y", "float"), [0.0, 0.5, 1.0]),
        ("tabular_classifier", ColumnFacts("y", "float"), [3.0, 3.0]),
        ("tabular_classifier", ColumnFacts("y", "string"), ["a", "a"]),
        ("tabular_classifier", ColumnFacts("y", "string"), ["", "a"]),
        ("tabular_classifier", ColumnFacts("y", "string", (), ("", "a")), ["", "a"]),
    ],
)
def test_a_tabular_model_offers_no_argument_that_it_lacks(
    kind: str, label: ColumnFacts, values: list[Any] | None
) -> None:
    lacking = ("label_dimension", "label_vocabulary", "n_classes")
    described = model(kind)
    held = None if values is None else {"y": np.array(values), "x": np.zeros(len(values))}
    given = replace(facts(label), values=None if held is None else held.__getitem__)
    with pytest.raises(InputError) as caught:
        (described if held is None else described.complete_from_input(given)).check(given)
    shown = f"{caught.value.problem} {caught.value.remedy}"
    assert caught.value.remedy
    assert not [name for name in lacking if name in shown]


def test_a_tabular_model_offers_no_vocabulary_for_a_new_label() -> None:
    named = model("tabular_classifier", n_classes=2, label_vocabulary=["no", "yes"])
    ((_, names),) = named.accepted_values(facts(ColumnFacts("y", "string")), needs_label=True)
    assert "label_vocabulary" not in str(names.error(["perhaps"], "row 3").remedy)


def test_a_classifier_accepts_the_names_of_its_classes() -> None:
    given = facts(ColumnFacts("y", "string"))
    ((name, names),) = NAMED.accepted_values(given, needs_label=True)
    assert (name, set(names.values)) == ("y", {"no", "yes"})
    assert 'the label "perhaps" in row 3' in names.error(["perhaps"], "row 3").problem
    assert NAMED.accepted_values(given, needs_label=False) == []


def test_codes_of_a_factor_are_no_names() -> None:
    codes = facts(ColumnFacts("y", "integer", (), ("no", "yes")), (0.0, 1.0))
    assert CLASSIFIER.complete_from_input(codes) == CLASSIFIER


def test_nothing_is_checked_that_is_not_known() -> None:
    REGRESSOR.check(InputFacts())
    CLASSIFIER.check(InputFacts())


def test_predictions_need_neither_label_nor_weights() -> None:
    weighted = model("linear_regressor", weight_column="w")
    weighted.check(facts(None), needs_label=False)
    with pytest.raises(InputError, match='The feature "w"'):
        weighted.check(facts(ColumnFacts("y", "float")))


WORD = {"kind": "categorical_with_vocabulary_list", "key": "word", "vocabulary_list": ["a"]}
NUMBERED = {"kind": "categorical_with_identity", "key": "word", "num_buckets": 3}


@pytest.mark.parametrize(
    ("column", "feature", "message"),
    [
        (
            {**X, "key": "Word"},
            ColumnFacts("word", "float"),
            r'"Word", .* is not in the input.\nDid you mean "word"\?',
        ),
        (
            {**X, "key": "word"},
            ColumnFacts("word", "string"),
            "holds strings, but .* reads numbers",
        ),
        (WORD, ColumnFacts("word", "float"), "holds numbers with fractions .* reads strings"),
        (WORD, ColumnFacts("word", "integer"), "holds whole numbers, but .* reads strings"),
        (NUMBERED, ColumnFacts("word", "float"), "reads whole numbers"),
        (NUMBERED, ColumnFacts("word", "string"), "holds strings, but .* reads whole numbers"),
        (
            {**X, "key": "word"},
            ColumnFacts("word", "float", (3,)),
            "3 values per row, .* shape for 1",
        ),
        (
            {"kind": "crossed", "keys": ["word", "x"], "hash_bucket_size": 4},
            ColumnFacts("word", "string"),
            'feature "x" holds numbers with fractions .* reads strings or whole numbers',
        ),
    ],
)
def test_features_that_do_not_fit_are_refused_by_name(
    column: dict[str, Any], feature: ColumnFacts, message: str
) -> None:
    described = model("linear_regressor", feature_columns=[column])
    with pytest.raises(InputError, match=message) as caught:
        described.check(facts(ColumnFacts("y", "float"), word=feature))
    assert caught.value.remedy


def test_checks_do_not_start_tensorflow(run_python: Any) -> None:
    code = (
        "from tfdistribute.descriptions import read\n"
        "from tfdistribute.models import Model\n"
        "from tfdistribute.columns import InputFacts\n"
        "model = read(Model, {'kind': 'baseline_regressor', 'model_dir': 'm'})\n"
        "model.check(InputFacts()); model.structure()\n"
        "import sys; print('tensorflow' in sys.modules)"
    )
    assert (
        run_python(code, timeout_s=30, env={"PYTHONPATH": ":".join(sys.path)}).stdout.strip()
        == "False"
    )


def test_many_names_of_classes_are_compared_in_a_moment() -> None:
    count = 100_000
    names = [f"class {index}" for index in range(count)]
    many = model("linear_classifier", label_vocabulary=names, n_classes=count)
    began = time.monotonic()
    many.check(facts(ColumnFacts("y", "string", (), tuple(names))))
    with pytest.raises(ModelError, match='names "class 99998" twice'):
        model("linear_classifier", label_vocabulary=[*names[:-1], names[-2]], n_classes=count)
    # A comparison of all pairs takes minutes.
    assert time.monotonic() - began < 5
