"""Jobs for R: checks, data and start. TensorFlow is not started."""

import math
import os
from typing import Any

from tfdistribute import plan, task_events, versions
from tfdistribute.checkpoints.newest import newest_step
from tfdistribute.cluster.managed import ManagedCluster
from tfdistribute.cluster.spec import Cluster, ClusterSpec, LocalCluster
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, ClusterError, InputError, RunConfigError
from tfdistribute.files import is_remote
from tfdistribute.inputs import InMemory, Input, write_packed
from tfdistribute.launch import job_handle, start
from tfdistribute.launch.host import logs, network, private_directory
from tfdistribute.launch.host.hardware import devices_of_tasks
from tfdistribute.launch.job import READING, Job, must_launch
from tfdistribute.launch.job_handle import Handle
from tfdistribute.launch.platforms import managed_job
from tfdistribute.launch.platforms.platform import staged_path
from tfdistribute.run_config import RunSettings, check_settings_of_tasks
from tfdistribute.strategies import Strategy
from tfdistribute.training.model_directory import as_trained, require_checkpoint, trained_state
from tfdistribute.training.multi_worker.results import TaskResults
from tfdistribute.training.remote.lease import check_access, check_free
from tfdistribute.training.specs import read_estimator
from tfdistribute.training.tabular import check_trains


def prepare_verb(
    estimator: dict[str, Any],
    verb: str,
    workload: plan.Workload,
    starts: bool = False,
    offline: bool = False,
    steps: int | None = None,
    max_steps: int | None = None,
    checkpoint_path: str | None = None,
    input: Input | None = None,  # noqa: A002 - the project's word, in both languages
) -> dict[str, Any]:
    """Decide whether a verb with a cluster runs in this process or in a job, and check the job.

    Args:
        starts: Whether the verb must start a job; ClusterError if this process is a task of one.
        offline: Whether remote storage is not contacted.
        checkpoint_path: To evaluate, or to predict with: a checkpoint's prefix; None for the newest.
        input: The rows to evaluate or to predict for; None if they are in memory.

    Returns:
        For a training, what ``trained_state`` returns, unless it is not known. For a job, also its private
        ``directory``, and the argument that is the same in every task, also after a restart: ``max_steps`` for
        ``steps``, or ``checkpoint_path``.
    """
    model, settings = read_estimator(estimator)
    cluster, model_dir = settings.cluster, model.model_dir
    assert cluster is not None
    if not must_launch(cluster, os.environ):
        if starts:
            raise ClusterError(
                "This process is already a task of a cluster, so it cannot start another one.",
                "Use `cluster = NULL`, which works in this process alone.",
                argument="cluster",
            )
        return trained_state(model_dir)
    if verb in READING:
        _check_reading(settings.for_verb(verb).eval_distribute, verb, input)
        prepared = {"checkpoint_path": require_checkpoint(model_dir, checkpoint_path, verb)}
    else:
        check_trains(verb, model, steps, max_steps)
        model.check_cluster(not isinstance(cluster, (LocalCluster, ClusterSpec)))
        is_known = not (offline and is_remote(model_dir))
        _check_training(settings, cluster, verb, workload, steps, offline)
        prepared = trained_state(model_dir) if is_known else {}
        if steps is not None:
            prepared["max_steps"] = newest_step(model_dir) + steps
    return {**prepared, "directory": start.new_directory(cluster, model_dir)}


def _check_training(
    settings: RunSettings,
    cluster: Cluster,
    verb: str,
    workload: plan.Workload,
    steps: int | None,
    offline: bool,
) -> None:
    model_dir = workload.model_dir
    cpus = getattr(settings.strategy, "devices_per_replica", 1)
    devices = devices_of_tasks(cluster, os.environ, logical_cpus=cpus)
    check_settings_of_tasks(settings, verb, devices)
    plan.plan(cluster, workload)
    if isinstance(cluster, ManagedCluster):
        managed_job.check_model_dir(cluster, model_dir)
        if steps is not None and (offline or not is_remote(model_dir)):
            raise ArgumentError(
                f'`steps` is {steps}, but where the training in "{model_dir}" begins is only known in the containers.',
                "Use `max_steps`, the step at which the training ends.",
                value=str(steps),
            )
    if is_remote(model_dir) and not offline:
        check_access(model_dir)
        check_free(model_dir)


def start_job(
    directory: str,
    task_file: str,
    cluster: Cluster,
    estimator: dict[str, Any],
    inputs: dict[str, InMemory],
    **fields: Any,
) -> dict[str, Any]:
    """Start a job whose tasks read ``task_file``, with further ``fields`` of ``launch.job.Job``.

    Args:
        inputs: Rows in memory by the name of their folder in the private directory, from which all tasks read them.
    """
    _pack(inputs, directory, estimator)
    if isinstance(cluster, ManagedCluster):
        handle = managed_job.submit(_describe(directory, cluster, fields))
        private_directory.remove(directory)
        return handle
    addresses = [each for role in cluster.addresses.values() for each in role]
    own = {
        "id": private_directory.job_id(directory),
        "directory": directory,
        "digest": private_directory.digest_of(task_file),
        "tensorflow": versions.tensorflow(),
        "services": [each for each in network.named_services(task_file) if each not in addresses],
    }
    job = read(Job, {**fields, **own, "cluster": cluster})
    return start.start_job(job)


def _pack(
    inputs: dict[str, InMemory], directory: str, estimator: dict[str, Any], offline: bool = False
) -> None:
    if inputs:
        model: Any = read_estimator(estimator)[0]
        if not (offline and is_remote(model.model_dir)):
            model = as_trained(model)
        for name, source in inputs.items():
            columns = model.reading(source).columns
            write_packed(columns, os.path.join(directory, name), source.response)


def take_result(job: Handle) -> dict[str, Any]:
    """Read the metrics or the predictions of a job that is done, and remove its files and logs.

    Predictions are in the order of the input: arrays by the name of the output.
    """
    if job["verb"] == "evaluate":
        metrics = job_handle.job_state(job)["evaluations"][-1]
        result = {name: math.nan if each is None else each for name, each in metrics.items()}
    else:
        result = TaskResults(os.path.join(str(job["logs"]), task_events.RESULTS)).read_predictions()
    logs.remove_fallback(str(job["id"]))
    return result


def write_manifest(
    directory: str,
    task_file: str,
    path: str,
    cluster: ManagedCluster,
    estimator: dict[str, Any],
    inputs: dict[str, InMemory],
    **fields: Any,
) -> dict[str, Any]:
    """Write the request to a platform into a file, without contacting it. ``task_file`` is in ``directory``.

    Returns:
        ``archive``, a file that was written beside it, and ``staged``, the place to copy it to before the manifest is
        sent; both None if the manifest holds everything.
    """
    del task_file
    _pack(inputs, directory, estimator, offline=True)
    job = _describe(directory, cluster, fields)
    try:
        text, archive = managed_job.describe(job)
    finally:
        private_directory.remove(directory)
    _write_private(path, text.encode())
    staged = staged_path(cluster, job)
    if staged is None:
        return {"archive": None, "staged": None}
    beside = f"{os.path.splitext(path)[0]}.tar.gz"
    _write_private(beside, archive)
    return {"archive": beside, "staged": staged}


def _describe(directory: str, cluster: ManagedCluster, fields: dict[str, Any]) -> Job:
    return managed_job.describe_job(
        cluster, private_directory.job_id(directory), directory=directory, **fields
    )


def _write_private(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(content)


def _check_reading(strategy: Strategy | None, verb: str, rows: Input | None) -> None:
    if strategy is not None:
        raise RunConfigError(
            "`eval_distribute` divides an evaluation over devices, and `cluster` over processes.",
            "Give one of them; with `cluster`, every row counts once.",
            value=strategy.kind,
        )
    order = "turns" if rows is None else rows.shard_order()
    if verb == "predict" and order in ("own", "none"):
        raise InputError(
            "The predictions of several workers cannot be put in the order of a function that returns a dataset.",
            "Give a data frame or files, or predict without `cluster`.",
            argument="input_fn",
        )
    if order == "none":
        raise InputError(
            "The input function has no argument `input_context`, so every worker would evaluate all of its rows.",
            "Let it take `input_context` and read the share of input_context$input_pipeline_id of "
            "input_context$num_input_pipelines, or evaluate without `cluster`.",
            argument="input_fn",
        )


def task_event(event: str, fields: dict[str, Any] | None = None) -> None:
    """Emit an event of a task; "started" also prepares its signal handler.

    A failure that Python has emitted is not emitted again, because R has fewer facts about it.
    """
    if event == "started":
        task_events.emit_started()
    elif event != "failed" or not task_events.has_emitted_failure():
        task_events.emit(event, **(fields or {}))
