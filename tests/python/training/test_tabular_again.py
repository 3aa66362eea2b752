"""A second training of a tabular model: it learns from the new rows, and a restarted task takes no further steps."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.tabular import PRICE, ROWS, SEED, X, learned, prices, regressor, rows, stop_at

from tfdistribute import engine, task_events
from tfdistribute.engine.tabular.schedule import Schedule
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.models.canned.table import Number, Table
from tfdistribute.training.model_directory import global_step
from tfdistribute.training.train import train

OF_EPOCH = math.ceil(ROWS / 64)


def completed(table: Table, **fields: Any) -> Table:
    described = regressor(Path("unused"), learned=table.as_text(), **fields)
    found = described.trained_again(ROWS).table
    assert found is not None
    return found


def table_of(**fields: Any) -> Table:
    return Table((Number("x", 0, 1, 0, 1, False),), (), None, 64, 1, **fields)


@pytest.mark.parametrize("cycle", range(3))
def test_the_next_training_takes_as_many_cycles_as_the_first(cycle: int) -> None:
    first = table_of(steps=300, end=engine.tabular.ends_of_cycles(300)[cycle], losses=(2.0, 1.0))
    second = completed(first)
    assert second.begin == first.end
    assert second.end is not None
    assert second.steps == OF_EPOCH * 128
    assert second.end - second.begin == engine.tabular.ends_of_cycles(second.steps)[cycle]
    assert second.numbers == first.numbers


def test_the_rate_begins_anew(tensorflow: Any) -> None:
    with tensorflow.Graph().as_default(), tensorflow.compat.v1.Session() as session:
        shown = [
            schedule.rate(step)
            for schedule, step in (
                (Schedule(0.1, 300), tensorflow.constant(200, "int64")),
                (Schedule(0.1, 300, begin=40), tensorflow.constant(240, "int64")),
            )
        ]
        np.testing.assert_array_equal(*session.run(shown))


def test_the_next_training_takes_the_epochs_that_the_model_has_now() -> None:
    for first in (table_of(steps=300, end=20), table_of(steps=200, end=200)):
        second = completed(first, epochs=5)
        assert first.end is not None
        assert (second.begin, second.end) == (first.end, first.end + 5 * OF_EPOCH)
        assert second.steps == 5 * OF_EPOCH


@pytest.mark.slow
def test_a_second_training_learns_from_its_rows_and_keeps_the_scales(
    tensorflow: Any, tmp_path: Path
) -> None:
    described = regressor(tmp_path, epochs=10, dropout=0)
    train(described, SEED, rows())
    first = learned(tmp_path)
    wanted = np.flip(PRICE)
    before = np.mean(np.square(prices(described) - wanted))
    other = regressor(tmp_path, epochs=20, dropout=0)
    source = rows(wanted, x=X + 100)
    # An interruption, such as a fault of a job, changes nothing.
    train(other, SEED, source, hooks=[stop_at(tensorflow, 50)])
    history = train(other, SEED, source)
    assert "continues its training to step 120" in history.notes[0]
    second = learned(tmp_path)
    assert global_step(str(tmp_path)) == second.end == 30 * OF_EPOCH
    assert (second.numbers, second.categories) == (first.numbers, first.categories)
    assert np.mean(np.square(prices(other, source) - wanted)) < 0.6 * before


@pytest.mark.slow
def test_a_restarted_chief_takes_no_more_steps_than_it_chose(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = regressor(tmp_path, epochs=2)
    cluster = {"chief": ["localhost:2222"]}
    monkeypatch.setenv(
        "TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}})
    )
    monkeypatch.setenv(task_events.EVENTS, str(tmp_path / "events"))
    # It ends after its last checkpoint, before it has forgotten its choice.
    monkeypatch.setattr(sys.modules[train.__module__], "forget_choice", lambda _: None)
    for job in (1, 2):
        monkeypatch.setenv(task_events.JOB, f"private/job-{job}")
        train(described, SEED, rows())
        assert global_step(str(tmp_path)) == job * 2 * OF_EPOCH
        history = train(described, SEED, rows())
        assert global_step(str(tmp_path)) == job * 2 * OF_EPOCH
        assert "the end of its training, and trains no further" in history.notes[0]


@pytest.mark.slow
def test_other_columns_and_a_validation_are_errors(tensorflow: Any, tmp_path: Path) -> None:
    train(regressor(tmp_path, epochs=1), SEED, rows())
    described = regressor(tmp_path)
    with pytest.raises(InputError, match="feature `more`, which the model lacks"):
        train(described, SEED, rows(more=X))
    with pytest.raises(InputError, match='The feature "x"'):
        train(described, SEED, rows(x=None))
    with pytest.raises(ArgumentError, match="of a first training, and this is a trained model"):
        train(described, SEED, rows(), validation=rows())
    assert global_step(str(tmp_path)) == OF_EPOCH
