"""The CPUs and GPUs that a session of this process can have."""

from __future__ import annotations

import os

import tensorflow as tf

# A session makes as many CPU devices as its configuration says, however many TensorFlow itself was started with:
# a number that was fixed when TensorFlow started does not limit training. Every replica is a copy of the graph, and
# many more of them than processors take minutes to start.
MOST_CPUS = max(8, 2 * (os.cpu_count() or 1))


def counts() -> tuple[int, int]:
    """Count the devices that a session can have. Does not start them.

    Returns:
        Logical CPUs, of which any number up to MOST_CPUS can be had, and the GPUs that TensorFlow sees.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/config/list_physical_devices
    """
    return MOST_CPUS, len(tf.config.list_physical_devices("GPU"))
