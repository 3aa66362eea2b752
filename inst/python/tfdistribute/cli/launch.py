"""Command that runs a script in a cluster of processes, on this machine or on hosts that ssh reaches."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from tfdistribute import storage
from tfdistribute.cli import job_text
from tfdistribute.cli.arguments import count
from tfdistribute.cli.job_console import JobConsole
from tfdistribute.cluster.spec import NETWORKS, Cluster, LocalCluster
from tfdistribute.cluster.ssh import SshCluster
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
    add("--workers", type=count, help="processes that train, the chief included")
    add("--hosts", help="hosts that ssh reaches, separated by commas; by default one worker each")
    add("--ssh", type=shlex.split, default=["ssh"], help="the ssh program and its arguments")
    add("--rscript", default="Rscript", help="Rscript on the hosts")
    add("--python", default="python3", help="Python on the hosts")
    add("--environment", action="append", default=[], metavar="NAME=VALUE", help="for hosts")
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
    mistake = script_mistake(arguments.script) or _mistake(arguments)
    if mistake is not None:
        print(f"launch: {mistake}", file=sys.stderr)
        return 2
    directory = private_directory.new_directory()
    try:
        job = _job(arguments, _command(arguments, directory), directory)
        state = supervise(job, None if arguments.json else JobConsole(arguments.level))
    except TfdistributeError:
        private_directory.remove(directory)
        raise
    _report(state, arguments.json)
    return CODES[state["state"]]


def script_mistake(script: Path) -> str | None:
    """Say why a file cannot be run as a script; None if it can."""
    if not script.is_file():
        return f"there is no script {str(script)!r}"
    if script.suffix not in (".py", ".R", ".r"):
        return f"{str(script)!r} is neither an R script (.R) nor a Python script (.py)"
    return None


def _mistake(arguments: argparse.Namespace) -> str | None:
    if arguments.hosts is None and arguments.workers is None:
        return "--workers or --hosts is missing"
    is_r = arguments.script.suffix != ".py"
    if arguments.hosts is None and is_r and shutil.which("Rscript") is None:
        return "Rscript is not on the PATH"
    wrong = next((each for each in arguments.environment if "=" not in each), None)
    return None if wrong is None else f"--environment {wrong!r} is not NAME=VALUE"


def _command(arguments: argparse.Namespace, directory: str) -> list[str]:
    """Return the command of every task. The script is sent to hosts with the files of the job."""
    script, is_r = arguments.script, arguments.script.suffix != ".py"
    if arguments.hosts is not None:
        sent = os.path.join(directory, "script", script.name)
        os.mkdir(os.path.dirname(sent), 0o700)
        shutil.copyfile(script, sent)
        return [arguments.rscript if is_r else arguments.python, sent, *arguments.for_script]
    program = str(shutil.which("Rscript")) if is_r else sys.executable
    return [program, os.path.abspath(script), *arguments.for_script]


def _cluster(arguments: argparse.Namespace) -> Cluster:
    common: dict[str, Any] = {
        "ps": arguments.ps,
        "evaluator": not arguments.no_evaluator,
        "start_timeout_s": arguments.start_timeout,
        "stall_timeout_s": arguments.stall_timeout,
        "restarts": arguments.restarts,
    }
    if arguments.hosts is None:
        return LocalCluster(arguments.workers, network=arguments.network, **common)
    hosts = tuple(arguments.hosts.split(","))
    return SshCluster(
        hosts=hosts,
        workers=arguments.workers or len(hosts),
        ssh=tuple(arguments.ssh),
        rscript=arguments.rscript,
        python=arguments.python,
        environment=dict(each.split("=", 1) for each in arguments.environment),
        **common,
    )


def _job(arguments: argparse.Namespace, command: list[str], directory: str) -> Job:
    model_dir = None if arguments.model_dir is None else absolute_path(arguments.model_dir)
    if model_dir is not None:
        storage.check_package(model_dir)
    cluster = _cluster(arguments)
    if isinstance(cluster, LocalCluster):
        # The tasks of a Python script import this package from the same place.
        known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        root = str(Path(__file__).parents[2])
        os.environ["PYTHONPATH"] = os.pathsep.join([root, *(path for path in known if path)])
    return Job(
        id=private_directory.job_id(directory),
        cluster=cluster,
        verb="script",
        command=tuple(command),
        directory=directory,
        working_directory=os.getcwd(),
        model_dir=model_dir,
        environment=getattr(cluster, "environment", {}),
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
