"""Check settings by the table of rules before a verb begins. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass

from tfdistribute.run_config.circumstances import Circumstances
from tfdistribute.run_config.rules import RULES, Rule
from tfdistribute.run_config.settings import RunSettings


@dataclass(frozen=True)
class Finding:
    """A rule that does not hold, and what was found."""

    rule: Rule
    message: str


@dataclass(frozen=True)
class Preflight:
    """Settings that keep all rules.

    Args:
        settings: The settings after all repairs.
        notes: What was repaired, one sentence each.
    """

    settings: RunSettings
    notes: tuple[str, ...] = ()


def preflight(settings: RunSettings, circumstances: Circumstances) -> Preflight:
    """Repair the settings, or refuse them by the most fundamental rule that does not hold.

    Args:
        settings: What the user set.
        circumstances: What is known.

    Returns:
        The settings to build, and notes on the repairs.

    Raises:
        ClusterError: TF_CONFIG names a cluster that cannot be, or another one than the settings.
        RunConfigError: settings, or settings and model, that do not go together.
        ShardingError: the rows do not suffice for the replicas.
        StrategyError: a strategy that does not suit the cluster.
        UnsupportedError: settings for a cluster of which this process is no task.
    """
    notes: list[str] = []
    for finding in findings(settings, circumstances):
        rule = finding.rule
        if rule.repair is None:
            raise rule.refusal(finding.message, rule.remedy, argument=rule.field)
        settings = rule.repair(settings, circumstances)
        notes.append(f"{finding.message} {rule.remedy}")
    return Preflight(settings, tuple(notes))


def findings(settings: RunSettings, circumstances: Circumstances) -> list[Finding]:
    """List every rule that does not hold, the most fundamental first. Raises nothing.

    Args:
        settings: What the user set.
        circumstances: What is known.

    Returns:
        Findings in the table's order.
    """
    return [
        Finding(rule, rule.message(settings, circumstances))
        for rule in RULES
        if rule.broken(settings, circumstances)
    ]
