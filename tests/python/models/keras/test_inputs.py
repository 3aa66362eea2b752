"""Features that a Keras model's inputs read."""

from __future__ import annotations

import pytest
from support.columns import facts

from tfdistribute.errors import InputError
from tfdistribute.models.keras.inputs import KerasInput, check_fit, match_inputs

ONE = (KerasInput("dense_input", (2,), "float32"),)


TWO = (KerasInput("a", (1,), "float32"), KerasInput("b", (), "string"))


def test_inputs_read_features_by_name_and_leave_others_out() -> None:
    features = facts(c=("float", ()), b=("string", ()), a=("integer", ()))
    matched = match_inputs(TWO, features, None)
    assert matched == {"a": ("a",), "b": ("b",)}
    check_fit(TWO, features, matched)


def test_one_input_reads_the_only_feature_or_all_side_by_side() -> None:
    assert match_inputs(ONE, facts(x=("float", (2,))), None) == {"dense_input": ("x",)}
    assert match_inputs(ONE, facts(x=("float", ()), y=("integer", ())), None) == {
        "dense_input": ("x", "y")
    }
    assert match_inputs(ONE, facts(y=("float", ()), x=("float", ())), ("x", "y")) == {
        "dense_input": ("x", "y")
    }


MISFITS = {
    "too few values": (ONE, facts(x=("float", ())), '"x" has one value per row'),
    "too many columns": (
        ONE,
        facts(x=("float", (2,)), y=("float", ())),
        "together they have 3 values per row",
    ),
    "strings among numbers": (
        ONE,
        facts(x=("float", ()), y=("string", ())),
        '"y" holds strings, which cannot',
    ),
    "no such name": (
        TWO,
        facts(a=("float", ()), B=("string", ())),
        '"b" is not among the features',
    ),
    "strings for numbers": (TWO, facts(a=("string", ()), b=("string", ())), "reads numbers"),
    "numbers for strings": (TWO, facts(a=("float", ()), b=("float", ())), "reads strings"),
    "a wider matrix": (TWO, facts(a=("float", (3,)), b=("string", ())), '"a" has 3 per row'),
}


@pytest.mark.parametrize("case", MISFITS)
def test_features_that_do_not_fit_are_named(case: str) -> None:
    inputs, features, message = MISFITS[case]
    with pytest.raises(InputError, match=message):
        check_fit(inputs, features, match_inputs(inputs, features, None))
