"""MLflow: runs on a tracking server, in a database or on Databricks."""

import importlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute.descriptions.constraints import Line
from tfdistribute.trackers.description import Row, Run, Tracker

# MLflow would repeat a request for minutes.
_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}
_STATUSES = {"done": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}
# Of one request: https://mlflow.org/docs/latest/rest-api.html, "Log Batch".
_MOST_METRICS, _MOST_PARAMETERS, _LONGEST_VALUE = 1000, 100, 500


@dataclass(frozen=True, kw_only=True)
class Mlflow(Tracker, kind="mlflow"):
    """An experiment of MLflow; None for the values of MLflow's environment variables."""

    package: ClassVar[str] = "mlflow-skinny"

    experiment: Line | None = None
    tracking_uri: Line | None = None

    @property
    def place(self) -> str:
        uri = self.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or "MLflow"
        return f"{uri}, experiment {self._experiment}"

    @property
    def _experiment(self) -> str:
        return self.experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "Default"

    def open(self, run: str | None, parameters: Mapping[str, Any]) -> Run:
        for name, value in _PATIENCE.items():
            os.environ.setdefault(name, value)
        mlflow: Any = importlib.import_module("mlflow")
        client = mlflow.MlflowClient(self.tracking_uri)
        known: Mapping[str, str] = {}
        try:
            former = None if run is None else client.get_run(run)
        except mlflow.MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            former = None
        if former is None or former.info.lifecycle_stage == "deleted":
            found = client.get_experiment_by_name(self._experiment)
            experiment = (
                client.create_experiment(self._experiment) if found is None else found.experiment_id
            )
            run = str(client.create_run(experiment, run_name=self.run_name).info.run_id)
        else:
            known, run = former.data.params, former.info.run_id
            client.update_run(run, status="RUNNING")
        opened = _MlflowRun(client, str(run))
        # MLflow rejects another value of a parameter.
        opened.log_parameters({name: parameters[name] for name in parameters if name not in known})
        return opened


class _MlflowRun:
    def __init__(self, client: Any, id: str) -> None:  # noqa: A002
        self.id = id
        self._client = client
        self._entities: Any = importlib.import_module("mlflow.entities")

    def log_parameters(self, parameters: Mapping[str, Any]) -> None:
        texts = [
            self._entities.Param(name, str(value)[:_LONGEST_VALUE])
            for name, value in parameters.items()
        ]
        for begin in range(0, len(texts), _MOST_PARAMETERS):
            self._client.log_batch(self.id, params=texts[begin : begin + _MOST_PARAMETERS])

    def log(self, rows: Sequence[Row]) -> None:
        now_ms = int(time.time() * 1000)
        metrics = [
            self._entities.Metric(name, value, now_ms, step)
            for step, values in rows
            for name, value in values.items()
        ]
        for begin in range(0, len(metrics), _MOST_METRICS):
            self._client.log_batch(self.id, metrics=metrics[begin : begin + _MOST_METRICS])

    def log_model(self, files: Sequence[str]) -> None:
        for file in files:
            self._client.log_artifact(self.id, file, "model")

    def close(self, state: str) -> None:
        if state in _STATUSES:
            self._client.set_terminated(self.id, _STATUSES[state])
