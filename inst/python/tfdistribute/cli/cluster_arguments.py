"""Arguments for the fields of clusters, which follow from their descriptions.

argparse also accepts the beginnings of names, such as ``--start-timeout``.
"""

import argparse
import shlex
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from tfdistribute.cli import count
from tfdistribute.cluster.spec import Cluster
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.descriptions.fields import Field, fields_of

Members = Sequence[type[Cluster]]

_GROUPS = {
    "kubernetes": "Kubernetes",
    "local": "this machine",
    "ray": "actors of Ray",
    "slurm": "nodes of Slurm",
    "ssh": "hosts that ssh reaches",
    "vertex": "Vertex AI",
}
# Better help than the words for a field's values.
_HELP = {
    "--account": "account in Slurm",
    "--ray": '"auto", "host:port" or "ray://host:port"',
    "--environment": "variable for all tasks",
    "--evaluator": "start a task that evaluates",
    "--gpus": "GPUs of each container",
    "--hosts": "their names, separated by commas; by default one worker each",
    "--image": "image with R, TensorFlow and this package",
    "--job-kind": "kind of the Kubernetes job",
    "--lease-s": "seconds after which a host that is out of reach is lost",
    "--location": "region of Vertex AI",
    "--machine-type": "machine of each container",
    "--name": "beginning of the job's name",
    "--namespace": "namespace of Kubernetes",
    "--network": "where the tasks listen",
    "--nodes": "by default one for each worker",
    "--options": 'another option of sbatch, such as "--option=--cpus-per-task=8"',
    "--project": "project of Google Cloud",
    "--ps": "parameter servers",
    "--python": "Python on the hosts; on nodes by default this one",
    "--queue": "local queue of Kueue",
    "--requeue": "queue again when the time is up",
    "--restarts": "how often lost tasks are restarted",
    "--rscript": "Rscript on the hosts",
    "--setup": 'line of shell, such as "module load R"',
    "--ssh": "the ssh program and its arguments",
    "--staging": "remote directory for the script; a Kubernetes secret by default",
    "--stall-timeout-s": "seconds without a step of any task after which the job counts as stalled",
    "--start-timeout-s": "seconds in which every task that trains must make its first step",
    "--stop-signal-s": "seconds before the time limit at which the training is saved",
    "--time-limit": 'such as "04:00:00"; by default the limit of the partition',
    "--time-limit-s": "seconds after which the platform ends the job",
    "--workers": "processes that train, the chief included; 2-4 for the fewest and the most",
}


# Names of arguments that are not the names of their fields.
_NAMES = {"address": "ray"}


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text!r} has no =")
    return name, value


def _workers(text: str) -> int | tuple[int, int]:
    fewest, _, most = text.partition("-")
    return (count(fewest), count(most)) if fewest and most else count(text)


# How text is divided into strings; the other arguments are repeated.
_SPLIT: dict[str, Callable[[str], list[str]]] = {
    "hosts": lambda text: text.split(","),
    "kubectl": shlex.split,
    "ssh": shlex.split,
}
_READERS = {"integer": int, "number": float, "string": str}


def add_cluster_arguments(parser: argparse.ArgumentParser, members: Members) -> None:
    having: dict[str, list[type[Cluster]]] = defaultdict(list)
    for member in members:
        for name in fields_for_users(member):
            having[name].append(member)
    groups: dict[str, Any] = {}
    for name, those in having.items():
        kind, field = those[0].kind, fields_of(those[0])[name]
        if len(those) == len(members):
            group = parser
        else:
            group = groups.get(kind) or parser.add_argument_group(_GROUPS[kind])
            groups[kind] = group
        shown = _HELP.get(argument_of(name), field.in_words.removesuffix(" or NULL"))
        group.add_argument(argument_of(name), dest=name, help=shown, **_reading(field))


def fields_for_users(member: type[Cluster]) -> dict[str, Field]:
    fields = fields_of(member)
    return {name: field for name, field in fields.items() if Fact.INTERNAL not in field.facts}


def argument_of(name: str) -> str:
    return f"--{_NAMES.get(name, name).replace('_', '-')}"


def _option(field: Field) -> dict[str, Any]:
    return next(each for each in field.options if each.get("type") != "null")


def _kind_of(field: Field) -> str | None:
    return _option(field).get("type")


def _reading(field: Field) -> dict[str, Any]:
    option, kind = _option(field), _kind_of(field)
    if kind is None:
        return {"choices": option["enum"]}
    if field.name == "workers":
        return {"type": _workers}
    if kind == "boolean":
        return {"action": argparse.BooleanOptionalAction}
    if kind == "object":
        return {"action": "append", "type": _pair, "metavar": "NAME=VALUE"}
    if kind == "array":
        return {"action": "extend", "type": _SPLIT.get(field.name, lambda text: [text])}
    is_count = kind == "integer" and option.get("minimum", 0) > 0
    return {"type": count if is_count else _READERS[kind]}


def given_fields(arguments: argparse.Namespace, members: Members) -> dict[str, Any]:
    fields = {name: field for member in members for name, field in fields_for_users(member).items()}
    given = {name: getattr(arguments, name) for name in fields}
    return {
        name: dict(value) if _kind_of(fields[name]) == "object" else value
        for name, value in given.items()
        if value is not None
    }


def foreign_field(given: dict[str, Any], member: type[Cluster]) -> str | None:
    """Return the first field that a cluster does not have."""
    return next((name for name in given if name not in fields_for_users(member)), None)
