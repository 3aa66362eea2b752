"""Which GPUs each process of a job sees. Plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tfdistribute.cluster.spec import EVALUATOR, Task

VISIBLE = "CUDA_VISIBLE_DEVICES"
# The driver has a directory here for each GPU.
_DRIVER = Path("/proc/driver/nvidia/gpus")


def own_gpus(environment: Mapping[str, str], driver: Path = _DRIVER) -> list[str]:
    """List the GPUs that a process may use, as CUDA_VISIBLE_DEVICES names them.

    Args:
        environment: Variables of the process.
        driver: Where the driver lists its GPUs.

    Returns:
        Numbers or names; empty where there are no GPUs of NVIDIA.

    Source:
        https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
    """
    chosen = environment.get(VISIBLE)
    if chosen is None:
        return [str(number) for number in range(len(list(driver.glob("*"))))]
    gpus: list[str] = []
    for name in chosen.split(","):
        # CUDA takes no notice of what comes after a name that is none.
        if not name.strip() or name.strip().startswith("-"):
            break
        gpus.append(name.strip())
    return gpus


def dealt(
    gpus: Sequence[str], tasks: Sequence[Task], per_worker: int
) -> dict[Task, dict[str, str]]:
    """Deal GPUs out to the processes of a job. TensorFlow would take all memory of all GPUs in each process.

    Args:
        gpus: What there is, as ``own_gpus`` lists it.
        tasks: The processes.
        per_worker: GPUs of each process that trains.

    Returns:
        Variables of each task; none without GPUs. Those that train get different GPUs while there are enough, and
        share them otherwise; the evaluator gets one that is left over, or none; parameter servers get none.

    Source:
        TF_FORCE_GPU_ALLOW_GROWTH: https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth
    """
    if not gpus:
        return {}
    training = [task for task in tasks if task.trains]
    wanted = len(training) * per_worker
    share: dict[str, str] = {} if wanted <= len(gpus) else {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    found: dict[Task, dict[str, str]] = {}
    for index, task in enumerate(training):
        places = range(index * per_worker, (index + 1) * per_worker)
        names = dict.fromkeys(gpus[place % len(gpus)] for place in places)
        found[task] = {VISIBLE: ",".join(names), **share}
    left = gpus[wanted : wanted + 1]
    for task in tasks:
        if task not in found:
            found[task] = {VISIBLE: ",".join(left if task.type == EVALUATOR else ())}
    return found
