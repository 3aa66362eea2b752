"""Jobs whose supervisor runs on the head node of a real Ray."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions import read
from tfdistribute.launch.host import private_directory as private
from tfdistribute.launch.job import Job
from tfdistribute.launch.schedulers import client


def submit(directory: Path, address: str, **fields: Any) -> dict[str, Any]:
    """Submit a job with a chief and a worker in two actors; takes fields of the cluster and the job."""
    model_dir = fields.pop("model_dir", str(directory / "model"))
    cluster = {
        "kind": "ray",
        "address": address,
        "workers": 2,
        "evaluator": False,
        "placement": "spread",
        "python": sys.executable,
        "lease_s": 5,
        "detached": True,
        **fields.pop("cluster", {}),
    }
    made = client.new_directory(read(Cluster, cluster), model_dir, str(directory))
    values = {
        "id": private.job_id(made),
        "cluster": cluster,
        "verb": "train",
        "directory": made,
        "working_directory": str(directory),
        "model_dir": model_dir,
    }
    return client.submit_job(read(Job, {**values, **fields}))
