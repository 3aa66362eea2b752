"""What R asks of clusters: checks, plans and TF_CONFIG. TensorFlow is not started."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tfdistribute import engine
from tfdistribute.cluster.checks import check, check_tf_configs
from tfdistribute.cluster.facts import facts_of_cluster
from tfdistribute.cluster.ports import free_ports
from tfdistribute.cluster.spec import Cluster
from tfdistribute.cluster.tf_config import read_tf_config
from tfdistribute.descriptions import read
from tfdistribute.plan import Work, plan
from tfdistribute.rules import Finding


def check_cluster(
    cluster: Mapping[str, Any], devices_per_worker: float, batch_size: float | None = None
) -> list[dict[str, str]]:
    """List the mistakes of a described cluster."""
    described = read(Cluster, cluster)
    batch = None if batch_size is None else int(batch_size)
    return _rows(check(facts_of_cluster(described, int(devices_per_worker), batch)))


def check_tf_config(
    texts: str | Sequence[str],
    devices_per_worker: float,
    batch_size: float | None = None,
    of_this_process: bool = False,
) -> list[dict[str, str]]:
    """List the mistakes of one TF_CONFIG or several."""
    texts = [texts] if isinstance(texts, str) else texts
    late = of_this_process and engine.is_started() and texts[0] != engine.tf_config_at_start()
    batch = None if batch_size is None else int(batch_size)
    return _rows(check_tf_configs(texts, int(devices_per_worker), batch, late))


def read_cluster(text: str) -> dict[str, Any] | None:
    """Take TF_CONFIG apart for cluster_from_environment()."""
    found = read_tf_config({"TF_CONFIG": text})
    return None if found is None else dataclasses.asdict(found)


def some_ports(count: float) -> list[int]:
    """Find ports that are free now."""
    return list(free_ports(int(count)))


def plan_tasks(cluster: Mapping[str, Any] | None, **work: Any) -> list[dict[str, Any]]:
    """Say what each task of a cluster would do."""
    described = None if cluster is None else read(Cluster, cluster)
    return [dataclasses.asdict(row) for row in plan(described, read(Work, work))]


def _rows(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [dataclasses.asdict(finding) for finding in findings]
