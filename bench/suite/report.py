"""Report of the runs: medians, ranges and ratios as a Markdown table."""

from __future__ import annotations

import math
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from cases import Case, Goal

# Part of the cases in which a median lies outside its interval.
_OUTSIDE = 0.05

# Values by way, in the order of measurement.
Values = Mapping[str, Sequence[float]]


def machine() -> dict[str, Any]:
    """Return the date and the properties of this machine."""
    known = dict(_fields("/proc/cpuinfo"))
    memory = dict(_fields("/proc/meminfo")).get("MemTotal", "0 kB").split()[0]
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "processor": known.get("model name", platform.processor()),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(int(memory) / 2**20),
        "system": platform.platform(terse=True),
        "load_before": os.getloadavg()[0],
    }


def described(where: Mapping[str, Any]) -> str:
    """Return date and machine as one line."""
    busy = where["load_before"] > 0.5
    load = f"; **busy with other work: load {where['load_before']:.1f}**" if busy else ""
    return (
        f"{where['date']}, {where['cores']} cores of {where['processor']}, {where['memory_gb']} GB, "
        f"{where['system']}{load}"
    )


@dataclass(frozen=True)
class Verdict:
    """What was found of a goal.

    Args:
        goal: The goal.
        found: The numbers of each run in which its ways were measured, one per turn.
    """

    goal: Goal
    found: tuple[tuple[float, ...], ...]

    @property
    def worst(self) -> float:
        """The smallest median; 0 if there is none."""
        return min((statistics.median(each) for each in self.found), default=0.0)

    @property
    def is_reached(self) -> bool:
        """Whether the median of every run reached the goal."""
        return bool(self.found) and self.worst >= self.goal.at_least

    @property
    def is_missed(self) -> bool:
        """Whether the interval of the median of a run lies below the goal."""
        return any(interval(each)[1] < self.goal.at_least for each in self.found)

    @property
    def is_open(self) -> bool:
        """Whether the goal lies in the interval of a run's median, so that more turns may decide."""
        ends = (interval(each) for each in self.found)
        return any(low < self.goal.at_least <= high for low, high in ends)

    def __str__(self) -> str:
        """Return the goal, what was found and the verdict."""
        other = f" / {self.goal.other}" if self.goal.other is not None else ""
        found = " and ".join(_with_interval(each) for each in self.found)
        verdict = (
            "reached"
            if self.is_reached
            else "**missed**"
            if self.is_missed
            else "not decided"
            if found
            else "**not measured**"
        )
        numbers = f": {found}" if found else ""
        return f"{self.goal.way}{other}{numbers} (goal {self.goal.at_least:g}, {verdict})"


def interval(found: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the interval that holds the median in 19 of 20 cases, or the range of too few turns."""
    ordered, turns = sorted(found), len(found)
    # The median lies outside the n-th numbers from both ends if a coin falls on one side less than n times.
    outside, n = 2 / 2**turns, 1
    while (outside := outside + 2 * math.comb(turns, n) / 2**turns) <= _OUTSIDE:
        n += 1
    return ordered[n - 1], ordered[-n]


def _with_interval(found: Sequence[float]) -> str:
    low, high = interval(found)
    return f"{statistics.median(found):.2f} ({low:.2f} to {high:.2f})"


def table(case: Case, runs: Sequence[Values]) -> str:
    """Return the worst run of a case as Markdown, and its goals in all runs.

    The table has the median and the range of each way, and its ratio to the first.
    """
    values = worst(case, runs)
    first = statistics.median(next(iter(values.values())))
    lines = [
        f"**{case.title}** ({case.unit}{'; less is better' if case.lower_is_better else ''})",
        "",
        "| | median | range | ratio |",
        "|---|---:|---:|---:|",
    ]
    for name, found in values.items():
        middle = statistics.median(found)
        lines.append(
            f"| {name} | {_number(middle)} | {_number(min(found))} to {_number(max(found))} | {middle / first:.2f} |"
        )
    lines += ["", *(f"- {verdict}" for verdict in verdicts(case, runs))]
    return "\n".join(lines).rstrip()


def worst(case: Case, runs: Sequence[Values]) -> Values:
    """Return the run that is furthest from a goal; without goals, the slowest."""

    def shares(values: Values) -> float:
        found = [each.worst / each.goal.at_least for each in verdicts(case, [values])]
        if found:
            return min(found)
        total = sum(statistics.median(each) for each in values.values())
        return 1 / total if case.lower_is_better else total

    return min(runs, key=shares)


def verdicts(case: Case, runs: Sequence[Values]) -> list[Verdict]:
    """Return what runs found of the goals of a case: numbers, or the ratios of neighbouring turns."""
    return [
        Verdict(goal, tuple(_found(goal, run) for run in runs if _is_measured(goal, run)))
        for goal in case.goals
    ]


def summary(found: Mapping[str, Sequence[Verdict]]) -> str:
    """Return how many goals of all cases were reached and missed, and which were not reached."""
    everything = [(name, each) for name, verdicts in found.items() for each in verdicts]
    others = [(name, each) for name, each in everything if not each.is_reached]
    missed = sum(each.is_missed for _, each in others)
    head = (
        f"**{len(everything) - len(others)} of {len(everything)} goals reached, {missed} missed**"
    )
    lines = [f"- {name}: {each}" for name, each in others]
    return "\n".join([head, *([""] if lines else []), *lines])


def _is_measured(goal: Goal, values: Values) -> bool:
    return all(values.get(way) for way in (goal.way, goal.other) if way is not None)


def _found(goal: Goal, values: Values) -> tuple[float, ...]:
    if goal.other is None:
        return tuple(values[goal.way])
    # The machine's load cancels out.
    return tuple(a / b for a, b in zip(values[goal.way], values[goal.other], strict=False))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _fields(path: str) -> list[tuple[str, str]]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    pairs = (line.partition(":") for line in lines)
    return [(name.strip(), value.strip()) for name, _, value in pairs]
