"""Facts about a cluster, and about this machine, that the cluster checks read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tfdistribute.cluster.addresses import (
    Address,
    is_this_machine,
    parse_address,
    resolve_hosts,
)
from tfdistribute.cluster.ports import Listener, listener
from tfdistribute.cluster.spec import EVALUATOR, Cluster, ClusterSpec, Task
from tfdistribute.cluster.tf_config import TfConfig


@dataclass(frozen=True)
class ClusterFacts:
    # As in the ``cluster`` of TF_CONFIG; a role may be any text.
    roles: Mapping[str, tuple[str, ...]]
    evaluator: tuple[str, ...] = ()  # Hosts, which ``cluster`` does not list.
    task: Task | None = None
    has_addresses: bool = True  # Those of a local cluster are chosen at its start.
    devices_per_worker: int = 1
    # That a process of this machine can have, by their full names; empty if not known.
    devices: tuple[str, ...] = ()
    global_batch_size: int | None = None
    fewest_workers: int | None = None  # With which a training goes on; None if the number is fixed.
    # Further TF_CONFIGs, which should have the same cluster.
    others: tuple[TfConfig, ...] = field(default=())
    tf_config_is_late: bool = False  # Set after TensorFlow was started.

    @cached_property
    def texts(self) -> dict[Task, str]:
        if not self.has_addresses:
            return {}
        return {
            Task(role, index): text
            for role, texts in self.roles.items()
            for index, text in enumerate(texts)
        }

    @cached_property
    def addresses(self) -> dict[Task, Address]:
        parsed = {task: parse_address(text) for task, text in self.texts.items()}
        return {task: address for task, address in parsed.items() if address is not None}

    @cached_property
    def evaluator_addresses(self) -> dict[Task, Address]:
        texts = self.evaluator if self.has_addresses else ()
        parsed = {Task(EVALUATOR, index): parse_address(text) for index, text in enumerate(texts)}
        return {task: address for task, address in parsed.items() if address is not None}

    @cached_property
    def ip_addresses(self) -> dict[str, set[str]]:
        return resolve_hosts([*self.addresses.values(), *self.evaluator_addresses.values()])

    def listener_on(self, address: Address) -> Listener | None:
        if address.port is None or not is_this_machine(self.ip_addresses.get(address.host, ())):
            return None
        return listener(address.port)

    def count(self, *roles: str) -> int:
        return sum(len(self.roles.get(role, ())) for role in roles)


def facts_of_cluster(
    cluster: Cluster,
    devices_per_worker: int = 1,
    global_batch_size: int | None = None,
    devices: tuple[str, ...] = (),
) -> ClusterFacts:
    """Collect the facts of a cluster, whose own ``devices_per_worker`` replaces the argument."""
    roles = dict(cluster.addresses)
    evaluator = roles.pop(EVALUATOR, ())
    return ClusterFacts(
        roles=roles,
        evaluator=evaluator,
        task=cluster.task if isinstance(cluster, ClusterSpec) else None,
        has_addresses=isinstance(cluster, ClusterSpec),
        devices_per_worker=getattr(cluster, "devices_per_worker", devices_per_worker),
        devices=devices,
        global_batch_size=global_batch_size,
        fewest_workers=getattr(cluster, "fewest_workers", None),
    )


def facts_of_tf_configs(
    configs: tuple[TfConfig, ...],
    devices_per_worker: int = 1,
    global_batch_size: int | None = None,
    tf_config_is_late: bool = False,
) -> ClusterFacts:
    first = configs[0]
    return ClusterFacts(
        roles=first.cluster,
        task=None if first.task_type is None else Task(first.task_type, first.task_index),
        devices_per_worker=devices_per_worker,
        global_batch_size=global_batch_size,
        others=configs[1:],
        tf_config_is_late=tf_config_is_late,
    )
