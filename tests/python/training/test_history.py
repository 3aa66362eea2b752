"""The history of a training."""

from __future__ import annotations

import math
from typing import Any

from tfdistribute.training.history import History


def test_only_steps_of_the_record_are_kept_but_all_reach_the_listener():
    events: list[dict[str, Any]] = []
    history = History(global_batch_size=8, listener=events.append, last_step=30)
    history.note_step(1, 0.5, in_record=True)
    history.note_step(7, 0.4, in_record=False)
    history.note_step(10, 0.3, in_record=True)
    assert history.steps == [1, 10]
    assert history.losses == [0.5, 0.3]
    assert [event["step"] for event in events] == [1, 7, 10]
    assert events[0]["last_step"] == 30


def test_speed_counts_from_the_end_of_the_first_step():
    history = History(global_batch_size=8)
    history.note_step(1, 0.5, in_record=True)
    assert math.isnan(history.examples_per_second)
    history.note_step(11, 0.4, in_record=True)
    seconds = history.seconds[-1]
    assert history.examples_per_second == 10 * 8 / seconds
    assert history.speeds[-1] > 0


def test_speed_is_unknown_where_the_batch_is():
    history = History()
    history.note_step(1, 0.5, in_record=True)
    history.note_step(2, 0.5, in_record=True)
    assert math.isnan(history.speeds[-1])


def test_evaluations_are_kept_with_their_step():
    history = History()
    history.note_evaluation({"loss": 1, "global_step": 20})
    assert history.as_columns()["evaluation"] == [{"loss": 1.0, "global_step": 20.0}]


def test_the_time_of_an_evaluation_does_not_count_as_training():
    history = History(global_batch_size=8)
    history.note_step(1, 0.5, in_record=True)
    history.exclude(-100.0)
    history.note_step(2, 0.5, in_record=True)
    assert 100 <= history.seconds[-1] < 200
