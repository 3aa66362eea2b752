"""Arguments that describe the cluster of a job: processes here, on hosts, on nodes of Slurm, or in actors of Ray."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

from tfdistribute.cli import count
from tfdistribute.cluster.engines.ray import PLACEMENTS, RayCluster
from tfdistribute.cluster.slurm import SlurmCluster
from tfdistribute.cluster.spec import NETWORKS, Cluster, LocalCluster
from tfdistribute.cluster.ssh import SshCluster

# Arguments that only some clusters have, by the argument that they need.
_OF_SLURM = ("nodes", "time_limit", "partition", "account", "option", "setup", "stop_signal")
_ONLY_WITH = {
    "--slurm": (*_OF_SLURM, "no_requeue"),
    "--slurm or --ray": ("no_wait",),
    "--hosts": ("ssh",),
    "--ray": ("cpus_per_worker", "gpus_per_worker", "placement"),
    "--hosts, --slurm or --ray": ("rscript", "python", "environment", "lease"),
}


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    defaults = LocalCluster(workers=1)
    add = parser.add_argument
    add(
        "--workers",
        type=_workers,
        help="processes that train, the chief included; 2-4 for the fewest and the most",
    )
    add("--ps", type=int, default=defaults.ps, help="parameter servers")
    add("--no-evaluator", action="store_true", help="start no process that evaluates")
    seconds = {
        "start": "in which every task that trains must make its first step",
        "stall": "without a step of any task after which the job counts as stalled",
    }
    for name, meaning in seconds.items():
        default = getattr(defaults, f"{name}_timeout_s")
        add(f"--{name}-timeout", type=float, default=default, help=f"seconds {meaning}")
    add(
        "--no-wait",
        action="store_true",
        help="return when the job is submitted, with --slurm or --ray",
    )
    add(
        "--restarts",
        type=int,
        default=defaults.restarts,
        help="how often lost tasks are restarted",
    )
    add("--network", choices=NETWORKS, help="where the tasks listen on this machine")
    _add_of_hosts(parser.add_argument_group("hosts that ssh reaches"))
    _add_of_slurm(parser.add_argument_group("nodes of Slurm"))
    _add_of_ray(parser.add_argument_group("actors of Ray"))


def _workers(text: str) -> int | tuple[int, int]:
    fewest, _, most = text.partition("-")
    return (count(fewest), count(most)) if fewest and most else count(text)


def _add_of_hosts(group: Any) -> None:
    add = group.add_argument
    add("--hosts", help="their names, separated by commas; by default one worker each")
    add("--ssh", type=shlex.split, help="the ssh program and its arguments")
    add("--rscript", help="Rscript on the hosts or nodes")
    add("--python", help="Python there; on nodes by default this one")
    add("--environment", action="append", metavar="NAME=VALUE", help="for all tasks there")
    add("--lease", type=float, help="seconds after which one that is out of reach is lost")


def _add_of_slurm(group: Any) -> None:
    add = group.add_argument
    add("--slurm", action="store_true", help="submit the script as a job of Slurm")
    add("--nodes", type=count, help="by default one for each worker")
    add("--time-limit", help='such as "04:00:00"; by default the limit of the partition')
    add("--partition")
    add("--account")
    add(
        "--option",
        action="append",
        help='another option of sbatch, such as "--option=--cpus-per-task=8"',
    )
    add("--setup", action="append", metavar="LINE", help='line of shell, such as "module load R"')
    add("--stop-signal", type=count, help="seconds before the time limit at which it is saved")
    add("--no-requeue", action="store_true", help="do not queue again when the time is up")


def _add_of_ray(group: Any) -> None:
    add = group.add_argument
    add("--ray", metavar="ADDRESS", help='"auto", "host:port" or "ray://host:port"')
    add("--cpus-per-worker", type=count)
    add("--gpus-per-worker", type=count)
    add("--placement", choices=PLACEMENTS)


def cluster_mistake(arguments: argparse.Namespace) -> str | None:
    elsewhere = {
        "--hosts": arguments.hosts is not None,
        "--slurm": arguments.slurm,
        "--ray": arguments.ray is not None,
    }
    if sum(elsewhere.values()) > 1:
        return " and ".join(each for each in elsewhere if elsewhere[each]) + " exclude each other"
    if not arguments.workers and not arguments.hosts and not (arguments.slurm and arguments.nodes):
        return "--workers, --hosts or --slurm --nodes is missing"
    is_given = {
        **elsewhere,
        "--slurm or --ray": elsewhere["--slurm"] or elsewhere["--ray"],
        "--hosts, --slurm or --ray": any(elsewhere.values()),
    }
    for needed, names in _ONLY_WITH.items():
        given = next((name for name in names if getattr(arguments, name)), None)
        if given is not None and not is_given[needed]:
            return f"--{given.replace('_', '-')} is given without {needed}"
    if arguments.network is not None and any(elsewhere.values()):
        return "--network is for processes on this machine"
    wrong = next((each for each in arguments.environment or () if "=" not in each), None)
    return None if wrong is None else f"--environment {wrong!r} is not NAME=VALUE"


def cluster_of(arguments: argparse.Namespace) -> Cluster:
    fields: dict[str, Any] = {
        "ps": arguments.ps,
        "evaluator": not arguments.no_evaluator,
        "start_timeout_s": arguments.start_timeout,
        "stall_timeout_s": arguments.stall_timeout,
        "restarts": arguments.restarts,
    }
    if arguments.slurm:
        return _slurm_cluster(arguments, fields)
    if arguments.hosts is not None:
        return _ssh_cluster(arguments, fields)
    if arguments.ray is not None:
        return _ray_cluster(arguments, fields)
    network = arguments.network or LocalCluster(workers=1).network
    return LocalCluster(arguments.workers, network=network, **fields)


def _ssh_cluster(arguments: argparse.Namespace, fields: dict[str, Any]) -> SshCluster:
    hosts = tuple(arguments.hosts.split(","))
    return SshCluster(
        hosts=hosts,
        workers=arguments.workers or len(hosts),
        python=arguments.python or "python3",
        **_without_empty(ssh=arguments.ssh and tuple(arguments.ssh)),
        **_of_hosts(arguments),
        **fields,
    )


def _slurm_cluster(arguments: argparse.Namespace, fields: dict[str, Any]) -> SlurmCluster:
    workers = arguments.workers or arguments.nodes
    return SlurmCluster(
        nodes=arguments.nodes or workers,
        workers=workers,
        time_limit=arguments.time_limit,
        partition=arguments.partition,
        account=arguments.account,
        options=tuple(arguments.option or ()),
        setup=tuple(arguments.setup or ()),
        requeue=not arguments.no_requeue,
        python=arguments.python or sys.executable,
        **_without_empty(stop_signal_s=arguments.stop_signal),
        **_of_hosts(arguments),
        **fields,
    )


def _ray_cluster(arguments: argparse.Namespace, fields: dict[str, Any]) -> RayCluster:
    given = {name: getattr(arguments, name) for name in _ONLY_WITH["--ray"]}
    return RayCluster(
        address=arguments.ray,
        detached=arguments.no_wait,
        workers=arguments.workers,
        python=arguments.python or sys.executable,
        **_without_empty(**given),
        **_of_hosts(arguments),
        **fields,
    )


def _of_hosts(arguments: argparse.Namespace) -> dict[str, Any]:
    environment = dict(each.split("=", 1) for each in arguments.environment or ())
    return _without_empty(
        rscript=arguments.rscript, lease_s=arguments.lease, environment=environment
    )


def _without_empty(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
