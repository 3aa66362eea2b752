"""Check of a column's values against those that a model can use."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

from tfdistribute.columns import Accepted
from tfdistribute.errors import InputError
from tfdistribute.inputs.packed.layout import check_values, not_accepted


def accepted(values: Collection[Any]) -> Accepted:
    return Accepted(values, lambda found, place: InputError(f"{found} first in {place}"))


def objects(*values: Any) -> Any:
    return np.array(values, dtype=object)


@pytest.mark.parametrize(
    ("values", "known", "expected"),
    [
        (np.array([[-1], [0], [2], [-2], [3]]), range(-1, 3), [0, 0, 0, 1, 1]),
        (np.array([[4], [5], [9]], np.int64), frozenset([4, 9]), [0, 1, 0]),
        (objects("a", "größe", ""), frozenset(["a", ""]), [0, 1, 0]),
        (objects(b"a", "größe".encode(), b"z"), frozenset(["a", "größe"]), [0, 0, 1]),
        (objects(), frozenset(["a"]), []),
    ],
    ids=["range", "listed numbers", "strings", "bytes", "nothing"],
)
def test_values_that_are_not_accepted_are_found(values: Any, known: Any, expected: Any):
    found = not_accepted(values, accepted(known))
    assert found.shape == values.shape
    assert found.ravel().tolist() == [bool(each) for each in expected]


def test_the_error_names_each_value_once_and_the_row_of_the_first():
    values = objects("a", "z", "w", "z", "a", "y").reshape(3, 2)
    with pytest.raises(InputError) as caught:
        check_values(values, accepted(frozenset(["a"])), lambda row: f"row {row}")
    assert caught.value.problem == "['z', 'w', 'y'] first in row 0"
    check_values(values, accepted(frozenset("awyz")), lambda row: f"row {row}")
