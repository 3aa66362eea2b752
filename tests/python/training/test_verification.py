"""Comparison of trainings, and the reasons for differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfdistribute.training.verification import (
    compare_losses,
    compare_variables,
    explain_difference,
)

NOTHING: dict[str, Any] = {
    "asynchronous": False,
    "repeats": True,
    "reads_once": True,
    "dropout": False,
    "differing": ("kernel",),
}


def save(tf: Any, folder: Path, **values: Any) -> str:
    """Make a model_dir with a checkpoint of these values."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        for name, value in values.items():
            tf.compat.v1.get_variable(name, initializer=tf.constant(value))
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver().save(session, str(folder / "model.ckpt"), 3)
    return str(folder)


def test_variables_agree_to_six_digits_relative_to_their_size(tensorflow: Any, tmp_path: Path):
    big = np.array([1000.0, 0.001], np.float32)
    one = save(tensorflow, tmp_path / "a", big=big, step=np.int64(3), only=np.float32(1))
    two = save(tensorflow, tmp_path / "b", big=big + np.float32([1e-3, 0]), step=np.int64(4))
    found = {each.name: each for each in compare_variables(one, two)}
    assert found["big"].agrees
    assert found["big"].size == pytest.approx(1e-6, rel=0.1)
    assert found["step"].size == pytest.approx(1 / 3)
    assert not found["step"].agrees
    assert found["only"].size == float("inf")
    assert next(iter(found)) == "only"


def test_losses_are_compared_at_common_steps():
    assert compare_losses({1: 2.0, 10: 1.0}, {1: 2.0 + 1e-6, 7: 5.0}).agrees
    assert not compare_losses({1: 2.0}, {1: 2.001}).agrees
    assert not compare_losses({1: 2.0}, {2: 2.0}).agrees


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"repeats": False}, "without a seed"),
        ({"reads_once": False}, "check_sharding"),
        ({"asynchronous": True}, "asynchronously"),
        ({"dropout": True}, "dropout"),
        ({"differing": ("batch_normalization/moving_mean",)}, "statistics"),
        ({}, "not known"),
        ({"reads_once": None}, "not known"),
    ],
)
def test_each_reason_is_listed_by_itself(facts: dict[str, Any], words: str):
    (reason,) = explain_difference(**{**NOTHING, **facts})
    assert words in reason


def test_all_reasons_that_hold_are_listed_the_likeliest_first():
    found = explain_difference(True, False, False, True, ("x/moving_variance",))
    assert len(found) == 5
    assert "without a seed" in found[0]
