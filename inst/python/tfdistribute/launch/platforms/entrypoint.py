"""The task of a container, from the platform's variables to an exit code."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tfdistribute import storage, task_events
from tfdistribute.cluster.spec import EVALUATOR, ROLES, Task
from tfdistribute.cluster.tf_config import TfConfig, parse_tf_config, read_cluster_spec
from tfdistribute.errors import ArgumentError, ClusterError
from tfdistribute.files import parse_object
from tfdistribute.launch import job_files
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.processes import StopRequests
from tfdistribute.launch.job_files import FAILURE_FILE
from tfdistribute.launch.platforms.archive import unpack

# Environment variables of a container: path and SHA-256 of the job's archive, name of the job, and number of tasks.
ARCHIVE = "TFDISTRIBUTE_ARCHIVE"
ARCHIVE_DIGEST = "TFDISTRIBUTE_ARCHIVE_DIGEST"
NAME = "TFDISTRIBUTE_NAME"
TASKS = "TFDISTRIBUTE_TASKS"

# Addresses of all tasks by role, and the number of this container among them, in an indexed Job of Kubernetes.
ADDRESSES = "TFDISTRIBUTE_ADDRESSES"
INDEX = "JOB_COMPLETION_INDEX"

# Nothing listens there.
_ADDRESS = "localhost:2222"

# What R's tasks read, see launch-task.R.
TASK_FILE = "task.rds"

# From 128 on, a task may succeed if it is started again. TFJob leaves 138 to programs:
# https://www.kubeflow.org/docs/components/trainer/legacy-v1/user-guides/tensorflow/
RETRY = 138
_RETRIED_FROM = 128
# An error in R or Python, if a code says no more.
_ERROR = 1

# Kubernetes keeps at most the last 4096 bytes with the state of a pod.
_TERMINATION_LOG = "/dev/termination-log"
_MOST_BYTES = 4096
_LONG_FIELDS = ("traceback", "r_traceback")

# Longer than a step takes, and shorter than the 30 seconds after which Kubernetes kills.
_STOP_S = 25.0
_TICK_S = 0.1


def run_task(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Return the exit code of a task: at least 128 if another start may help, and less for a permanent mistake."""
    with _task_directory(environment) as directory:
        failure = os.path.join(directory, FAILURE_FILE)
        variables = {**environment, task_events.FAILURE: failure}
        variables["TF_CONFIG"] = platform_tf_config(environment) or _alone(environment)
        task_file = os.path.join(directory, TASK_FILE)
        if os.path.exists(task_file):
            variables[task_events.JOB] = directory
            variables[task_events.DIGEST] = private_directory.digest_of(task_file)
        code, was_stopped = _run(command, variables, directory)
        failure_report = job_files.read(directory, FAILURE_FILE)
        _report(failure_report)
        return _exit_code(code, was_stopped, failure_report)


def _alone(environment: Mapping[str, str]) -> str:
    # Platforms give no TF_CONFIG to the only task of a job.
    tasks = environment.get(TASKS, "1")
    if tasks != "1":
        # Each task would train the whole model alone.
        raise ClusterError(
            f"The job has {tasks} tasks, and the platform did not tell this one where the others are.",
            "Look whether the container has TF_CONFIG, CLUSTER_SPEC or JOB_COMPLETION_INDEX.",
            argument="TF_CONFIG",
        )
    return json.dumps({"cluster": {"chief": [_ADDRESS]}, "task": {"type": "chief", "index": 0}})


@contextmanager
def _task_directory(environment: Mapping[str, str]) -> Generator[str]:
    # The directory has the same name in all containers of a job.
    missing = [name for name in (ARCHIVE, ARCHIVE_DIGEST, NAME) if not environment.get(name)]
    if missing:
        raise ArgumentError(
            f"{missing[0]} is not set: this process is not a task of a container.",
            "Let launch() or write_manifest() describe the container.",
            argument=missing[0],
        )
    home = tempfile.mkdtemp(prefix="tfdistribute-task-")
    try:
        directory = os.path.join(home, environment[NAME])
        os.mkdir(directory, 0o700)
        unpack(_archive(environment[ARCHIVE]), environment[ARCHIVE_DIGEST], directory)
        yield directory
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _archive(path: str) -> bytes:
    try:
        return storage.read_bytes(path)
    except OSError as error:
        raise ClusterError(
            f'The archive of the job, "{path}", cannot be read: {error.strerror}.',
            "Let the account of the containers read it.",
            argument=ARCHIVE,
            value=path,
        ) from error


def _run(
    command: Sequence[str], environment: Mapping[str, str], directory: str
) -> tuple[int, bool]:
    # Returns the exit code, and whether the platform asked the command to stop.
    with StopRequests(("SIGTERM", "SIGINT")) as stops:
        try:
            process = subprocess.Popen(command, env=environment, cwd=directory)
        except OSError as error:
            sys.stderr.write(f"{command[0]}: {error.strerror}\n")
            return 127, False
        told, deadline = 0, math.inf
        while True:
            try:
                return process.wait(_TICK_S), stops.count > 0
            except subprocess.TimeoutExpired:
                if stops.count > told:
                    # The chief finishes its step and saves a checkpoint.
                    process.send_signal(signal.SIGINT)
                    told, deadline = stops.count, min(deadline, time.monotonic() + _STOP_S)
                if time.monotonic() > deadline:
                    process.kill()


def _exit_code(code: int, was_stopped: bool, failure: Mapping[str, Any] | None) -> int:
    if code == 0:
        return 0
    if was_stopped:
        return _RETRIED_FROM + signal.SIGTERM
    if failure is not None:
        return RETRY if failure.get("transient") else _ERROR
    return _RETRIED_FROM - code if code < 0 else code


def _report(failure: dict[str, Any] | None) -> None:
    if failure is None or not os.path.exists(_TERMINATION_LOG):
        return
    text = json.dumps(failure)
    for name in _LONG_FIELDS:
        if len(text) > _MOST_BYTES:
            failure = {**failure, name: None}
            text = json.dumps(failure)
    try:
        with open(_TERMINATION_LOG, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        sys.stderr.write(f"{_TERMINATION_LOG}: {error.strerror}\n")


def platform_tf_config(environment: Mapping[str, str]) -> str | None:
    """Return the TF_CONFIG of this task as text; None if no variable describes a cluster.

    TF_CONFIG counts first, then an indexed Job, then CLUSTER_SPEC. An evaluator leaves the cluster, as TensorFlow
    requires. ClusterError if a variable does not describe a cluster.
    """
    config = (
        parse_tf_config(environment.get("TF_CONFIG", ""))
        or _of_index(environment)
        or read_cluster_spec(environment)
    )
    if config is None or config.task_type is None:
        return None
    roles = config.cluster.items()
    cluster = {role: list(each) for role, each in roles if each and role != EVALUATOR}
    task = {"type": config.task_type, "index": config.task_index}
    return json.dumps({"cluster": cluster, "task": task})


def _of_index(environment: Mapping[str, str]) -> TfConfig | None:
    text, index = environment.get(ADDRESSES, ""), environment.get(INDEX, "")
    if not text or not index.isdecimal():
        return None
    addresses = parse_object(text)
    if addresses is None:
        raise _misfit(ADDRESSES, text)
    roles = {role: tuple(addresses[role]) for role in ROLES if addresses.get(role)}
    tasks = [Task(role, number) for role in roles for number in range(len(roles[role]))]
    if int(index) >= len(tasks):
        raise _misfit(INDEX, index)
    task = tasks[int(index)]
    return TfConfig(roles, task.type, task.index)


def _misfit(variable: str, text: str) -> ClusterError:
    return ClusterError(
        f"{variable} does not describe a cluster: {text[:200]!r}.",
        "Let the platform set it, or set TF_CONFIG, which counts first.",
        argument=variable,
        value=text[:200],
    )
