"""Which cores each process of a job may use. Plain Python."""

from __future__ import annotations

import os
from collections.abc import Sequence


def own_cores() -> list[int]:
    """List the cores that this process may use; empty where the system does not tell."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    return sorted(os.sched_getaffinity(0))


def shared_out(cores: Sequence[int], processes: int) -> list[tuple[int, ...]]:
    """Share cores out evenly, neighbours together, since they share caches.

    TensorFlow makes as many threads as a process has cores: without shares, the threads of all processes wait for each
    other at the end of each operation.

    Args:
        cores: Numbers of the cores.
        processes: Processes that compute at the same time.

    Returns:
        The cores of each process; all of them empty, which means any core, where there are fewer than processes.
    """
    if len(cores) < processes or processes < 2:
        return [()] * processes
    ends = [round(len(cores) * index / processes) for index in range(processes + 1)]
    return [tuple(cores[ends[i] : ends[i + 1]]) for i in range(processes)]
