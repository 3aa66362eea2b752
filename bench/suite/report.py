"""Report of the runs: medians, ranges and ratios as a Markdown table."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from cases import Case

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


def table(case: Case, values: Values) -> str:
    """Return a case as Markdown: median and range of each way, and its ratio to the first."""
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
    lines += ["", *goals(case, values)]
    return "\n".join(lines).rstrip()


def goals(case: Case, values: Values) -> list[str]:
    """Return which goals of a case were reached, by medians, or by medians of the ratios of neighbouring runs."""
    lines: list[str] = []
    for goal in case.goals:
        if goal.way not in values or (goal.other is not None and goal.other not in values):
            continue
        found, what = statistics.median(values[goal.way]), goal.way
        if goal.other is not None:
            found, what = ratio_of(values[goal.way], values[goal.other]), f"{what} / {goal.other}"
        verdict = "reached" if found >= goal.at_least else "**missed**"
        lines.append(f"- {what}: {found:.2f} (goal {goal.at_least:g}, {verdict})")
    return lines


def ratio_of(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the median ratio of neighbouring runs, in which the machine's load cancels out."""
    return statistics.median(a / b for a, b in zip(one, other, strict=False))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _fields(path: str) -> list[tuple[str, str]]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    pairs = (line.partition(":") for line in lines)
    return [(name.strip(), value.strip()) for name, _, value in pairs]
