"""Experiment trackers, by the clients of MLflow and of Weights & Biases, which may raise any error."""

import importlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Line


@dataclass(frozen=True)
class Run:
    id: str
    log: Callable[[int, Mapping[str, float]], Any]
    log_files: Callable[[list[str]], Any]  # As the artifact "model".
    finish: Callable[[str], Any]  # "done", "failed" or "stopped".


@dataclass(frozen=True, kw_only=True)
class Tracker(Description):
    """A tracker of experiments.

    Args:
        run_name: Name of a new run, a string; NULL for one that the tracker chooses.
        log_model: Whether the newest checkpoint is saved as the artifact "model" when a training is done, TRUE or
            FALSE. A folder with its files can be the `model_dir` of the same estimator.
    """

    in_words: ClassVar[str] = "track_mlflow() or track_wandb()"
    package: ClassVar[str] = ""  # As pip installs it.

    run_name: Line | None = None
    log_model: bool = False

    @property
    def name(self) -> str:
        return f"track_{self.kind}()"

    def open(self, run: str | None, parameters: Mapping[str, Any]) -> Run:
        """Open the run with this id, or a new one."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Mlflow(Tracker, kind="mlflow"):
    """An experiment of MLflow.

    Args:
        experiment: Name of the experiment, a string; NULL for `MLFLOW_EXPERIMENT_NAME` or MLflow's default.
        tracking_uri: Server, database or `"databricks"`, a string; NULL for `MLFLOW_TRACKING_URI` or MLflow's default.
    """

    package: ClassVar[str] = "mlflow-skinny"

    experiment: Line | None = None
    tracking_uri: Line | None = None

    def open(self, run: str | None, parameters: Mapping[str, Any]) -> Run:
        mlflow: Any = importlib.import_module("mlflow")
        client, entities = mlflow.MlflowClient(self.tracking_uri), mlflow.entities
        name = self.experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "Default"
        found = client.get_experiment_by_name(name)
        experiment = found.experiment_id if found else client.create_experiment(name)
        opened = (
            client.get_run(run) if run else client.create_run(experiment, run_name=self.run_name)
        )
        run = opened.info.run_id
        client.update_run(run, status="RUNNING")
        # MLflow rejects another value of a parameter, and long ones.
        new = {each: value for each, value in parameters.items() if each not in opened.data.params}
        params = [entities.Param(each, str(value)[:500]) for each, value in new.items()]
        for begin in range(0, len(params), 100):
            client.log_batch(run, params=params[begin : begin + 100])

        def log(step: int, values: Mapping[str, float]) -> None:
            now = int(time.time() * 1000)
            client.log_batch(
                run, [entities.Metric(each, values[each], now, step) for each in values]
            )

        ends = {"done": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}
        return Run(
            str(run),
            log,
            lambda files: [client.log_artifact(run, file, "model") for file in files],
            lambda state: client.set_terminated(run, ends[state]),
        )


@dataclass(frozen=True, kw_only=True)
class Wandb(Tracker, kind="wandb"):
    """A project of Weights & Biases.

    Args:
        project: Name of the project, a string; NULL for `WANDB_PROJECT` or the default.
        entity: User or team, a string, or NULL, which means the default.
        mode: `"online"`, or `"offline"` for files that `wandb sync` uploads.
    """

    package: ClassVar[str] = "wandb"

    project: Line | None = None
    entity: Line | None = None
    mode: Literal["online", "offline"] = "online"

    def open(self, run: str | None, parameters: Mapping[str, Any]) -> Run:
        wandb: Any = importlib.import_module("wandb")
        where = {"project": self.project, "entity": self.entity, "mode": self.mode}
        settings = wandb.Settings(silent=True, console="off", init_timeout=30.0)
        more = {"config": dict(parameters), "allow_val_change": True, "settings": settings}
        opened = wandb.init(**where, name=self.run_name, id=run, resume="allow", **more)
        # By default, rows of an earlier step than the last are dropped, and so would be most evaluations.
        opened.define_metric("global_step")
        opened.define_metric("*", step_metric="global_step")

        def log_files(files: list[str]) -> None:
            artifact = wandb.Artifact(f"model-{opened.id}", type="model")
            for file in files:
                artifact.add_file(file)
            opened.log_artifact(artifact)

        return Run(
            str(opened.id),
            lambda step, values: opened.log({"global_step": step, **values}),
            log_files,
            lambda state: opened.finish(exit_code=int(state != "done")),
        )
