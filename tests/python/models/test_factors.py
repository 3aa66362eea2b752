"""Factors that a model reads as codes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support import models
from support.callbacks import as_callback, as_model_fn

from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.errors import InputError
from tfdistribute.models import FactorCodes, Model

ABC = ("a", "b", "c")
NONE = FactorCodes()


def factor(name: str = "f", levels: tuple[str, ...] | None = ABC, **fields: Any) -> ColumnFacts:
    return ColumnFacts(name, "string", (), levels, **fields)


def facts(*features: ColumnFacts, label: ColumnFacts | None = None) -> InputFacts:
    return InputFacts({each.name: each for each in features}, label)


def r_function() -> Model:
    return models.model("custom", Path("none"), model_fn=as_model_fn(lambda *_: None))


def linear(*columns: Any) -> Model:
    return models.model("linear_regressor", Path("none"), feature_columns=list(columns))


IDENTITY = {"kind": "categorical_with_identity", "key": "f", "num_buckets": 3}
NUMBER = {"kind": "numeric", "key": "f"}
VOCABULARY = {"kind": "categorical_with_vocabulary_list", "key": "f", "vocabulary_list": list(ABC)}


@pytest.mark.parametrize("column", [IDENTITY, NUMBER])
def test_columns_of_numbers_read_codes(column: Any) -> None:
    given = facts(factor())
    model = linear(column)
    codes = FactorCodes.of(model, given, NONE)
    assert codes.features == {"f": ABC}
    model.check(codes.applied(given), needs_label=False)


def test_a_vocabulary_reads_labels() -> None:
    given = facts(factor())
    model = linear(VOCABULARY)
    codes = FactorCodes.of(model, given, NONE)
    assert codes == NONE
    model.check(codes.applied(given), needs_label=False)


def test_a_factor_that_two_columns_read_differently_is_refused() -> None:
    given = facts(factor())
    model = linear(VOCABULARY, {"kind": "bucketized", "source_column": NUMBER, "boundaries": [1.0]})
    with pytest.raises(InputError, match='"f" holds strings') as refused:
        model.check(FactorCodes.of(model, given, NONE).applied(given), needs_label=False)
    assert "Another column reads the labels" in str(refused.value.remedy)


def test_a_classifier_reads_the_labels_of_its_response() -> None:
    model = models.model("linear_classifier", Path("none"), feature_columns=[NUMBER], n_classes=3)
    given = facts(ColumnFacts("f", "float"), label=factor("y"))
    assert FactorCodes.of(model, given, NONE) == NONE


def test_an_r_function_reads_codes_of_features_and_label() -> None:
    given = facts(factor(), ColumnFacts("s", "string"), label=factor("y", ("no", "yes")))
    codes = FactorCodes.of(r_function(), given, NONE)
    assert codes == FactorCodes({"f": ABC}, ("no", "yes"))
    coded = codes.applied(given)
    assert coded.features is not None
    assert [each.type for each in coded.features.values()] == ["integer", "string"]
    assert coded.label_range == (0.0, 1.0)


def test_the_steps_of_r_read_codes() -> None:
    step = as_callback(lambda *_: None)
    model = models.model("training_loop", Path("none"), build_parts=step, train_step=step)
    assert FactorCodes.of(model, facts(factor(), label=factor("y")), NONE) == FactorCodes(
        {"f": ABC}, ABC
    )


def test_labels_are_kept_where_they_were_asked_for() -> None:
    given = facts(factor(as_labels=True), label=factor("y", as_labels=True))
    assert FactorCodes.of(r_function(), given, NONE) == NONE
    with pytest.raises(InputError) as refused:
        linear(NUMBER).check(given, needs_label=False)
    assert 'Leave out `factors = "labels"`' in str(refused.value.remedy)


def test_a_python_function_reads_labels() -> None:
    model = models.model("custom", Path("none"), model_fn=lambda features: features)
    assert FactorCodes.of(model, facts(factor()), NONE) == NONE


def test_a_label_keeps_the_code_that_it_was_trained_with() -> None:
    trained = FactorCodes({"f": ABC}, ("no", "yes"))
    other = facts(factor(levels=("c", "a")), label=factor("y", ("yes",)))
    codes = FactorCodes.of(r_function(), other, trained)
    assert codes == trained
    assert codes.notes(other, trained) == []
    strings = facts(factor(levels=None))
    assert FactorCodes.of(r_function(), strings, trained).features == {"f": ABC}


def test_a_level_that_was_not_trained_is_refused() -> None:
    trained = FactorCodes({"f": ABC})
    given = facts(factor(levels=("a", "d")))
    ((name, levels),) = trained.accepted_values(given, (), needs_label=True)
    assert (name, set(levels.values)) == ("f", set(ABC))
    refused = levels.error(["d"], "row 2")
    assert re.search('the level "d" in row 2, .*0 = a, 1 = b, 2 = c', refused.problem)
    assert "`factors" in str(refused.remedy)


def test_a_column_accepts_the_labels_whose_codes_it_accepts() -> None:
    trained, given = FactorCodes({"f": ABC}), facts(factor())
    model = linear({**IDENTITY, "num_buckets": 2})
    _, (name, labels) = trained.accepted_values(given, model.accepted_values(given, True), True)
    assert (name, set(labels.values)) == ("f", {"a", "b"})
    assert "has 2 in row 7" in labels.error(["c"], "row 7").problem
    # A vector of numbers holds codes already.
    numbers = facts(ColumnFacts("f", "integer"))
    ((_, codes),) = trained.accepted_values(numbers, model.accepted_values(numbers, True), True)
    assert codes.values == range(-1, 2)


def test_codes_are_noted_once_with_their_levels() -> None:
    many = tuple(str(number) for number in range(12))
    given = facts(factor(levels=many), label=factor("y"))
    codes = FactorCodes.of(r_function(), given, NONE)
    first, second = codes.notes(given, NONE)
    assert first.endswith(
        "codes: 0 = 0, 1 = 1, 2 = 2, 3 = 3, 4 = 4, 5 = 5, 6 = 6, 7 = 7, 8 = 8, ..., 11 = 11."
    )
    assert second == "The factor `y` is read as codes: 0 = a, 1 = b, 2 = c."
    assert FactorCodes.from_values(codes.as_values()) == codes
