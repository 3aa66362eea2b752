"""Logs of jobs whose model directory is on remote storage, where they appear at the end of the job."""

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfdistribute import storage
from tfdistribute.errors import TfdistributeError
from tfdistribute.launch.job import Job
from tfdistribute.launch.job_files import RESULT_FILE
from tfdistribute.launch.state import remote_logs
from tfdistribute.storage.deadline import reason_of, within

# How long the copy may take.
COPY_S = 60.0

# What is kept of the logs of earlier jobs.
_KEPT_BYTES = 1 << 24


def move_logs(
    job: Job, logs: str, values: dict[str, Any], is_over: Callable[[], bool]
) -> dict[str, Any]:
    """Move the logs of an ended job into its remote model directory; return its state with new paths or a note."""
    target = remote_logs(job.model_dir)
    if target is None or not job.trains or logs == job.directory:
        return values
    # Tables of tasks, remedies and notes contain paths.
    text = json.dumps(values).replace(json.dumps(logs)[1:-1], json.dumps(target)[1:-1])
    moved: dict[str, Any] = json.loads(text)
    try:
        within(COPY_S, lambda: copy_logs(logs, target, moved), is_over)
    except (OSError, TfdistributeError) as error:
        why = reason_of(error)
        note = f'The logs could not be copied to "{target}" ({why}). They are in "{logs}".'
        return {**values, "notes": [*values["notes"], note]}
    shutil.rmtree(logs, ignore_errors=True)
    with contextlib.suppress(OSError):
        # The directory of the logs of all jobs, if this was the last one.
        os.rmdir(os.path.dirname(logs))
    return moved


def copy_logs(logs: str, target: str, result: dict[str, Any]) -> None:
    """Append the files of a local directory to a remote one, and write the result there as the last file."""
    starts: dict[str, int] = {}
    for path in sorted(Path(logs).iterdir()):
        place = os.path.join(target, path.name)
        if path.name != RESULT_FILE and path.is_file() and not path.is_symlink():
            before = storage.read_if_any(place)[-_KEPT_BYTES:]
            starts[place] = len(before)
            storage.of(place).write(place, before + storage.read_own(str(path)))
    for row in result["tasks"]:
        row["log_start"] += starts.get(row["log"], 0)
    storage.write_object(os.path.join(target, RESULT_FILE), result)
