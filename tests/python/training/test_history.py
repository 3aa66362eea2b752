"""The history of a training."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tfdistribute import engine
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.training import history as module
from tfdistribute.training.history import History, read_history
from tfdistribute.training.multi_worker.history import TaskHistory
from tfdistribute.training.utilization import Utilization


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


def test_a_history_outlives_an_interrupt_and_the_interrupt_says_where_training_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "newest_step", lambda model_dir: 10)
    events: list[dict[str, Any]] = []

    def listen(event: dict[str, Any]) -> None:
        events.append(event)
        # R raises the Ctrl-C that Python has handled.
        if len(events) == 4:
            raise KeyboardInterrupt

    history = History(global_batch_size=8, listener=listen, model_dir=str(tmp_path))
    with pytest.raises(KeyboardInterrupt, match="Stopped at step 10, and its"), history.save():
        history.note_step(1, 0.5, in_record=True)
        history.note_step(10, 0.3, in_record=True)
        history.note_evaluation({"loss": 0.2, "global_step": 10})
        raise KeyboardInterrupt
    assert [event["event"] for event in events[3:]] == ["end", "end"]
    read = read_history(str(tmp_path))
    assert read["training"]["loss"] == [0.5, 0.3]
    assert read["evaluation"] == [{"loss": 0.2, "global_step": 10.0}]
    assert read["global_step"] == 10


def test_a_directory_without_a_training_has_no_history(tmp_path: Path):
    with pytest.raises(ModelDirectoryError, match="has no history"):
        read_history(str(tmp_path))


def test_the_last_step_reaches_the_display_after_a_run_of_many_steps(tensorflow: Any):
    shown: list[tuple[int, bool]] = []
    history: Any = SimpleNamespace(
        note_step=lambda step, loss, recorded, *at: shown.append((step, recorded)),
        utilization=Utilization(),
    )
    hook = engine.hooks.RecordTraining(history, 10, 0.1)
    hook._first_step = hook._step = 0
    hook._seen_at = 0.0
    hook._note_skipped_steps(20, [0.0] * 20)
    hook.end(None)
    assert shown == [(1, True), (10, True), (20, True), (20, False)]


def test_the_losses_of_a_task_are_saved_with_its_checkpoints(tmp_path: Path):
    history = TaskHistory(8, model_dir=str(tmp_path), is_chief=True, own_batch_size=8)
    for step in (1, 10, 20):
        history.note_step(step, 0.5, in_record=True)
    history.checkpoint_saved(20)
    assert read_history(str(tmp_path))["training"]["step"] == [1, 10, 20]
