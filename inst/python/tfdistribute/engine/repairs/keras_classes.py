"""Repair of Keras models that exist while an Estimator's graph is built.

When a Keras object is made in a graph of TensorFlow 1, as in Estimators, Keras changes the base classes of its class
(``Dense``, ``Sequential``, ...) in place. From then on all models that were made before fail with "Your Layer or Model
is in an invalid state", including the user's own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tfdistribute.engine import patches
from tfdistribute.engine.keras2 import base_layer


@contextlib.contextmanager
def preserve_classes() -> Iterator[None]:
    """Restore the base classes of all Keras layers and models at the end of the block."""
    bases = {cls: cls.__bases__ for cls in _classes(base_layer.Layer)}
    try:
        yield
    finally:
        for cls, before in bases.items():
            if cls.__bases__ != before:
                patches.put("keras_classes", cls, "__bases__", before)


def _classes(root: type) -> set[type]:
    classes: set[type] = set()
    waiting = [root]
    while waiting:
        cls = waiting.pop()
        if cls not in classes:
            classes.add(cls)
            waiting.extend(cls.__subclasses__())
    return classes
