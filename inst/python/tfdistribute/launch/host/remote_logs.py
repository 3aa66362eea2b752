"""Logs of jobs whose model directory is on remote storage, where they appear at the end of the job."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfdistribute import storage
from tfdistribute.launch.host import processes
from tfdistribute.launch.job import Job
from tfdistribute.launch.job_files import RESULT_FILE
from tfdistribute.launch.state import remote_logs

# How long the copy may take, with the start of TensorFlow.
COPY_S = 60.0

_TICK_S = 0.05
_VALUES = "copied.json"
_ERRORS = "copied.log"

_CODE = (
    "import sys; sys.path[0] = sys.argv.pop(1); "
    "from tfdistribute.training.remote.copied_logs import main; sys.exit(main(sys.argv[1:]))"
)


def move_logs(
    job: Job, logs: str, values: dict[str, Any], is_over: Callable[[], bool]
) -> dict[str, Any]:
    """Move the logs of an ended job into its remote model directory; return its state with new paths or a note."""
    target = remote_logs(job.model_dir)
    if target is None or not job.trains or logs == job.directory:
        return values
    why = _copy(job, logs, target, values, is_over)
    moved = storage.read_object(os.path.join(job.directory, _VALUES))
    if why is not None or moved is None:
        note = f'The logs could not be copied to "{target}" ({why}). They are in "{logs}".'
        return {**values, "notes": [*values["notes"], note]}
    shutil.rmtree(logs, ignore_errors=True)
    with contextlib.suppress(OSError):
        # The directory of the logs of all jobs, if this was the last one.
        os.rmdir(os.path.dirname(logs))
    return moved


def _copy(
    job: Job, logs: str, target: str, values: dict[str, Any], is_over: Callable[[], bool]
) -> str | None:
    path, errors = (os.path.join(job.directory, name) for name in (_VALUES, _ERRORS))
    root, parent = str(Path(__file__).parents[3]), os.getpid()
    # Tables of tasks, remedies and notes contain paths.
    text = json.dumps(values).replace(json.dumps(logs)[1:-1], json.dumps(target)[1:-1])
    try:
        storage.write_object(path, json.loads(text))
        with open(errors, "wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", _CODE, root, logs, target, path, RESULT_FILE],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"},
                cwd=job.directory,
                preexec_fn=lambda: processes.die_with_parent(parent),  # noqa: PLW1509 - one thread
            )
    except OSError as error:
        return str(error.strerror)
    end = time.monotonic() + COPY_S
    while process.poll() is None and time.monotonic() < end and not is_over():
        time.sleep(_TICK_S)
    if process.poll() is None:
        process.kill()
        process.wait()
        return "it was stopped" if is_over() else f"it did not end in {COPY_S:g} seconds"
    lines = Path(errors).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return None if process.returncode == 0 else lines[-1] if lines else "no reason is known"
