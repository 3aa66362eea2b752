"""Checks of a run against the table of rules, before its verb starts."""

from __future__ import annotations

from typing import Any

from tfdistribute.cluster.spec import Cluster
from tfdistribute.run_config.rule import RunContext
from tfdistribute.run_config.rules import RULES
from tfdistribute.run_config.settings import RunSettings
from tfdistribute.strategies import Strategy


def preflight(run: RunContext) -> None:
    """Refuse a run that breaks a rule, naming the most fundamental one."""
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
    """Refuse settings that a cluster's tasks could not train with, before they start; needs no TensorFlow.

    ``devices`` are those that a task can have, empty if unknown. "plan" needs no strategy.
    """
    if cluster is not None:
        settings = RunSettings(
            train_distribute=strategy, cluster=cluster, session_config=session_config
        )
        preflight(RunContext(settings, verb, starts_tasks=True, devices=devices))
