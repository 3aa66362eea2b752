"""Runs of MLflow (in a database) and of Weights & Biases (offline), from histories."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from support.checkpoints import write_checkpoints
from support.trackers import (
    add_evaluation,
    add_losses,
    logged_by,
    tracker,
    use_packages,
    values_of,
)

from tfdistribute.cluster.ports import free_ports
from tfdistribute.errors import BackendError, RunConfigError
from tfdistribute.trackers import Mlflow
from tfdistribute.trackers.process import TrackerProcess

KINDS = pytest.mark.parametrize("kind", ["mlflow", "wandb"])


@pytest.fixture
def model_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_packages(monkeypatch, tmp_path)
    directory = tmp_path / "model"
    directory.mkdir()
    return directory


@pytest.mark.slow
@KINDS
def test_every_value_is_logged_once_also_after_a_restart_and_in_the_next_training(
    kind: str, model_dir: Path
):
    described = tracker(kind, model_dir.parent)
    add_losses(model_dir, 1, 3)
    process = TrackerProcess(values_of(described, model_dir))
    add_losses(model_dir, 4, 6)
    add_evaluation(model_dir, 4, 0.25)
    # The first pass has logged these.
    wait_for_step(model_dir, 6)
    add_losses(model_dir, 5, 8, loss=2.0)
    add_evaluation(model_dir, 4, 0.25)
    add_evaluation(model_dir, 8, 0.125)
    assert process.finish("done") is None
    add_losses(model_dir, 9, 10)
    assert TrackerProcess(values_of(described, model_dir)).finish("done") is None

    logged = logged_by(kind, model_dir.parent)
    assert len(logged.runs) == 1
    for name in ("loss", "seconds", "examples_per_second"):
        assert logged.steps(name) == list(range(1, 11)), name
    assert logged.values["val_loss"] == [(4, 0.25), (8, 0.125)]
    # Those of the first time, as the runs of trackers only grow.
    assert dict(logged.values["loss"])[5] == pytest.approx(1 / 5)
    assert dict(logged.values["loss"])[7] == pytest.approx(2 / 7)
    assert logged.parameters["hidden_units"] == "[4, 2]"
    assert logged.parameters["optimizer.learning_rate"] == "0.1"
    assert logged.status in ("FINISHED", None)


def wait_for_step(model_dir: Path, step: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if json.loads((model_dir / "tfdistribute-run.json").read_text())["loss"] >= step:
            return
        time.sleep(0.05)
    raise AssertionError(f"step {step} was not logged")


@pytest.mark.slow
def test_another_experiment_begins_a_run_with_the_whole_history(model_dir: Path):
    add_losses(model_dir, 1, 3)
    for experiment in ("one", "two"):
        uri = f"sqlite:///{model_dir.parent}/mlflow.db"
        described = Mlflow(experiment=experiment, tracking_uri=uri)
        assert TrackerProcess(values_of(described, model_dir)).finish("stopped") is None
    logged = logged_by("mlflow", model_dir.parent)
    assert len(logged.runs) == 2
    assert logged.steps("loss") == [1, 1, 2, 2, 3, 3]
    assert logged.status == "KILLED"


@pytest.mark.slow
def test_a_training_whose_session_is_gone_is_a_failed_run(model_dir: Path):
    process = TrackerProcess(values_of(tracker("mlflow", model_dir.parent), model_dir))
    add_losses(model_dir, 1, 2)
    assert process._process.stdin is not None
    process._process.stdin.close()
    assert process._process.wait(60) == 0
    process._end(0)
    logged = logged_by("mlflow", model_dir.parent)
    assert logged.steps("loss") == [1, 2]
    assert logged.status == "FAILED"


@KINDS
def test_the_model_is_an_artifact_on_request(kind: str, model_dir: Path, tensorflow: Any):
    write_checkpoints(model_dir, 3)
    described = tracker(kind, model_dir.parent, log_model=True)
    assert TrackerProcess(values_of(described, model_dir)).finish("done") is None
    files = {"checkpoint", "model.ckpt-3.index", "model.ckpt-3.data-00000-of-00001"}
    assert logged_by(kind, model_dir.parent).files == files


def test_a_missing_package_is_named_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "mlflow.py").write_text("import a_missing_part", encoding="utf-8")
    for path, package in ((None, "mlflow-skinny"), (str(tmp_path), "a_missing_part")):
        if path is not None:
            monkeypatch.setenv("PYTHONPATH", path)
        with pytest.raises(BackendError, match=rf"needs the Python package {package}") as failed:
            TrackerProcess(values_of(Mlflow(tracking_uri="http://a"), tmp_path))
        assert "-m pip install mlflow-skinny" in str(failed.value.remedy)


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_named(model_dir: Path):
    (port,) = free_ports(1)
    described = Mlflow(tracking_uri=f"http://127.0.0.1:{port}")
    with pytest.raises(RunConfigError, match=rf"cannot log to http://127.0.0.1:{port}, .*refused"):
        TrackerProcess(values_of(described, model_dir))
    assert not (model_dir / "tfdistribute-run.json").exists()
