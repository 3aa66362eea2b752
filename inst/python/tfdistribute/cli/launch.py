"""Command that runs a script in a cluster of processes on this machine."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from tfdistribute import storage
from tfdistribute.cli import job_text
from tfdistribute.cli.arguments import count
from tfdistribute.cli.job_console import JobConsole
from tfdistribute.cluster.spec import NETWORKS, LocalCluster
from tfdistribute.errors import TfdistributeError
from tfdistribute.files import absolute_path
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.logs import LEVELS
from tfdistribute.launch.job import Job
from tfdistribute.launch.start import CODES, supervise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    defaults = LocalCluster(workers=1)
    add = parser.add_argument
    parser.epilog = "Arguments after -- are passed to the script."
    add("script", type=Path, help="an R script (.R), or a Python script (.py) for this Python")
    add("--workers", type=count, required=True, help="processes that train, the chief included")
    add("--ps", type=int, default=defaults.ps, help="parameter servers")
    add("--no-evaluator", action="store_true", help="start no process that evaluates")
    add(
        "--restarts",
        type=int,
        default=defaults.restarts,
        help="how often lost tasks are restarted",
    )
    add(
        "--start-timeout",
        type=float,
        default=defaults.start_timeout_s,
        help="seconds in which every task that trains must make its first step",
    )
    add(
        "--stall-timeout",
        type=float,
        default=defaults.stall_timeout_s,
        help="seconds without a step of any task after which the job counts as stalled",
    )
    add("--network", choices=NETWORKS, default=defaults.network, help="where the tasks listen")
    add("--model-dir", help="the script's model_dir: logs go there, and no other job may use it")
    add("--level", choices=LEVELS, default="info", help="minimum level of the lines shown")


def run(arguments: argparse.Namespace) -> int:
    """Run the job to its end."""
    command = _command(arguments.script, arguments.for_script)
    if isinstance(command, str):
        print(f"launch: {command}", file=sys.stderr)
        return 2
    directory = private_directory.new_directory()
    try:
        job = _job(arguments, command, directory)
        state = supervise(job, None if arguments.json else JobConsole(arguments.level))
    except TfdistributeError:
        private_directory.remove(directory)
        raise
    _report(state, arguments.json)
    return CODES[state["state"]]


def _command(script: Path, for_script: list[str]) -> list[str] | str:
    """Return the command of a task, or why there is none."""
    if not script.is_file():
        return f"there is no script {str(script)!r}"
    path = os.path.abspath(script)
    if script.suffix == ".py":
        return [sys.executable, path, *for_script]
    if script.suffix not in (".R", ".r"):
        return f"{str(script)!r} is neither an R script (.R) nor a Python script (.py)"
    rscript = shutil.which("Rscript")
    return "Rscript is not on the PATH" if rscript is None else [rscript, path, *for_script]


def _job(arguments: argparse.Namespace, command: list[str], directory: str) -> Job:
    model_dir = None if arguments.model_dir is None else absolute_path(arguments.model_dir)
    if model_dir is not None:
        storage.check_package(model_dir)
    # The tasks of a Python script import this package from the same place.
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    root = str(Path(__file__).parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join([root, *(path for path in known if path)])
    return Job(
        id=private_directory.job_id(directory),
        cluster=LocalCluster(
            arguments.workers,
            arguments.ps,
            evaluator=not arguments.no_evaluator,
            start_timeout_s=arguments.start_timeout,
            stall_timeout_s=arguments.stall_timeout,
            restarts=arguments.restarts,
            network=arguments.network,
        ),
        verb="script",
        command=tuple(command),
        directory=directory,
        working_directory=os.getcwd(),
        model_dir=model_dir,
    )


def _report(state: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(job_text.as_json(state))
        return
    progress = job_text.progress(state)
    if progress:
        print(progress)
    if state["failure"] is not None:
        print("\n".join(job_text.failure(state)), file=sys.stderr)
