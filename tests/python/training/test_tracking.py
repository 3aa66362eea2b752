"""Trainings with trackers: MLflow in a database, Weights & Biases offline, and one that fails."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.hooks import hook, model, source
from support.sampling import sampled
from support.trackers import logged_by, train_tracked

from tfdistribute.errors import BackendError, RunConfigError
from tfdistribute.run_config import RunSettings, build_run_config
from tfdistribute.trackers import Mlflow, Run, Tracker
from tfdistribute.training.tracking import FILE, parameters_of
from tfdistribute.training.train import train


@pytest.mark.slow
@sampled("kind", ["mlflow", "wandb"], check=["mlflow"])
def test_a_training_and_the_next_one_are_one_run(kind: str, tmp_path: Path):
    assert train_tracked(kind, tmp_path, 5) == 0
    assert train_tracked(kind, tmp_path, 8, log_model=True) == 0
    logged = logged_by(kind, tmp_path)
    assert len(logged.runs) == 1
    for name in ("loss", "seconds"):
        assert logged.steps(name) == list(range(1, 9)), name
    assert logged.steps("val_loss") == [5, 8]
    assert logged.parameters["model"] == "linear_regressor"
    assert logged.status in ("FINISHED", None)
    assert {"checkpoint", "model.ckpt-8.index"} <= logged.files


@pytest.mark.slow
@pytest.mark.full
def test_a_training_that_fails_is_a_failed_run(tmp_path: Path):
    assert train_tracked("mlflow", tmp_path, 5, fails=True) == 1
    assert logged_by("mlflow", tmp_path).status == "FAILED"


@dataclass(frozen=True, kw_only=True)
class Memory(Tracker):
    """A tracker whose runs keep rows in this process; it fails from a step on, or when a run is opened."""

    name_of_place: str = ""
    fails_at: int = 10
    said: ClassVar[list[Any]] = []

    def open(self, run: str | None, parameters: Mapping[str, Any]) -> Run:
        if self.fails_at == 0:
            raise OSError("the server is away")
        self.said.append((run, os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"]))
        return Run("run", self._log, self.said.append, self.said.append)

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        if step >= self.fails_at:
            raise OSError("away")
        self.said.append((step, sorted(values)))


@pytest.fixture(autouse=True)
def nothing_is_said() -> None:
    Memory.said.clear()


EACH_STEP = [hook("history_saver", every_n_steps=1)]


def test_a_tracker_that_fails_is_a_note_and_not_an_error(tmp_path: Path, tensorflow: Any):
    object.__setattr__(tracker := Memory(fails_at=3), "kind", "memory")
    settings = RunSettings(track=tracker)
    history = train(model(tmp_path), settings, source(), steps=4, hooks=EACH_STEP)
    assert history.steps == [1, 2, 3, 4]
    assert history.notes == ["`track` has not logged everything: OSError: away"]
    # The speed of the first step is no number.
    rest = ["examples_per_second", "loss", "seconds"]
    assert tracker.said == [(None, "2"), (1, ["loss", "seconds"]), (2, rest), "done"]
    assert "MLFLOW_HTTP_REQUEST_MAX_RETRIES" not in os.environ


def test_another_experiment_begins_a_run_and_no_file_has_the_address(
    tmp_path: Path, tensorflow: Any
):
    for name in ("secret", "secret", "other"):
        object.__setattr__(tracker := Memory(name_of_place=name), "kind", "memory")
        train(model(tmp_path), RunSettings(track=tracker), source(), steps=1, hooks=EACH_STEP)
    assert [each[0] for each in Memory.said if each[1] == "2"] == [None, "run", None]
    assert "secret" not in (tmp_path / FILE).read_text()


def test_a_tracker_that_cannot_log_ends_the_training_before_its_first_step(
    tmp_path: Path, tensorflow: Any
):
    with pytest.raises(BackendError, match="needs the Python package mlflow,") as caught:
        train(model(tmp_path), RunSettings(track=Mlflow()), source(), steps=5)
    assert str(caught.value.remedy).endswith("-m pip install mlflow-skinny")
    object.__setattr__(tracker := Memory(fails_at=0), "kind", "memory")
    with pytest.raises(RunConfigError, match=r"track_memory\(\) cannot log: the server is away"):
        train(model(tmp_path), RunSettings(track=tracker), source(), steps=5)
    assert not list(tmp_path.glob("model.ckpt*"))
    assert not (tmp_path / FILE).exists()


def test_parameters_are_those_of_the_model_and_settings_that_are_not_the_defaults():
    settings = RunSettings(save_checkpoints_steps=7, track=Mlflow(run_name="a"))
    parameters = parameters_of(model(Path("/m")), settings)
    assert parameters["save_checkpoints_steps"] == 7
    assert parameters["optimizer.settings.learning_rate"] == 0.1
    assert {"track", "precision", "feature_columns"}.isdisjoint(parameters)


def test_no_other_estimator_has_a_tracker():
    with pytest.raises(RunConfigError, match=r"`track` is 'track_mlflow\(\)', which"):
        build_run_config(RunSettings(track=Mlflow()))
