"""All mistakes of a cluster at once, as one table: what TensorFlow would accept and then wait for. Plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tfdistribute.cluster.addresses import Address
from tfdistribute.cluster.facts import ClusterFacts, facts_of_tf_configs
from tfdistribute.cluster.spec import EVALUATOR, ROLES, TRAINING_ROLES, Task
from tfdistribute.cluster.tf_config import TfConfig, parse_tf_config
from tfdistribute.errors import ClusterError

# Field, message and fix of one mistake.
Mistake = tuple[str, str, str]


@dataclass(frozen=True)
class Finding:
    """One mistake.

    Args:
        field: Where it is: a task, a role, "task", "TF_CONFIG" or "batch_size".
        severity: "error" for what cannot train, "warning" for what only looks so from this machine.
        message: What was found, with values.
        fix: The one thing to do.
    """

    field: str
    severity: str
    message: str
    fix: str


@dataclass(frozen=True)
class Check:
    """One row of the table.

    Args:
        rule: What must hold.
        mistakes: Walks through what does not.
        severity: As in ``Finding``.
    """

    rule: str
    mistakes: Callable[[ClusterFacts], Iterator[Mistake]]
    severity: str = "error"


def check(facts: ClusterFacts) -> list[Finding]:
    """Find all mistakes of a cluster. Starts nothing, and raises nothing.

    Args:
        facts: What is known of it.

    Returns:
        One finding per mistake, in the table's order; none when all is well.
    """
    return [Finding(f, row.severity, m, fix) for row in CHECKS for f, m, fix in row.mistakes(facts)]


def check_tf_configs(
    texts: Sequence[str],
    devices_per_worker: int = 1,
    global_batch_size: int | None = None,
    tf_config_is_late: bool = False,
) -> list[Finding]:
    """Find all mistakes of the clusters that TF_CONFIGs describe.

    Args:
        texts: JSON, of one task or of several.
        devices_per_worker: Devices of each process that trains.
        global_batch_size: Examples of one training step.
        tf_config_is_late: Whether TF_CONFIG was set after TensorFlow was started.

    Returns:
        As ``check``; also a finding for each text that cannot be read.
    """
    configs: list[TfConfig] = []
    unreadable: list[Finding] = []
    for text in texts:
        try:
            configs.append(parse_tf_config(text) or TfConfig({}))
        except ClusterError as error:
            unreadable.append(Finding("TF_CONFIG", "error", error.problem, str(error.remedy)))
    if not configs:
        return unreadable
    facts = facts_of_tf_configs(
        tuple(configs), devices_per_worker, global_batch_size, tf_config_is_late
    )
    return unreadable + check(facts)


# Who takes part ---------------------------------------------------------------------------------------------


def _is_empty(facts: ClusterFacts) -> Iterator[Mistake]:
    if not any(facts.roles.values()):
        yield (
            "cluster",
            "The cluster has no task that trains.",
            "Give it a chief, or workers.",
        )


def _unknown_roles(facts: ClusterFacts) -> Iterator[Mistake]:
    known = f"Use only {', '.join(ROLES)}."
    for role in facts.roles:
        if role not in ROLES:
            yield role, f'"{role}" is no role of a cluster.', known
    if facts.task is not None and facts.task.type not in (*ROLES, *facts.roles):
        yield "task", f'"{facts.task.type}" is no role of a cluster.', known


def _several_chiefs(facts: ClusterFacts) -> Iterator[Mistake]:
    chiefs = facts.count("chief")
    if chiefs > 1:
        yield (
            "chief",
            f"The cluster has {chiefs} chiefs, and each would write the same checkpoints.",
            "Keep one, and make the others workers.",
        )


def _chief_is_missing(facts: ClusterFacts) -> Iterator[Mistake]:
    if facts.count("ps") and not facts.count("chief"):
        yield (
            "chief",
            "A cluster with parameter servers has no chief, which would make its variables.",
            "Make one of the workers the chief.",
        )


def _evaluator_inside(facts: ClusterFacts) -> Iterator[Mistake]:
    if EVALUATOR in facts.roles:
        yield (
            EVALUATOR,
            "The evaluator stands in the `cluster` of TF_CONFIG, whose tasks wait for each other.",
            'Leave it out of the `cluster`; its own TF_CONFIG says {"type": "evaluator", "index": 0}.',
        )


def _several_evaluators(facts: ClusterFacts) -> Iterator[Mistake]:
    if len(facts.evaluator) > 1:
        yield (
            EVALUATOR,
            f"There are {len(facts.evaluator)} evaluators, and TensorFlow knows one.",
            "Keep one.",
        )


def _index_out_of_range(facts: ClusterFacts) -> Iterator[Mistake]:
    task = facts.task
    if task is None or task.type not in (*ROLES, *facts.roles):
        return
    # An evaluator need not be listed anywhere.
    size = 1 if task.type == EVALUATOR else facts.count(task.type)
    if not 0 <= task.index < size:
        there = f"{size} task{'' if size == 1 else 's'}"
        yield (
            "task",
            f"This process is {task}, but the cluster has {there} of this role.",
            f"Use an index from 0 to {size - 1}." if size else "Use a role that the cluster has.",
        )


def _clusters_differ(facts: ClusterFacts) -> Iterator[Mistake]:
    for position, other in enumerate(facts.others, start=2):
        if other.cluster != dict(facts.roles):
            name = f"TF_CONFIG {position}" if other.task_type is None else other.task
            yield (
                name,
                (
                    f"The `cluster` of {name} differs from that of the first TF_CONFIG: "
                    f"{json.dumps(other.cluster)}."
                ),
                "Give all tasks the same `cluster`; only `task` differs.",
            )


# Where its tasks are ------------------------------------------------------------------------------------------


def _no_addresses(facts: ClusterFacts) -> Iterator[Mistake]:
    # JSON can hold anything here, and an address reaches command lines.
    fix = 'Write "host:port" with letters, digits, dots and hyphens.'
    for task, text in facts.texts.items():
        if task not in facts.addresses:
            yield str(task), f"{json.dumps(text)} is no address.", fix


def _no_ports(facts: ClusterFacts) -> Iterator[Mistake]:
    for task, address in facts.addresses.items():
        if address.port is None:
            yield (
                str(task),
                f'The address "{facts.texts[task]}" has no port from 1 to 65535.',
                'Write "host:port", such as "host-a:2222".',
            )


def _same_addresses(facts: ClusterFacts) -> Iterator[Mistake]:
    first: dict[tuple[str, int | None], Task] = {}
    for task, address in facts.addresses.items():
        if address.port is None:
            continue
        other = first.setdefault(address.key, task)
        if other != task:
            yield (
                str(task),
                f'The address "{facts.texts[task]}" is also that of {other}.',
                "Give each task an address of its own.",
            )


def _loopback_among_others(facts: ClusterFacts) -> Iterator[Mistake]:
    everywhere = {**facts.addresses, **facts.evaluator_addresses}
    near = [task for task, address in everywhere.items() if address.is_loopback]
    far = [task for task, address in everywhere.items() if not address.is_loopback]
    if near and far:
        yield (
            str(near[0]),
            (
                f'"{everywhere[near[0]].host}" means another machine on every machine, and {far[0]} is on '
                f'"{everywhere[far[0]].host}".'
            ),
            "Write the name by which the other machines reach this one.",
        )


def _hosts_not_found(facts: ClusterFacts) -> Iterator[Mistake]:
    told: set[str] = set()
    for task, address in {**facts.addresses, **facts.evaluator_addresses}.items():
        if address.host not in facts.ip_addresses and address.host not in told:
            told.add(address.host)
            yield (
                str(task),
                f'The host "{address.host}" has no address that this machine finds.',
                "Correct the name, or add it to /etc/hosts or the name service.",
            )


def _ports_taken(facts: ClusterFacts) -> Iterator[Mistake]:
    told: set[Address] = set()
    for task, address in facts.addresses.items():
        owner = None if address in told else facts.listener_on(address)
        if owner is not None:
            told.add(address)
            yield (
                str(task),
                f'Port {address.port} of "{address.host}" is taken by {owner}.',
                "End that process, or choose another port.",
            )


# How they work together -----------------------------------------------------------------------------------------


def _batch_does_not_divide(facts: ClusterFacts) -> Iterator[Mistake]:
    batch, processes = facts.global_batch_size, facts.count("chief", "worker")
    # Under parameter servers each worker takes whole batches.
    parts = facts.devices_per_worker * (1 if facts.count("ps") else processes)
    if batch is not None and parts > 0 and batch % parts:
        lower = batch // parts * parts
        yield (
            "batch_size",
            (
                f"A batch of {batch} examples cannot be split evenly over {parts} replicas "
                f"({processes} processes with {facts.devices_per_worker} each)."
            ),
            f"Use {lower} or {lower + parts}." if lower else f"Use {parts}.",
        )


def _tf_config_is_late(facts: ClusterFacts) -> Iterator[Mistake]:
    if facts.tf_config_is_late:
        yield (
            "TF_CONFIG",
            "TF_CONFIG was set or changed after TensorFlow was started, which is then no task any more.",
            "Restart R (or Python), and set TF_CONFIG before the first verb.",
        )


CHECKS: tuple[Check, ...] = (
    Check("There is a task that trains.", _is_empty),
    Check(f"A role is one of {', '.join(TRAINING_ROLES)} and evaluator.", _unknown_roles),
    Check("There is one chief at most.", _several_chiefs),
    Check("A cluster with parameter servers has a chief.", _chief_is_missing),
    Check("The evaluator stands outside the `cluster` of TF_CONFIG.", _evaluator_inside),
    Check("There is one evaluator at most.", _several_evaluators),
    Check("The task is one of the cluster.", _index_out_of_range),
    Check("All tasks are told of the same cluster.", _clusters_differ),
    Check("An address is a host and a port, and nothing that a shell would read.", _no_addresses),
    Check("Every address has a port.", _no_ports),
    Check("No two tasks have the same address.", _same_addresses),
    Check("The loopback is used by all tasks or by none.", _loopback_among_others),
    Check("Every host can be found.", _hosts_not_found, severity="warning"),
    Check("The ports of this machine's tasks are free.", _ports_taken),
    Check("The batch can be split evenly over the replicas.", _batch_does_not_divide),
    Check("TF_CONFIG is set before TensorFlow is started.", _tf_config_is_late),
)
