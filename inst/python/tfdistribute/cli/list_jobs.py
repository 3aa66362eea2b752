"""Command that lists jobs."""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfdistribute.cli import job_text
from tfdistribute.errors import TfdistributeError
from tfdistribute.launch.detached import client
from tfdistribute.launch.host import logs
from tfdistribute.launch.job_files import HANDLE_FILE
from tfdistribute.launch.job_handle import job_state, read_handle, running_jobs

_COLUMNS = ("job", "state", "step", "where", "model_dir")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Jobs on managed platforms are found by the files that submit has written below this directory."


def run(arguments: argparse.Namespace) -> int:
    rows = [_row(job, where) for job, where in _jobs()]
    if arguments.json:
        print(job_text.as_json(rows))
        return 0
    for line in job_text.columns(
        [list(_COLUMNS), *([str(row[name] or "") for name in _COLUMNS] for row in rows)]
    ):
        print(line)
    return 0


def _jobs() -> Iterator[tuple[dict[str, Any], str]]:
    for job in (*running_jobs(), *client.own_jobs()):
        yield job, str(job["logs"] or "")
    (home, *_) = logs.log_directories("*", None, os.getcwd())
    for path in sorted(Path(home).parent.glob(f"*/{HANDLE_FILE}")):
        job = read_handle(str(path.parent))
        if job is not None:
            yield job, os.path.relpath(path.parent)


def _row(job: dict[str, Any], where: str) -> dict[str, Any]:
    try:
        state = job_state(job)
        found = {"state": state["state"], "step": state["global_step"]}
    except TfdistributeError as error:
        found = {"state": f"unknown: {error.problem}", "step": None}
    return {"job": job["id"], "where": where, "model_dir": job["model_dir"], **found}
