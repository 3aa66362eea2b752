"""Command that shows what each task of a cluster would do."""

import argparse
import dataclasses
import json
import os

from tfdistribute.cli import add_work_arguments, count
from tfdistribute.cluster.spec import Cluster, LocalCluster
from tfdistribute.cluster.tf_config import read_tf_config
from tfdistribute.descriptions import read
from tfdistribute.plan import TaskPlan, Workload, plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=count, help="processes of a cluster on this machine")
    parser.add_argument("--ps", type=int, default=0, help="its parameter servers")
    parser.add_argument("--model-dir", default="model_dir", help="directory of the checkpoints")
    add_work_arguments(parser)
    parser.add_argument("--script", default="train.R", help="the script that every task runs")


def run(arguments: argparse.Namespace) -> int:
    workload = Workload(
        model_dir=arguments.model_dir,
        global_batch_size=arguments.batch_size,
        devices_per_worker=arguments.devices_per_worker,
        script=arguments.script,
    )
    rows = plan(_cluster(arguments), workload)
    if arguments.json:
        print(json.dumps([dataclasses.asdict(row) for row in rows], indent=2))
    else:
        for row in rows:
            print(_text(row))
    return 0


def _cluster(arguments: argparse.Namespace) -> Cluster | None:
    if arguments.workers is not None:
        return LocalCluster(
            arguments.workers, arguments.ps, devices_per_worker=arguments.devices_per_worker
        )
    config = read_tf_config(os.environ)
    return None if config is None else read(Cluster, {**config.cluster, "kind": "addresses"})


def _text(row: TaskPlan) -> str:
    place = row.host if row.port is None else f"{row.host}:{row.port}"
    lines = [f"{row.task} on {place}: {row.role}", f"  reads    {row.reads}"]
    if row.replica_batch_size is not None:
        each = "replica" if row.logical_devices else "device"
        lines.append(
            f"  batch    {row.replica_batch_size} of {row.global_batch_size} on each {each}"
        )
    lines += [
        f"  device {number} {names}" for number, names in enumerate(row.logical_devices, start=1)
    ]
    lines += [f"  writes   {row.writes}", f"  command  {row.command}"]
    if row.environment is not None:
        lines.append(f"  TF_CONFIG {row.environment}")
    return "\n".join(lines)
