"""Checks of a run against the table of rules, before its verb starts."""

from __future__ import annotations

from typing import Any

from tfdistribute.cluster.spec import Cluster
from tfdistribute.run_config.rule import RunContext
from tfdistribute.run_config.rules import RULES
from tfdistribute.run_config.settings import RunSettings
from tfdistribute.strategies import Strategy


def preflight(run: RunContext) -> None:
    """Refuse a run that breaks a rule, naming the most fundamental one.

    Raises:
        ClusterError: TF_CONFIG has an impossible cluster, or differs from the settings.
        RunConfigError: conflicting settings, or settings that conflict with the model.
        ShardingError: too few rows for the replicas.
        StrategyError: the strategy does not suit the cluster.
        UnsupportedError: the settings have a cluster, and this process is not one of its tasks.
    """
    for rule in RULES:
        for finding in rule.find(run):
            raise rule.error(finding, run)


def check_settings_of_tasks(
    strategy: Strategy | None,
    cluster: Cluster | None,
    verb: str = "train",
    devices: tuple[str, ...] = (),
    session_config: dict[str, Any] | None = None,
) -> None:
    """Refuse settings that a cluster's tasks could not train with, before they start.

    Needs no TensorFlow.

    Args:
        cluster: The cluster; None for this process alone, which has no such rules.
        verb: The verb that starts the tasks, or "plan", which needs no strategy.
        devices: Canonical names of the devices that a task can have; empty if unknown.
        session_config: Settings of the tasks' sessions.

    Raises:
        StrategyError: the strategy uses one machine, or does not suit the roles or the devices of the cluster.
        RunConfigError: tasks with these sessions would wait for each other for ever.
    """
    if cluster is not None:
        settings = RunSettings(
            train_distribute=strategy, cluster=cluster, session_config=session_config
        )
        preflight(RunContext(settings, verb, starts_tasks=True, devices=devices))
