"""What R asks before a job is started, and what it puts into the private directory. TensorFlow is not started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions import read
from tfdistribute.inputs import Column, write_packed
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job import must_launch


def is_job(cluster: Mapping[str, Any]) -> bool:
    """Say whether a training with this cluster is a job that this process starts."""
    return must_launch(read(Cluster, cluster), os.environ)


def job_directory() -> str:
    """Make the private directory of a job."""
    return private_directory.new_directory()


def remove_job_directory(directory: str) -> None:
    """Remove the private directory of a job that was not started."""
    private_directory.remove(directory)


def digest_of(path: str) -> str:
    """Compute the digest of a file."""
    return private_directory.digest_of(path)


def check_digest(path: str, digest: str) -> None:
    """See that a file is what was written for the job, and that nobody else could have written it."""
    private_directory.check_digest(path, digest)


def pack_input(input: Mapping[str, Any], directory: str) -> int:  # noqa: A002
    """Pack an input of columns in memory into files that tasks map."""
    columns = [read(Column, column) for column in input["columns"]]
    return write_packed(columns, directory, input.get("response"))
