"""Table of cluster mistakes, which TensorFlow would accept and then wait on for ever."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tfdistribute.cluster.addresses import ADDRESS, Address, no_port, same_addresses
from tfdistribute.cluster.facts import ClusterFacts, facts_of_tf_configs
from tfdistribute.cluster.spec import EVALUATOR, ROLES, TRAINING_ROLES
from tfdistribute.cluster.tf_config import TfConfig, parse_tf_config
from tfdistribute.errors import ClusterError
from tfdistribute.rules import Finding

# TensorFlow's largest clusters have hundreds of tasks.
MOST_TASKS = 10_000


@dataclass(frozen=True)
class ClusterRule:
    rule: str
    find: Callable[[ClusterFacts], Iterator[Finding]]
    # Others may look wrong only then, because names resolve slowly and this process holds the port.
    at_start: bool = True


def check(facts: ClusterFacts) -> list[Finding]:
    """Find all mistakes of a cluster, in the table's order. Starts nothing, and raises nothing."""
    return _findings(CLUSTER_CHECKS, facts)


def check_at_start(config: TfConfig) -> None:
    """Raise ClusterError if TensorFlow would wait for ever, train alone or abort as a task of this cluster."""
    facts = facts_of_tf_configs((config,))
    mistakes = _findings([rule for rule in CLUSTER_CHECKS if rule.at_start], facts)
    if mistakes:
        raise ClusterError(
            mistakes[0].message, mistakes[0].fix, argument="TF_CONFIG", value=mistakes[0].field
        )


def check_tf_configs(
    texts: Sequence[str],
    devices_per_worker: int = 1,
    global_batch_size: int | None = None,
    tf_config_is_late: bool = False,
) -> list[Finding]:
    """Find all mistakes of the clusters that TF_CONFIGs describe, and the texts that cannot be read."""
    configs: list[TfConfig] = []
    unreadable: list[Finding] = []
    for text in texts:
        try:
            configs.append(parse_tf_config(text) or TfConfig({}))
        except ClusterError as error:
            unreadable.append(Finding("TF_CONFIG", error.problem, str(error.remedy)))
    if not configs:
        return unreadable
    facts = facts_of_tf_configs(
        tuple(configs), devices_per_worker, global_batch_size, tf_config_is_late
    )
    return unreadable + check(facts)


def _findings(rules: Sequence[ClusterRule], facts: ClusterFacts) -> list[Finding]:
    # Each of the other rules would report, or look up, thousands of addresses.
    return list(_too_many_tasks(facts)) or [each for rule in rules for each in rule.find(facts)]


# Roles and tasks --------------------------------------------------------------------------------------------


def _is_empty(facts: ClusterFacts) -> Iterator[Finding]:
    if not any(facts.roles.values()):
        yield Finding(
            "cluster", "The cluster has no task that trains.", "Give it a chief, or workers."
        )


def _too_many_tasks(facts: ClusterFacts) -> Iterator[Finding]:
    tasks = facts.count(*facts.roles)
    if tasks > MOST_TASKS:
        yield Finding(
            "cluster",
            f"The cluster has {tasks} tasks, and this package supports {MOST_TASKS}.",
            "Give it fewer tasks.",
        )


def _unknown_roles(facts: ClusterFacts) -> Iterator[Finding]:
    known = f"Use only {', '.join(ROLES)}."
    for role in facts.roles:
        if role not in ROLES:
            yield Finding(role, f'"{role}" is not a role of a cluster.', known)
    if facts.task is not None and facts.task.type not in (*ROLES, *facts.roles):
        yield Finding("task", f'"{facts.task.type}" is not a role of a cluster.', known)


def _several_chiefs(facts: ClusterFacts) -> Iterator[Finding]:
    chiefs = facts.count("chief")
    if chiefs > 1:
        yield Finding(
            "chief",
            f"The cluster has {chiefs} chiefs, and each would write the same checkpoints.",
            "Keep one, and make the others workers.",
        )


def _chief_is_missing(facts: ClusterFacts) -> Iterator[Finding]:
    if facts.count("ps") and not facts.count("chief"):
        yield Finding(
            "chief",
            "A cluster with parameter servers needs a chief to create its variables, and has none.",
            "Make one of the workers the chief.",
        )


def _evaluator_inside(facts: ClusterFacts) -> Iterator[Finding]:
    if EVALUATOR in facts.roles:
        yield Finding(
            EVALUATOR,
            "The evaluator is listed in the `cluster` of TF_CONFIG, whose tasks wait for each other.",
            'Leave it out of the `cluster`; its own TF_CONFIG has the task {"type": "evaluator", "index": 0}.',
        )


def _several_evaluators(facts: ClusterFacts) -> Iterator[Finding]:
    if len(facts.evaluator) > 1:
        yield Finding(
            EVALUATOR,
            f"There are {len(facts.evaluator)} evaluators, and TensorFlow supports one.",
            "Keep one.",
        )


def _index_out_of_range(facts: ClusterFacts) -> Iterator[Finding]:
    task = facts.task
    if task is None or task.type not in (*ROLES, *facts.roles):
        return
    # An evaluator need not be listed anywhere.
    size = 1 if task.type == EVALUATOR else facts.count(task.type)
    if not 0 <= task.index < size:
        tasks = f"{size} task{'' if size == 1 else 's'}"
        yield Finding(
            "task",
            f"This process is {task}, but the cluster has {tasks} of this role.",
            f"Use an index from 0 to {size - 1}." if size else "Use a role that the cluster has.",
        )


def _clusters_differ(facts: ClusterFacts) -> Iterator[Finding]:
    for position, other in enumerate(facts.others, start=2):
        if other.cluster != dict(facts.roles):
            name = f"TF_CONFIG {position}" if other.task_type is None else other.task
            yield Finding(
                name,
                f"The `cluster` of {name} differs from the `cluster` of the first TF_CONFIG: "
                f"{json.dumps(other.cluster)}.",
                "Give all tasks the same `cluster`; only `task` differs.",
            )


# Addresses ----------------------------------------------------------------------------------------------------


def _no_addresses(facts: ClusterFacts) -> Iterator[Finding]:
    # JSON can hold any text here, and addresses are put on command lines.
    for task, text in facts.texts.items():
        if task not in facts.addresses:
            yield Finding(str(task), f"{json.dumps(text)} is not an address.", str(ADDRESS.remedy))


def _no_ports(facts: ClusterFacts) -> Iterator[Finding]:
    for task, address in facts.addresses.items():
        if address.port is None:
            yield no_port(task, facts.texts[task])


def _same_addresses(facts: ClusterFacts) -> Iterator[Finding]:
    with_ports = {task: each.key for task, each in facts.addresses.items() if each.port is not None}
    yield from same_addresses(facts.texts, with_ports)


def _loopback_among_others(facts: ClusterFacts) -> Iterator[Finding]:
    everywhere = {**facts.addresses, **facts.evaluator_addresses}
    near = [task for task, address in everywhere.items() if address.is_loopback]
    far = [task for task, address in everywhere.items() if not address.is_loopback]
    if near and far:
        yield Finding(
            str(near[0]),
            f'"{everywhere[near[0]].host}" means another machine on every machine, and {far[0]} is on '
            f'"{everywhere[far[0]].host}".',
            "Write the name by which the other machines reach this one.",
        )


def _hosts_not_found(facts: ClusterFacts) -> Iterator[Finding]:
    reported: set[str] = set()
    for task, address in {**facts.addresses, **facts.evaluator_addresses}.items():
        if address.host not in facts.ip_addresses and address.host not in reported:
            reported.add(address.host)
            yield Finding(
                str(task),
                f'The host "{address.host}" cannot be found from this machine.',
                "Correct the name, or add it to /etc/hosts or the name service.",
                severity="warning",
            )


def _ports_taken(facts: ClusterFacts) -> Iterator[Finding]:
    reported: set[Address] = set()
    for task, address in facts.addresses.items():
        owner = None if address in reported else facts.listener_on(address)
        if owner is not None:
            reported.add(address)
            yield Finding(
                str(task),
                f'Port {address.port} of "{address.host}" is taken by {owner}.',
                "End that process, or choose another port.",
            )


# Devices, batch and start ------------------------------------------------------------------------------------------


def _too_few_devices(facts: ClusterFacts) -> Iterator[Finding]:
    here = [device.removeprefix("/device:") for device in facts.devices]
    if here and facts.devices_per_worker > len(here):
        yield Finding(
            "devices_per_worker",
            f"`devices_per_worker` is {facts.devices_per_worker}, but a process of this machine has {len(here)} "
            f"({', '.join(here)}).",
            "Use more workers with one device each.",
            severity="warning",
        )


def batch_does_not_divide(facts: ClusterFacts) -> Iterator[Finding]:
    batch, processes = facts.global_batch_size, facts.count("chief", "worker")
    fewest = facts.fewest_workers or processes
    # With parameter servers each worker takes whole batches.
    parts = facts.devices_per_worker * (1 if facts.count("ps") else processes)
    if batch is not None and fewest < processes:
        multiple = facts.devices_per_worker * math.lcm(*range(fewest, processes + 1))
        if batch % multiple:
            yield Finding(
                "batch_size",
                f"A batch of {batch} examples cannot be split evenly over every number of workers from {fewest} to "
                f"{processes}.",
                f"Use a multiple of {multiple}, or a smaller range.",
            )
    elif batch is not None and parts > 0 and batch % parts:
        lower = batch // parts * parts
        yield Finding(
            "batch_size",
            f"A batch of {batch} examples cannot be split evenly over {parts} replicas "
            f"({processes} processes with {facts.devices_per_worker} each).",
            f"Use {lower} or {lower + parts}." if lower else f"Use {parts}.",
        )


def _tf_config_is_late(facts: ClusterFacts) -> Iterator[Finding]:
    if facts.tf_config_is_late:
        yield Finding(
            "TF_CONFIG",
            "TF_CONFIG was set or changed after TensorFlow was started, and TensorFlow ignores it.",
            "Restart R (or Python), and set TF_CONFIG before the first verb.",
        )


CLUSTER_CHECKS: tuple[ClusterRule, ...] = (
    ClusterRule(f"There are at most {MOST_TASKS} tasks.", _too_many_tasks),
    ClusterRule("There is a task that trains.", _is_empty),
    ClusterRule(f"A role is one of {', '.join(TRAINING_ROLES)} and evaluator.", _unknown_roles),
    ClusterRule("There is at most one chief.", _several_chiefs),
    ClusterRule("A cluster with parameter servers has a chief.", _chief_is_missing),
    ClusterRule("The evaluator is not listed in the `cluster` of TF_CONFIG.", _evaluator_inside),
    ClusterRule("There is at most one evaluator.", _several_evaluators),
    ClusterRule("The task is in the cluster.", _index_out_of_range),
    ClusterRule("All tasks have the same cluster.", _clusters_differ),
    ClusterRule("An address is a host and a port, without shell characters.", _no_addresses),
    ClusterRule("Every address has a port.", _no_ports),
    ClusterRule("No two tasks have the same address.", _same_addresses),
    ClusterRule("The loopback is used by all tasks or by none.", _loopback_among_others),
    ClusterRule("Every host can be found.", _hosts_not_found, at_start=False),
    ClusterRule("The ports of this machine's tasks are free.", _ports_taken, at_start=False),
    ClusterRule("A process has as many devices as asked for.", _too_few_devices, at_start=False),
    ClusterRule(
        "The batch can be split evenly over the replicas.", batch_does_not_divide, at_start=False
    ),
    ClusterRule(
        "TF_CONFIG is set before TensorFlow is started.", _tf_config_is_late, at_start=False
    ),
)
