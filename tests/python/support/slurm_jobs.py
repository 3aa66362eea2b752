"""Jobs of a real Slurm with fake tasks."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.job_fakes import TRAINS, command
from support.remote_hosts import soon
from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions import read
from tfdistribute.launch import job_handle
from tfdistribute.launch.host import private_directory as private
from tfdistribute.launch.job import Job
from tfdistribute.launch.schedulers import client
from tfdistribute.launch.schedulers.registry import SCHEDULERS

LEASE_S = 5


def submit(directory: Path, acts: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Submit a job with a chief and a worker on two nodes; takes fields of the cluster and the job."""
    model_dir = fields.pop("model_dir", str(directory / "model"))
    cluster = {
        "kind": "slurm",
        "nodes": 2,
        "workers": 2,
        "evaluator": False,
        "python": sys.executable,
        "lease_s": LEASE_S,
        **fields.pop("cluster", {}),
    }
    made = client.new_directory(read(Cluster, cluster), model_dir, str(directory))
    values = {
        "id": private.job_id(made),
        "cluster": cluster,
        "verb": "train_and_evaluate",
        "command": command({"chief": TRAINS, "worker": TRAINS, **acts}),
        "directory": made,
        "working_directory": str(directory),
        "model_dir": model_dir,
        "parent_pid": os.getpid(),
    }
    return client.submit_job(read(Job, {**values, **fields}))


def state_when(job: Mapping[str, Any], condition: Any, timeout_s: float = 40) -> dict[str, Any]:
    """The first state of a job that meets a condition."""
    deadline = time.monotonic() + timeout_s
    while not condition(state := job_handle.job_state(job)):
        if time.monotonic() > deadline or state["ended"] is not None:
            output = SCHEDULERS["slurm"].output.format(job["key"])
            said = Path(job["logs"], output)
            text = said.read_text() if said.exists() else ""
            raise AssertionError(f"Never came: {json.dumps(state, indent=1)}\n{text}")
        time.sleep(0.05)
    return state


def result(job: Mapping[str, Any], timeout_s: float = 60) -> dict[str, Any]:
    """Wait for the end of a job, and check that nothing of it is left in model_dir or in Slurm."""
    state = state_when(job, lambda state: state["ended"] is not None, timeout_s)
    assert soon(lambda: _phase(job["key"]) in ("ended", "cancelled"), 30)
    assert not Path(job["model_dir"], client.JOBS).exists()
    return state


def _phase(key: str) -> str | None:
    entry = SCHEDULERS["slurm"].entry(key)
    return None if entry is None else entry.phase


def is_training(state: Mapping[str, Any]) -> bool:
    return state["state"] == "training" and all(row["step"] for row in state["tasks"])
