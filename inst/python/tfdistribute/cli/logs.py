"""Command that shows the logs of a job."""

import argparse
import os
import sys
import time
from typing import Any

from tfdistribute import storage
from tfdistribute.cli import job_text
from tfdistribute.files import is_remote
from tfdistribute.launch.host.logs import LEVELS, LogReader, written_logs
from tfdistribute.launch.job_handle import find_job, job_logs, read_handle, read_logs

_TICK_S = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory",
        help="model_dir of the job, its logs' directory, its id, or what submit names",
    )
    parser.add_argument("--task", help='one task, such as "worker 1"')
    parser.add_argument("--follow", action="store_true", help="continue until the job has ended")
    parser.add_argument("--level", choices=LEVELS, default="debug", help="minimum level of lines")


def run(arguments: argparse.Namespace) -> int:
    name = str(arguments.directory)
    submitted = read_handle(name)
    if submitted is not None:
        return _of_platform(submitted, arguments)
    # The logs of a job that runs are not remote yet.
    job = find_job(name) if is_remote(name) or not storage.exists(name) else None
    beneath = os.path.join(name, "logs")
    directory = beneath if storage.is_directory(beneath) else name
    if job is not None and job["logs"]:
        directory = str(job["logs"])
    rows = written_logs(directory)
    if not rows and not (arguments.follow and find_job(directory) is not None):
        print(f"logs: no task has logged anything in {directory!r}", file=sys.stderr)
        return 2
    if arguments.follow and arguments.json:
        print("logs: --follow has no end, and JSON needs one", file=sys.stderr)
        return 2
    if not arguments.follow:
        lines = read_logs(rows, arguments.task, arguments.level)
        _show(lines, arguments.json)
        return 0
    return _follow(directory, arguments.task, arguments.level)


def _of_platform(job: dict[str, Any], arguments: argparse.Namespace) -> int:
    if arguments.follow:
        print("logs: --follow is not supported for a job that was submitted", file=sys.stderr)
        return 2
    _show(job_logs(job, arguments.task, arguments.level), arguments.json)
    return 0


def _show(lines: list[str], as_json: bool) -> None:
    print(job_text.as_json(lines) if as_json else "\n".join(lines))


def _follow(directory: str, task: str | None, level: str) -> int:
    position: str | None = None
    try:
        while True:
            # Checked before the lines are read, so that the last lines are shown.
            is_running = find_job(directory) is not None
            rows = [row for row in written_logs(directory) if task in (None, row["task"])]
            reader = LogReader(rows, position, level)
            for line in reader.read_new():
                print(line, flush=True)
            position = reader.position
            if not is_running:
                return 0
            time.sleep(_TICK_S)
    except KeyboardInterrupt:
        return 130
