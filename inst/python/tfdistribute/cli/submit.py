"""Command that submits a script to a managed platform."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from tfdistribute.cli import count, job_text
from tfdistribute.cli.launch import script_mistake
from tfdistribute.cluster.managed import (
    JOB_KINDS,
    KubernetesCluster,
    ManagedCluster,
    VertexCluster,
)
from tfdistribute.launch.host import logs, private_directory
from tfdistribute.launch.job_handle import save_handle
from tfdistribute.launch.platforms import managed_job

_VERTEX = ("project", "location")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    parser.epilog = (
        "With --project and --location the script runs on Vertex AI, else on Kubernetes. It reads the cluster from "
        "TF_CONFIG, as cluster_from_environment() does. Arguments after -- are passed to it."
    )
    add("script", type=Path, help="an R script (.R) or a Python script (.py)")
    add("--image", required=True, help="image with R, TensorFlow and this package")
    add("--workers", type=count, required=True, help="containers that train, the chief included")
    add("--ps", type=int, default=0, help="parameter servers")
    add("--no-evaluator", action="store_true", help="start no container that evaluates")
    add("--name", default="tfdistribute", help="beginning of the job's name")
    add("--model-dir", help="the script's model_dir, which must outlive the containers")
    add("--staging", help="remote directory for the script; a Kubernetes secret by default")
    add("--environment", action="append", default=[], metavar="NAME=VALUE")
    add("--time-limit", type=float, help="seconds after which the platform ends the job")
    add("--job-kind", choices=JOB_KINDS, default=JOB_KINDS[0], help="kind of the Kubernetes job")
    add("--queue", help="local queue of Kueue, on Kubernetes")
    add("--namespace", default="default", help="namespace of Kubernetes")
    add("--gpus", type=int, default=0, help="GPUs of each container, on Kubernetes")
    add("--volume", action="append", default=[], metavar="PATH=CLAIM", help="on Kubernetes")
    add("--kubectl", type=shlex.split, default=["kubectl"], help="kubectl and its arguments")
    add("--project", help="project of Google Cloud")
    add("--location", help="region of Vertex AI")
    add("--machine-type", default="n1-standard-8", help="machine of each container, on Vertex AI")
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


def _mistake(arguments: argparse.Namespace) -> str | None:
    given = [name for name in _VERTEX if getattr(arguments, name) is not None]
    if len(given) == 1:
        return (
            f"--{given[0]} is given without --{next(each for each in _VERTEX if each not in given)}"
        )
    for option in ("environment", "volume"):
        for each in getattr(arguments, option):
            if "=" not in each:
                return f"--{option} {each!r} has no ="
    return None


def _cluster(arguments: argparse.Namespace) -> ManagedCluster:
    common: dict[str, Any] = {
        "image": arguments.image,
        "workers": arguments.workers,
        "ps": arguments.ps,
        "evaluator": not arguments.no_evaluator,
        "name": arguments.name,
        "staging": arguments.staging,
        "environment": _pairs(arguments.environment),
        "time_limit_s": arguments.time_limit,
    }
    if arguments.project is not None:
        return VertexCluster(
            project=arguments.project,
            location=arguments.location,
            machine_type=arguments.machine_type,
            **common,
        )
    return KubernetesCluster(
        job_kind=arguments.job_kind,
        queue=arguments.queue,
        namespace=arguments.namespace,
        gpus=arguments.gpus,
        volumes=_pairs(arguments.volume),
        kubectl=tuple(arguments.kubectl),
        **common,
    )


def _pairs(texts: list[str]) -> dict[str, str]:
    return dict(text.split("=", 1) for text in texts)
