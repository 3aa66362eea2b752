"""Optimizers take the gradients of tables as they are if each row is in them once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from support import many_steps
from support.checkpoints import assert_identical
from support.sampling import sampled

from tfdistribute import engine

pytestmark = pytest.mark.usefixtures("tensorflow")

SUM = "UnsortedSegmentSum"


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Types of the operations of the step in the last training."""
    found = list[str]()
    check = engine.step.loop.check

    def noted(program: Any) -> None:
        found[:] = [each.type for each in program.operations()]
        check(program)

    monkeypatch.setattr(engine.step.loop, "check", noted)
    return found


def embedded(optimizer: str) -> dict[str, Any]:
    return {
        **many_steps.MODELS["words and dropout"],
        "optimizer": {"kind": "named", "name": optimizer, "settings": {"learning_rate": 0.1}},
    }


MODELS: dict[str, dict[str, Any]] = {
    **{name: embedded(name) for name in ("adagrad", "adam", "ftrl", "rmsprop", "sgd")},
    "linear": many_steps.MODELS["sparse"],
}


@pytest.mark.versions
@sampled("name", MODELS, check=["adam", "sgd", "linear"])
def test_rows_that_a_lookup_has_summed_are_not_summed_again(
    monkeypatch: pytest.MonkeyPatch, types: list[str], tmp_path: Path, name: str
) -> None:
    found = many_steps.trained(MODELS[name], tmp_path / "once", 7)[0]
    once = types.count(SUM)
    monkeypatch.setattr(engine.step.distinct_rows, "holds_each_index_once", lambda indices: False)
    expected = many_steps.trained(MODELS[name], tmp_path / "twice", 7)[0]
    # Plain gradient descent adds the rows to the table one by one.
    assert types.count(SUM) - once == (name != "sgd")
    assert_identical(found, expected)
