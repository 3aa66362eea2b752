"""Repair of a registry that keeps every graph of a process in memory.

Each call of a function with a custom gradient registers a gradient that refers to the whole graph, as in Keras's sum
over replicas. TensorFlow never removes it, so each training would keep its graph until Python ends.
"""

import contextlib
import itertools
from collections.abc import Iterator

from tensorflow.python.framework import ops

from tfdistribute.engine import patches

_PREFIX = "CustomGradient-"


@contextlib.contextmanager
def release_gradients() -> Iterator[None]:
    """Forget custom gradients that were registered inside the block, when its graph is complete and will not change."""
    # A dictionary keeps the order in which names were added.
    registered = ops.gradient_registry._registry
    before = len(registered)
    try:
        yield
    finally:
        for name in list(itertools.islice(registered, before, None)):
            if name.startswith(_PREFIX) and patches.is_on("custom_gradients"):
                del registered[name]
