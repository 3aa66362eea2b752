"""Runs of trackers, read back without the code that has written them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.hooks import hook, model, source
from tfdistribute.run_config import RunSettings
from tfdistribute.trackers import Mlflow, Tracker, Wandb
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train_and_evaluate import train_and_evaluate

# What tools/setup trackers has installed, for processes that have a tracker only.
PACKAGES = Path(__file__).parents[3] / ".environment" / "trackers"
SOURCES = Path(__file__).parents[3] / "inst" / "python"

# Prints the rows of the history of offline runs, and their parameters. The files are logs of LevelDB with a header of
# 7 bytes: blocks of 32768 bytes, in which each part of a record has a checksum, its size and a type: 1 for a whole
# record, 2 to 4 for its first, middle and last part.
_READ_WANDB = """
import json, struct, sys
from wandb.proto import wandb_internal_pb2

def records(content):
    place, record = 7, b""
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, size, type = struct.unpack_from("<IHB", content, place)
        record += content[place + 7 : place + 7 + size]
        place += 7 + size
        if type in (1, 4):
            yield record
            record = b""

def values(items):
    return {each.key or ".".join(each.nested_key): json.loads(each.value_json) for each in items}

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        for content in records(file.read()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(content)
            row, parameters = values(record.history.item), values(record.run.config.update)
            files = [each.path for each in record.artifact.manifest.contents]
            found = {"run": record.run.run_id, "row": row, "config": parameters, "files": files}
            print(json.dumps(found))
"""


def train_tracked(kind: str, directory: Path, max_steps: int, **more: Any) -> int:
    """Train and evaluate in a process with the packages of trackers; return its exit code."""
    if not PACKAGES.is_dir():
        pytest.skip("needs tools/setup trackers")
    known = os.environ.get("PYTHONPATH", "")
    paths = [str(PACKAGES), str(Path(__file__).parents[1]), str(SOURCES), known]
    own = {
        "PYTHONPATH": os.pathsep.join(paths),
        "WANDB_DIR": str(directory),
        "HOME": str(directory),
    }
    arguments = json.dumps({"kind": kind, "max_steps": max_steps, **more})
    command = [sys.executable, "-m", "support.trackers", str(directory), arguments]
    return subprocess.run(
        command, env={**os.environ, **own}, cwd=directory, check=False, timeout=280
    ).returncode


def _train(directory: Path, kind: str, max_steps: int, fails: bool = False, **fields: Any) -> None:
    if kind == "wandb":
        tracker: Tracker = Wandb(project="cars", mode="offline", **fields)
    else:
        uri = f"sqlite:///{directory}/mlflow.db"
        tracker = Mlflow(experiment="cars", tracking_uri=uri, **fields)

    def fail(*_: Any) -> None:
        raise ValueError("no")

    hooks = [hook("history_saver", every_n_steps=1)]
    hooks += [hook("session_run", after_run=fail)] if fails else []
    settings = RunSettings(track=tracker)
    spec = TrainSpec(source(), max_steps=max_steps, hooks=hooks)
    evaluation = EvalSpec(source(epochs=1), throttle_secs=0)
    history = train_and_evaluate(model(directory / "model"), settings, spec, evaluation)
    assert history.notes == []


class Logged:
    """What a tracker has of one model.

    Args:
        runs: Ids of the runs.
        values: Steps and values by name, in the order of the steps.
        parameters: Texts by name.
        status: How the last run ended, in the tracker's word; None if it does not say.
        files: Names of the files of the model.
    """

    def __init__(self) -> None:
        self.runs: set[str] = set()
        self.values: dict[str, list[tuple[int, float]]] = {}
        self.parameters: dict[str, str] = {}
        self.status: str | None = None
        self.files: set[str] = set()

    def add(self, name: str, step: int, value: float) -> None:
        self.values[name] = sorted([*self.values.get(name, []), (step, value)])

    def steps(self, name: str) -> list[int]:
        return [step for step, _ in self.values.get(name, [])]


def logged_by(kind: str, directory: Path) -> Logged:
    return _read_wandb(directory) if kind == "wandb" else _read_mlflow(directory)


def _read_mlflow(directory: Path) -> Logged:
    logged = Logged()
    database = sqlite3.connect(directory / "mlflow.db")
    try:
        for name, value, step in database.execute("select key, value, step from metrics"):
            logged.add(name, step, value)
        logged.parameters = dict(database.execute("select key, value from params").fetchall())
        for run, status in database.execute("select run_uuid, status from runs"):
            logged.runs.add(run)
            logged.status = status
    finally:
        database.close()
    logged.files = {path.name for path in directory.glob("**/artifacts/model/*")}
    return logged


def _read_wandb(directory: Path) -> Logged:
    logged = Logged()
    files = sorted(str(path) for path in directory.glob("wandb/offline-run-*/*.wandb"))
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    command = [sys.executable, "-c", _READ_WANDB, *files]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    for line in ended.stdout.splitlines():
        record = json.loads(line)
        if record["run"]:
            logged.runs.add(record["run"])
        logged.files.update(record["files"])
        row = record["row"]
        for name in row.keys() - {"global_step"}:
            if not name.startswith("_"):
                logged.add(name, row["global_step"], row[name])
        for name, value in record["config"].items():
            logged.parameters[name] = str(value)
    return logged


if __name__ == "__main__":
    _train(Path(sys.argv[1]), **json.loads(sys.argv[2]))
