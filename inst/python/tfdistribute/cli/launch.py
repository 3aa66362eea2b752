"""Command that runs a script in a cluster of processes: here, on hosts, on nodes of Slurm, or in actors of Ray."""

import argparse
import contextlib
import os
import shutil
import sys
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from tfdistribute import storage
from tfdistribute.cli import job_text
from tfdistribute.cli.cluster_arguments import (
    add_cluster_arguments,
    argument_of,
    fields_for_users,
    foreign_field,
    given_fields,
)
from tfdistribute.cli.job_console import JobConsole
from tfdistribute.cluster.engines.ray import RayCluster
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.cluster.spec import Cluster, LocalCluster
from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.descriptions import read
from tfdistribute.files import absolute_path
from tfdistribute.launch.detached import client
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.host.logs import LEVELS
from tfdistribute.launch.job import Job
from tfdistribute.launch.job_handle import job_state, stop_job
from tfdistribute.launch.start import CODES, supervise

_TICK_S = 0.2
# Clusters that are not on this machine, by the argument that chooses them.
_CHOSEN: dict[str, type[Cluster]] = {
    "--hosts": SshCluster,
    "--slurm": SlurmCluster,
    "--ray": RayCluster,
}
_MEMBERS = (LocalCluster, *_CHOSEN.values())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    parser.epilog = "Arguments after -- are passed to the script."
    add("script", type=Path, help="an R script (.R), or a Python script (.py) for this Python")
    add_cluster_arguments(parser, _MEMBERS)
    add("--slurm", action="store_true", help="submit the script as a job of Slurm")
    add(
        "--no-wait",
        action="store_true",
        help="return when the job is submitted, with --slurm or --ray",
    )
    add("--model-dir", help="the script's model_dir: logs go there, and no other job may use it")
    add("--level", choices=LEVELS, default="info", help="minimum level of the lines shown")


def run(arguments: argparse.Namespace) -> int:
    mistake = script_mistake(arguments.script) or _mistake(arguments)
    if mistake is not None:
        print(f"launch: {mistake}", file=sys.stderr)
        return 2
    cluster = _cluster(arguments)
    model_dir = None if arguments.model_dir is None else absolute_path(arguments.model_dir)
    if model_dir is not None:
        storage.of(model_dir)
    if client.takes(cluster):
        return _submit(arguments, cluster, model_dir)
    directory = private_directory.new_directory()
    with _removed_on_error(directory):
        job = _job(arguments, cluster, model_dir, directory)
        state = supervise(job, None if arguments.json else JobConsole(arguments.level))
    return _report(state, arguments.json)


def script_mistake(script: Path) -> str | None:
    if not script.is_file():
        return f"the script {str(script)!r} does not exist"
    if script.suffix not in (".py", ".R", ".r"):
        return f"{str(script)!r} is neither an R script (.R) nor a Python script (.py)"
    return None


def _chosen(arguments: argparse.Namespace) -> list[str]:
    given = {"--hosts": arguments.hosts, "--slurm": arguments.slurm, "--ray": arguments.address}
    return [argument for argument, value in given.items() if value]


def _mistake(arguments: argparse.Namespace) -> str | None:
    chosen, given = _chosen(arguments), given_fields(arguments, _MEMBERS)
    if not chosen and arguments.script.suffix != ".py" and shutil.which("Rscript") is None:
        return "Rscript is not on the PATH"
    if len(chosen) > 1:
        return f"{' and '.join(chosen)} exclude each other"
    if not (arguments.workers or arguments.hosts or arguments.nodes):
        return "--workers, --hosts or --slurm --nodes is missing"
    member = _CHOSEN[chosen[0]] if chosen else LocalCluster
    foreign = foreign_field(given, member)
    if foreign is not None:
        needed = [each for each, of in _CHOSEN.items() if foreign in fields_for_users(of)]
        return f"{argument_of(foreign)} is " + (
            f"given without {_any_of(needed)}" if needed else "for processes on this machine"
        )
    if arguments.no_wait and member not in (SlurmCluster, RayCluster):
        return "--no-wait is given without --slurm or --ray"
    return None


def _any_of(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _cluster(arguments: argparse.Namespace) -> Cluster:
    given = given_fields(arguments, _MEMBERS)
    member = next((_CHOSEN[each] for each in _chosen(arguments)), LocalCluster)
    defaults: dict[str, Any] = {"kind": member.kind}
    if member is SshCluster:
        defaults |= {"workers": len(given["hosts"]), "python": "python3"}
    elif member is SlurmCluster:
        numbers = [given[each] for each in ("workers", "nodes") if each in given]
        defaults |= {"workers": numbers[-1], "nodes": numbers[0], "python": sys.executable}
    elif member is RayCluster:
        defaults |= {"detached": arguments.no_wait, "python": sys.executable}
    return read(Cluster, defaults | given)


def _submit(arguments: argparse.Namespace, cluster: Cluster, model_dir: str | None) -> int:
    directory = client.new_directory(cluster, model_dir, os.getcwd())
    with _removed_on_error(directory):
        handle = client.submit_job(_job(arguments, cluster, model_dir, directory))
    if arguments.json and arguments.no_wait:
        print(job_text.as_json(handle))
    elif not arguments.json:
        known = handle["slurm_id"] or handle["model_dir"] or handle["id"]
        print(f"{client.title_of(handle)} was submitted; `logs` and `stop` know it as {known}")
    if arguments.no_wait:
        return 0
    return _report(_follow(handle, arguments), arguments.json)


def _follow(handle: Mapping[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    console = JobConsole(arguments.level)
    try:
        while (state := job_state(handle))["ended"] is None:
            if not arguments.json:
                console(state)
            time.sleep(_TICK_S)
    except KeyboardInterrupt:
        state = stop_job(handle)
    if not arguments.json:
        console(state)
    return state


def _job(
    arguments: argparse.Namespace, cluster: Cluster, model_dir: str | None, directory: str
) -> Job:
    return Job(
        id=private_directory.job_id(directory),
        cluster=cluster,
        verb="script",
        command=tuple(_command(arguments, cluster, directory)),
        directory=directory,
        working_directory=os.getcwd(),
        model_dir=model_dir,
        environment=_environment(cluster),
    )


def _command(arguments: argparse.Namespace, cluster: Cluster, directory: str) -> list[str]:
    script, is_r = arguments.script, arguments.script.suffix != ".py"
    if isinstance(cluster, HostsCluster):
        sent = os.path.join(directory, "script", script.name)
        os.mkdir(os.path.dirname(sent), 0o700)
        shutil.copyfile(script, sent)
        program = cluster.rscript if is_r else str(cluster.python)
        return [program, sent, *arguments.for_script]
    program = str(shutil.which("Rscript")) if is_r else sys.executable
    return [program, os.path.abspath(script), *arguments.for_script]


def _environment(cluster: Cluster) -> dict[str, str]:
    given = cluster.environment if isinstance(cluster, HostsCluster) else {}
    if isinstance(cluster, SshCluster):
        return given
    known = os.environ.get("PYTHONPATH", "") if isinstance(cluster, LocalCluster) else ""
    paths = [str(Path(__file__).parents[2]), *filter(None, known.split(os.pathsep))]
    return {"PYTHONPATH": os.pathsep.join(paths), **given}


@contextlib.contextmanager
def _removed_on_error(directory: str) -> Generator[None]:
    try:
        yield
    except BaseException:
        private_directory.remove(directory)
        raise


def _report(state: dict[str, Any], as_json: bool) -> int:
    if as_json:
        print(job_text.as_json(state))
    else:
        progress = job_text.progress(state)
        if progress:
            print(progress)
        if state["failure"] is not None:
            print("\n".join(job_text.failure(state)), file=sys.stderr)
    return CODES[state["state"]]
