"""The task of a container: from what the platform sets to a running task, and back to an exit code."""

from __future__ import annotations

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
from pathlib import Path
from typing import Any

from tfdistribute import task_events
from tfdistribute.errors import ArgumentError, ClusterError
from tfdistribute.files import is_remote, parse_object
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.platforms.archive import unpack
from tfdistribute.launch.platforms.environment import platform_tf_config

# Environment variables of a container: the path of the job's archive, its SHA-256, the name of the job, and the number
# of its tasks.
ARCHIVE = "TFDISTRIBUTE_ARCHIVE"
ARCHIVE_DIGEST = "TFDISTRIBUTE_ARCHIVE_DIGEST"
NAME = "TFDISTRIBUTE_NAME"
TASKS = "TFDISTRIBUTE_TASKS"

# Nothing listens there.
_ADDRESS = "localhost:2222"

# What R's tasks read, see launch-task.R.
TASK_FILE = "task.rds"

_COPY = (
    "import sys; from tfdistribute import engine, storage; storage.copy(sys.argv[1], sys.argv[2])"
)

# Exit codes from 128 on mean that the task may succeed if it is started again. 138 is the one that TFJob leaves to
# programs: https://www.kubeflow.org/docs/components/trainer/legacy-v1/user-guides/tensorflow/
RETRY = 138
_RETRIED_FROM = 128
# An error in R or Python, if a code says no more.
_ERROR = 1

# Kubernetes keeps the end of what is written there, at most 4096 bytes, with the state of a pod.
_TERMINATION_LOG = "/dev/termination-log"
_MOST_BYTES = 4096
_LONG_FIELDS = ("traceback", "r_traceback")

# Longer than a step takes, and shorter than the 30 seconds after which Kubernetes kills.
_STOP_S = 25.0
_TICK_S = 0.5


def run_task(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command of a task in a container; return its exit code.

    It is 0 for success, at least 128 if another start may help (another task was lost, a signal, or the platform wants
    the container back), and between 1 and 127 for a mistake, which would come again.
    """
    with _task_directory(environment) as directory:
        failure = os.path.join(directory, "failure.json")
        variables = {**environment, task_events.FAILURE: failure}
        variables["TF_CONFIG"] = platform_tf_config(environment) or _alone(environment)
        task_file = os.path.join(directory, TASK_FILE)
        if os.path.exists(task_file):
            variables[task_events.JOB] = directory
            variables[task_events.DIGEST] = private_directory.digest_of(task_file)
        code, was_stopped = _run(command, variables, directory)
        failure_report = _read_failure(failure)
        _report(failure_report)
        return _exit_code(code, was_stopped, failure_report)


def _alone(environment: Mapping[str, str]) -> str:
    """Return the TF_CONFIG of the only task of a job, to which platforms give none."""
    tasks = environment.get(TASKS, "1")
    if tasks != "1":
        # Each task would train the whole model by itself.
        raise ClusterError(
            f"The job has {tasks} tasks, and the platform did not tell this one where the others are.",
            "Look whether the container has TF_CONFIG, CLUSTER_SPEC or JOB_COMPLETION_INDEX.",
            argument="TF_CONFIG",
        )
    return json.dumps({"cluster": {"chief": [_ADDRESS]}, "task": {"type": "chief", "index": 0}})


@contextmanager
def _task_directory(environment: Mapping[str, str]) -> Generator[str]:
    """Unpack the archive into a private directory whose name is the same in all containers of a job."""
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
        unpack(_archive(environment[ARCHIVE], home), environment[ARCHIVE_DIGEST], directory)
        yield directory
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _archive(path: str, home: str) -> bytes:
    """Read the archive; a remote one in a process of its own, because TensorFlow reads it and takes much memory."""
    try:
        if not is_remote(path):
            return Path(path).read_bytes()
        copy = os.path.join(home, "archive")
        command = [sys.executable, "-c", _COPY, path, copy]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            lines = ended.stderr.strip().splitlines()
            raise OSError(None, lines[-1] if lines else f"exit code {ended.returncode}")
        return Path(copy).read_bytes()
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
    """Run a command to its end; return its exit code, and whether the platform asked it to stop."""
    signals: list[int] = []
    process: list[subprocess.Popen[bytes]] = []

    def stop(number: int, frame: Any) -> None:
        del frame
        signals.append(number)
        if process:
            # The chief finishes its step and saves a checkpoint.
            process[0].send_signal(signal.SIGINT)

    before = {each: signal.signal(each, stop) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        try:
            process.append(subprocess.Popen(command, env=environment, cwd=directory))
        except OSError as error:
            sys.stderr.write(f"{command[0]}: {error.strerror}\n")
            return 127, False
        if signals:
            process[0].send_signal(signal.SIGINT)
        code = _wait(process[0], signals)
        return code, bool(signals)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(process: subprocess.Popen[bytes], signals: Sequence[int]) -> int:
    deadline = math.inf
    while True:
        try:
            return process.wait(_TICK_S)
        except subprocess.TimeoutExpired:
            if signals and deadline == math.inf:
                deadline = time.monotonic() + _STOP_S
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


def _read_failure(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            return parse_object(file.read())
    except OSError:
        return None


def _report(failure: dict[str, Any] | None) -> None:
    """Leave a failure where Kubernetes looks for the last words of a container."""
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
