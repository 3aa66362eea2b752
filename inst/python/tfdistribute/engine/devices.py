"""CPUs and GPUs for the sessions of this process."""

import os
from pathlib import Path

import tensorflow as tf

from tfdistribute.errors import StrategyError

# A session creates as many CPU devices as its configuration asks for, however TensorFlow was started. Each replica
# is a copy of the graph, so many more replicas than processors take minutes to start.
MOST_CPUS = max(8, 2 * (os.cpu_count() or 1))


def gpu_count() -> int:
    """Return the number of GPUs that TensorFlow sees, without starting them."""
    return len(tf.config.list_physical_devices("GPU"))


def note_on_precision(precision: str) -> str | None:
    """Return a sentence about a precision on this machine, or None.

    bfloat16 is for CPUs, float16 for GPUs (tensorflow/core/grappler/optimizers/auto_mixed_precision.cc).
    """
    gpus = gpu_count()
    if precision == "mixed_bfloat16" and gpus:
        return 'TensorFlow computes in bfloat16 on CPUs only; for GPUs, use precision = "mixed_float16".'
    if precision == "mixed_bfloat16" and not _has_bfloat16():
        return "This processor has no instructions for bfloat16 (avx512_bf16 or amx_bf16): training is not faster."
    if precision == "mixed_float16" and not gpus:
        return "TensorFlow computes in float16 on GPUs only, and there are none: training computes in float32."
    return None


def _has_bfloat16() -> bool:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return True
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return not flags or bool({"avx512_bf16", "amx_bf16"} & set(flags.split()))


def limit_gpu_memory(megabytes: float) -> None:
    """Limit this process's memory on each GPU, before TensorFlow starts them (else StrategyError)."""
    limit = tf.config.LogicalDeviceConfiguration(memory_limit=megabytes)
    try:
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.set_logical_device_configuration(gpu, [limit])
    except RuntimeError as error:
        raise StrategyError(
            f"`memory_limit_mb` is {megabytes:g}, but TensorFlow has started its GPUs already.",
            "Restart R, and train before anything else uses TensorFlow.",
            value=f"{megabytes:g}",
        ) from error
