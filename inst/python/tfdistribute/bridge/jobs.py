"""Jobs for R: checks, data and start. TensorFlow is started only for a model_dir on remote storage."""

from __future__ import annotations

import os
from typing import Any

from tfdistribute import plan, task_events, versions
from tfdistribute.checkpoints.newest import newest_step
from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions import read
from tfdistribute.files import is_remote
from tfdistribute.inputs import Column, write_packed
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.hardware import devices_of_tasks
from tfdistribute.launch.job import Job, must_launch
from tfdistribute.launch.slurm import queued
from tfdistribute.launch.slurm.queued import submit_job
from tfdistribute.launch.start import start_supervisor
from tfdistribute.run_config import check_strategy_of_cluster
from tfdistribute.strategies import Strategy
from tfdistribute.training.remote.access import check_access
from tfdistribute.training.remote.lease import check_free


def prepare_job(
    cluster: Cluster,
    strategy: Strategy | None,
    verb: str,
    workload: plan.Workload,
    steps: int | None = None,
) -> dict[str, Any] | None:
    """Check a job, and make its private directory.

    Returns:
        ``directory``, and ``max_steps`` for ``steps``: a restarted task must not count them again. None if this process
        performs the verb itself.
    """
    if not must_launch(cluster, os.environ):
        return None
    cpus = getattr(strategy, "devices_per_replica", 1)
    devices = devices_of_tasks(cluster, os.environ, logical_cpus=cpus)
    check_strategy_of_cluster(strategy, cluster, verb, devices)
    plan.plan(cluster, workload)
    if is_remote(workload.model_dir):
        check_access(workload.model_dir)
        check_free(workload.model_dir)
    return {
        "directory": _new_directory(cluster, workload.model_dir),
        "max_steps": None if steps is None else newest_step(workload.model_dir) + steps,
    }


def pack_inputs(inputs: tuple[dict[str, Any], ...], directories: tuple[str, ...]) -> None:
    """Pack inputs of columns in memory into files that the tasks of a job map."""
    for each, directory in zip(inputs, directories, strict=True):
        columns = [read(Column, column) for column in each["columns"]]
        write_packed(columns, directory, each.get("response"))


def start_job(directory: str, task_file: str, **fields: Any) -> dict[str, Any]:
    """Start a job whose tasks read ``task_file``, and return its handle.

    ``fields`` are those of ``launch.job.Job`` besides id, directory and digest.
    """
    own = {
        "id": private_directory.job_id(directory),
        "directory": directory,
        "digest": private_directory.digest_of(task_file),
        "tensorflow": versions.tensorflow(),
    }
    job = read(Job, {**fields, **own})
    return submit_job(job) if isinstance(job.cluster, SlurmCluster) else start_supervisor(job)


def job_script(cluster: SlurmCluster, model_dir: str | None = None) -> str:
    """Return the script that sbatch would get."""
    return queued.script_of(cluster, model_dir)


def _new_directory(cluster: Cluster, model_dir: str | None) -> str:
    if isinstance(cluster, SlurmCluster):
        return queued.new_directory(model_dir, os.getcwd())
    return private_directory.new_directory()


def task_event(event: str, fields: dict[str, Any] | None = None) -> None:
    """Emit an event of a task; "started" also prepares its signal handler.

    A failure that Python has emitted is not emitted again: R knows less about it.
    """
    if event == "started":
        task_events.emit_started()
    elif event != "failed" or not task_events.has_emitted_failure():
        task_events.emit(event, **(fields or {}))
