"""Command that stops a job."""

import argparse
import sys

from tfdistribute.cli import job_text
from tfdistribute.launch.job_handle import find_job, read_handle, stop_job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "job", help="its id or number, its model_dir, its logs' directory, or what submit names"
    )


def run(arguments: argparse.Namespace) -> int:
    job = read_handle(arguments.job) or find_job(arguments.job)
    if job is None:
        print(f"stop: no job of this user runs as or in {arguments.job!r}", file=sys.stderr)
        return 1
    state = stop_job(job)
    print(job_text.as_json(state) if arguments.json else f"job {job['id']}: {state['message']}")
    return 0
