"""Cores and GPUs of this machine, and their assignment to the processes of a job."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tfdistribute.cluster.spec import EVALUATOR, Cluster, LocalCluster, Task

VISIBLE = "CUDA_VISIBLE_DEVICES"
# The driver has one directory per GPU here.
_DRIVER = Path("/proc/driver/nvidia/gpus")
_AMD_DRIVER = Path("/dev/kfd")

_MEMORY = Path("/proc/meminfo")
# Share of the memory that stays available beside processes that wait.
_SPARE_SHARE = 0.25


def available_cores() -> list[int]:
    """List the cores that this process may use; empty if the system does not report them."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    return sorted(os.sched_getaffinity(0))


def has_spare_memory(path: Path = _MEMORY) -> bool:
    """Return whether memory is left for processes that only wait; True if the system does not report it.

    Source:
        https://man7.org/linux/man-pages/man5/proc_meminfo.5.html
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
        kilobytes = {line.partition(":")[0]: int(line.split()[1]) for line in lines}
        return kilobytes["MemAvailable"] > _SPARE_SHARE * kilobytes["MemTotal"]
    except (OSError, KeyError):
        return True


def assign_cores(cores: Sequence[int], processes: int) -> list[tuple[int, ...]]:
    """Divide cores evenly over processes; neighbours stay together because they share caches.

    TensorFlow starts as many threads as a process has cores. If all processes had all cores, their threads would wait
    for each other at the end of each operation.

    Returns:
        The cores of each process; an empty tuple means any core, and is the result with fewer cores than processes.
    """
    if len(cores) < processes or processes < 2:
        return [()] * processes
    ends = [round(len(cores) * index / processes) for index in range(processes + 1)]
    return [tuple(cores[ends[i] : ends[i + 1]]) for i in range(processes)]


def available_gpus(environment: Mapping[str, str], driver: Path = _DRIVER) -> list[str]:
    """List the GPUs that a process may use, as CUDA_VISIBLE_DEVICES names them; empty without NVIDIA GPUs.

    Source:
        https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
    """
    return visible_gpus(environment.get(VISIBLE), len(list(driver.glob("*"))))


def visible_gpus(chosen: str | None, count: int) -> list[str]:
    """List those of ``count`` GPUs that CUDA_VISIBLE_DEVICES leaves; all if it is None."""
    if chosen is None:
        return [str(number) for number in range(count)]
    gpus: list[str] = []
    for name in chosen.split(","):
        # CUDA ignores whatever follows the first unusable name.
        if not name.strip() or name.strip().startswith("-"):
            break
        gpus.append(name.strip())
    return gpus


def devices_of_tasks(
    cluster: Cluster | None,
    environment: Mapping[str, str],
    driver: Path = _DRIVER,
    logical_cpus: int = 1,
) -> tuple[str, ...]:
    """Return the devices that a task of a local cluster can have, without starting TensorFlow; empty if unknown.

    GPUs of other makers than NVIDIA are not seen here, so without NVIDIA's the devices are known only where there is no
    driver for AMD's.
    """
    if not isinstance(cluster, LocalCluster):
        return ()
    gpus = available_gpus(environment, driver)
    if gpus:
        return tuple(f"/device:GPU:{index}" for index in range(len(gpus)))
    if sys.platform != "linux" or _AMD_DRIVER.exists():
        return ()
    return tuple(f"/device:CPU:{index}" for index in range(logical_cpus))


def assign_gpus(
    gpus: Sequence[str], tasks: Sequence[Task], per_worker: int
) -> dict[Task, dict[str, str]]:
    """Assign GPUs to the processes of a job. TensorFlow would allocate all memory of all GPUs in each process.

    Returns:
        Environment variables of each task; none without GPUs. Tasks that train get different GPUs as long as there are
        enough, and share them otherwise; the evaluator gets one that is left over, or none; parameter servers get none.

    Source:
        TF_FORCE_GPU_ALLOW_GROWTH: https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth
    """
    if not gpus:
        return {}
    training = [task for task in tasks if task.trains]
    wanted = len(training) * per_worker
    growth = {} if wanted <= len(gpus) else {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    variables: dict[Task, dict[str, str]] = {}
    for rank, task in enumerate(training):
        slots = range(rank * per_worker, (rank + 1) * per_worker)
        names = dict.fromkeys(gpus[slot % len(gpus)] for slot in slots)
        variables[task] = {VISIBLE: ",".join(names), **growth}
    left = gpus[wanted : wanted + 1]
    for task in tasks:
        if task not in variables:
            variables[task] = {VISIBLE: ",".join(left if task.type == EVALUATOR else ())}
    return variables
