"""Command that submits a script to a managed platform."""

import argparse
import os
import shutil
import sys
from pathlib import Path

from tfdistribute.cli import job_text
from tfdistribute.cli.cluster_arguments import (
    add_cluster_arguments,
    argument_of,
    foreign_field,
    given_fields,
)
from tfdistribute.cli.launch import script_mistake
from tfdistribute.cluster.managed import KubernetesCluster, ManagedCluster, VertexCluster
from tfdistribute.descriptions import read
from tfdistribute.launch.host import logs, private_directory
from tfdistribute.launch.job_handle import save_handle
from tfdistribute.launch.platforms import managed_job

_MEMBERS = (KubernetesCluster, VertexCluster)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    parser.epilog = (
        "With --project and --location the script runs on Vertex AI, else on Kubernetes. It reads the cluster from "
        "TF_CONFIG, as cluster_from_environment() does. Arguments after -- are passed to it."
    )
    add("script", type=Path, help="an R script (.R) or a Python script (.py)")
    add_cluster_arguments(parser, _MEMBERS)
    add("--model-dir", help="the script's model_dir, which must outlive the containers")
    add("--dry-run", action="store_true", help="print what would be sent")


def run(arguments: argparse.Namespace) -> int:
    mistake = script_mistake(arguments.script) or _mistake(arguments)
    if mistake is not None:
        print(f"submit: {mistake}", file=sys.stderr)
        return 2
    directory = private_directory.new_directory(runs_elsewhere=True)
    try:
        shutil.copyfile(arguments.script, os.path.join(directory, arguments.script.name))
        program = "python" if arguments.script.suffix == ".py" else "Rscript"
        job = managed_job.describe_job(
            _cluster(arguments),
            private_directory.job_id(directory),
            verb="script",
            command=[program, arguments.script.name, *arguments.for_script],
            directory=directory,
            working_directory=os.getcwd(),
            model_dir=arguments.model_dir,
        )
        if arguments.dry_run:
            print(managed_job.describe(job)[0], end="")
            return 0
        handle = managed_job.submit(job)
    finally:
        private_directory.remove(directory)
    (home, *_) = logs.log_directories(job.id, None, os.getcwd())
    save_handle(handle, home)
    name = os.path.relpath(home)
    text = f"job {job.id} was submitted; `logs`, `stop` and `list` know it as {name}"
    print(job_text.as_json(handle) if arguments.json else text)
    return 0


def _member(arguments: argparse.Namespace) -> type[ManagedCluster]:
    is_vertex = arguments.project is not None or arguments.location is not None
    return VertexCluster if is_vertex else KubernetesCluster


def _mistake(arguments: argparse.Namespace) -> str | None:
    member = _member(arguments)
    foreign = foreign_field(given_fields(arguments, _MEMBERS), member)
    return None if foreign is None else f"{argument_of(foreign)} is not for {member.platform}"


def _cluster(arguments: argparse.Namespace) -> ManagedCluster:
    kind = _member(arguments).kind
    return read(ManagedCluster, {"kind": kind, **given_fields(arguments, _MEMBERS)})
