"""Column facts, known before TensorFlow starts."""

from __future__ import annotations

import pytest

from tfdistribute.columns import TYPES, ColumnFacts, InputFacts


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_is_a_dtype_of_tensorflow(kind: str, tensorflow):
    assert tensorflow.dtypes.as_dtype(ColumnFacts("x", kind).dtype).name == TYPES[kind]


def test_of_an_unknown_input_nothing_is_known():
    facts = InputFacts()
    assert facts.features is None
    assert facts.rows is None
    assert facts.epochs is None
    assert facts.global_batch_size is None
