"""Trackers of trainings in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.hooks import hook, model, source
from support.trackers import Logged, logged_by, tracker, use_packages

from tfdistribute.errors import BackendError, RunConfigError
from tfdistribute.run_config import RunSettings, build_run_config
from tfdistribute.task_events import JOB
from tfdistribute.trackers import Mlflow
from tfdistribute.training.tracking import tracking
from tfdistribute.training.train import train

EACH_STEP = [hook("history_saver", every_n_steps=1)]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensorflow: Any) -> Path:
    use_packages(monkeypatch, tmp_path)
    return tmp_path


def trained(directory: Path, steps: int) -> Logged:
    settings = RunSettings(track=tracker("mlflow", directory))
    history = train(model(directory / "model"), settings, source(), steps=steps, hooks=EACH_STEP)
    assert history.notes == []
    return logged_by("mlflow", directory)


def test_a_training_and_the_next_one_are_one_run(directory: Path):
    first = trained(directory, 5)
    assert first.steps("loss") == [1, 2, 3, 4, 5]
    assert first.status == "FINISHED"
    again = trained(directory, 3)
    assert again.runs == first.runs
    assert again.steps("loss") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert again.parameters["model"] == "linear_regressor"


def test_a_training_that_fails_is_a_failed_run(directory: Path):
    def fail(*_: Any) -> None:
        raise ValueError("no")

    failing = hook("session_run", after_run=fail)
    settings = RunSettings(track=tracker("mlflow", directory))
    with pytest.raises(Exception, match="no"):
        train(model(directory / "model"), settings, source(), steps=5, hooks=[failing])
    assert logged_by("mlflow", directory).status == "FAILED"


def test_a_tracker_that_cannot_log_ends_the_training_before_its_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensorflow: Any
):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    settings = RunSettings(track=Mlflow())
    with pytest.raises(BackendError, match="mlflow-skinny"):
        train(model(tmp_path), settings, source(), steps=5)
    assert not list(tmp_path.glob("model.ckpt*"))


def test_no_task_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensorflow: Any):
    monkeypatch.setenv(JOB, str(tmp_path))
    train(model(tmp_path), RunSettings(track=Mlflow()), source(), steps=1)
    assert not (tmp_path / "tfdistribute-run.json").exists()


def test_parameters_are_those_of_the_model_and_settings_that_are_not_the_defaults():
    settings = RunSettings(save_checkpoints_steps=7, track=Mlflow(run_name="a"))
    values = tracking(model(Path("/m")), settings, 16)
    assert values is not None
    assert values["tracker"]["run_name"] == "a"
    parameters = values["parameters"]
    assert parameters["batch_size"] == 16
    assert parameters["save_checkpoints_steps"] == 7
    assert parameters["optimizer.settings.learning_rate"] == 0.1
    assert {"track", "precision", "feature_columns"}.isdisjoint(parameters)


def test_no_other_estimator_and_no_platform_has_a_tracker(tmp_path: Path):
    with pytest.raises(RunConfigError, match=r"`track` is 'track_mlflow\(\)', which"):
        build_run_config(RunSettings(track=Mlflow()))
    containers = {"kind": "kubernetes", "image": "a", "workers": 1}
    from tfdistribute.descriptions import read

    with pytest.raises(RunConfigError, match=r"`track` does not support a cluster of containers"):
        read(RunSettings, {"track": {"kind": "mlflow"}, "cluster": containers})
