"""The history files of a model directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.planted_files import PLANTS, Plant, is_kept

from tfdistribute import history_file
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.history_file import (
    EVALUATIONS,
    LOSSES,
    append,
    append_evaluation,
    read_evaluations,
    read_losses,
)


def row(
    step: int, seconds: float, loss: float = 1.0, speed: float | None = 4.0
) -> history_file.Row:
    return {"step": step, "loss": loss, "seconds": seconds, "examples_per_second": speed}


def test_a_second_training_continues_the_steps_and_the_seconds_of_the_first(tmp_path: Path):
    append(str(tmp_path), LOSSES, [row(1, 0.0, speed=None), row(10, 2.0)])
    append(str(tmp_path), LOSSES, [row(11, 0.0), row(20, 1.0, speed=8.0)])
    losses = read_losses(str(tmp_path))
    assert losses.columns()["step"] == [1, 10, 11, 20]
    assert losses.columns()["seconds"] == [0, 2, 2, 3]
    assert losses.mean_speed() == (2 * 4 + 1 * 8) / 3


def test_steps_that_were_lost_and_trained_again_are_replaced(tmp_path: Path):
    append(str(tmp_path), LOSSES, [row(1, 0.0), row(10, 1.0), row(20, 2.0)])
    append(str(tmp_path), LOSSES, [row(10, 0.5, loss=3.0)])
    assert read_losses(str(tmp_path)).columns()["loss"] == [1, 3]


def test_a_line_that_was_not_finished_is_skipped(tmp_path: Path):
    append(str(tmp_path), LOSSES, [row(1, 0.0, loss=float("nan"))])
    with (tmp_path / LOSSES).open("a") as file:
        file.write('{"step": 10, "lo\n[1]\n{"step": "x"}\n')
    append(str(tmp_path), LOSSES, [row(20, 1.0)])
    assert read_losses(str(tmp_path)).columns()["loss"] == [None, 1]


def test_the_newest_evaluation_of_a_step_counts(tmp_path: Path):
    for step, loss in ((20, 3.0), (10, 2.0), (20, 1.0)):
        append(str(tmp_path), EVALUATIONS, [{"global_step": step, "loss": loss}])
    assert [found["loss"] for found in read_evaluations(str(tmp_path))] == [2, 1]


def test_an_evaluation_by_evaluate_is_not_one_of_the_training(tmp_path: Path):
    append(str(tmp_path), EVALUATIONS, [{"global_step": 20, "loss": 3.0}])
    append_evaluation(str(tmp_path), {"global_step": 20, "loss": 1.0})
    assert read_evaluations(str(tmp_path)) == [{"global_step": 20, "loss": 1.0}]
    assert read_evaluations(str(tmp_path), of_training=True) == [{"global_step": 20, "loss": 3.0}]


def test_a_directory_that_cannot_be_written_ends_no_training(tmp_path: Path):
    assert not append(str(tmp_path / "gone"), LOSSES, [row(1, 0.0)])
    assert read_losses(str(tmp_path / "gone")).rows == []


@pytest.mark.timeout(20)
@pytest.mark.parametrize("plant", PLANTS)
def test_a_history_that_this_package_did_not_write_is_named(tmp_path: Path, plant: Plant):
    model_dir = tmp_path / "model"
    model_dir.mkdir()
    victim = plant(model_dir / LOSSES)
    assert not append(str(model_dir), LOSSES, [row(1, 0.0)])
    with pytest.raises(ModelDirectoryError, match="did not write it") as caught:
        read_losses(str(model_dir))
    assert caught.value.argument == "model_dir"
    assert is_kept(victim)
