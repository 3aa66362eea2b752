"""The CPUs and GPUs that a session of this process can have."""

from __future__ import annotations

import tensorflow as tf

# A session makes as many CPU devices as its configuration says, however many TensorFlow itself was started with:
# a number that was fixed when TensorFlow started does not limit training. The bound only catches slips of the pen.
MOST_CPUS = 64


def counts() -> tuple[int, int]:
    """Count the devices that a session can have. Does not start them.

    Returns:
        Logical CPUs, of which any number up to 64 can be had, and the GPUs that TensorFlow sees.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/config/list_physical_devices
    """
    return MOST_CPUS, len(tf.config.list_physical_devices("GPU"))
