"""Cores and GPUs of this machine, and their assignment to the processes of a job."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tfdistribute.cluster.spec import EVALUATOR, Cluster, LocalCluster, Task
from tfdistribute.gpus import VISIBLE

# The driver has one directory per GPU here.
_DRIVER = Path("/proc/driver/nvidia/gpus")
_AMD_DRIVER = Path("/dev/kfd")


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
