"""Cores, GPUs and memory of this machine, and their assignment to the processes of a job."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tfdistribute.cluster.spec import EVALUATOR, Cluster, LocalCluster, Task
from tfdistribute.gpus import VISIBLE

# The driver has one directory per GPU here.
_DRIVER = Path("/proc/driver/nvidia/gpus")
_AMD_DRIVER = Path("/dev/kfd")

# Limit and usage of a control group, and the field of memory.stat with the cache that can be reclaimed.
_GROUP_FILES = {
    "sys/fs/cgroup": ("memory.max", "memory.current", "inactive_file"),
    "sys/fs/cgroup/memory": (
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
}
# Shares of available memory: needed to start a process that only waits, and below which such processes end.
_SPARE_SHARE = 0.25
_SCARCE_SHARE = 0.1


def has_spare_memory(root: Path = Path("/")) -> bool:
    return _least_spare_share(root) > _SPARE_SHARE


def is_memory_scarce(root: Path = Path("/")) -> bool:
    return _least_spare_share(root) < _SCARCE_SHARE


def _least_spare_share(root: Path) -> float:
    # Containers and Slurm jobs are control groups. Memory that the system does not report counts as available.
    # https://docs.kernel.org/admin-guide/cgroup-v2.html, "Memory Interface Files"
    shares = [_spare_share(root), *(_spare_share_of_group(each) for each in _group_files(root))]
    return min(shares)


def _spare_share(root: Path) -> float:
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        kilobytes = {line.partition(":")[0]: int(line.split()[1]) for line in lines}
        return kilobytes["MemAvailable"] / kilobytes["MemTotal"]
    except (OSError, KeyError):
        return 1.0


def _group_files(root: Path) -> Iterator[tuple[Path, tuple[str, str, str]]]:
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        mount = os.path.join("sys/fs/cgroup", controllers).rstrip("/")
        names = Path(path).parts[1:]
        for depth in range(len(names) + 1):
            yield root.joinpath(mount, *names[:depth]), _GROUP_FILES[mount]


def _spare_share_of_group(group: tuple[Path, tuple[str, str, str]]) -> float:
    directory, (limit_file, used_file, from_files) = group
    try:
        limit = int((directory / limit_file).read_text(encoding="ascii"))
        used = int((directory / used_file).read_text(encoding="ascii"))
        lines = (directory / "memory.stat").read_text(encoding="ascii").splitlines()
        statistics = dict(line.split() for line in lines)
        return (limit - used + int(statistics[from_files])) / limit
    except (OSError, ValueError, KeyError, ZeroDivisionError):
        # A group without a limit has none of these files, or contains "max".
        return 1.0


def assign_cores(cores: Sequence[int], processes: int) -> list[tuple[int, ...]]:
    """Divide cores over processes, neighbors together because they share caches; empty tuples mean any core.

    TensorFlow starts as many threads as a process has cores. If all processes had all cores, their threads would wait
    for each other at the end of each operation.
    """
    if len(cores) < processes or processes < 2:
        return [()] * processes
    ends = [round(len(cores) * index / processes) for index in range(processes + 1)]
    return [tuple(cores[ends[i] : ends[i + 1]]) for i in range(processes)]


def available_gpus(environment: Mapping[str, str], driver: Path = _DRIVER) -> list[str]:
    """List the GPUs that a process may use, as CUDA_VISIBLE_DEVICES names them; empty without NVIDIA GPUs."""
    return visible_gpus(environment.get(VISIBLE), len(list(driver.glob("*"))))


def visible_gpus(chosen: str | None, count: int) -> list[str]:
    """List the GPUs, out of ``count``, that CUDA_VISIBLE_DEVICES leaves; all if it is None."""
    if chosen is None:
        return [str(number) for number in range(count)]
    gpus: list[str] = []
    for name in chosen.split(","):
        # CUDA ignores all names after the first unusable one.
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
    """Return the devices of each task of a local cluster, without TensorFlow; empty if unknown, as with AMD's."""
    if not isinstance(cluster, LocalCluster):
        return ()
    gpus = available_gpus(environment, driver)
    if gpus:
        return tuple(f"/device:GPU:{index}" for index in range(len(gpus)))
    if _AMD_DRIVER.exists():
        return ()
    return tuple(f"/device:CPU:{index}" for index in range(logical_cpus))


def assign_gpus(
    gpus: Sequence[str], tasks: Sequence[Task], per_worker: int
) -> dict[Task, dict[str, str]]:
    """Return the variables that assign GPUs to tasks. TensorFlow would allocate all GPU memory in each process.

    Training tasks share GPUs only if there are too few. The evaluator gets a GPU that is left over, and parameter
    servers get none.
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
