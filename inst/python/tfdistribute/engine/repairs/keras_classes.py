"""Repair of Keras models that exist while an Estimator's graph is built.

Keras changes the base classes of an object's class (``Dense``, ...) in a graph of TensorFlow 1. From then on, all
earlier models fail with "Your Layer or Model is in an invalid state".
"""

import contextlib
from collections.abc import Iterator

from tfdistribute.engine import patches
from tfdistribute.engine.graph import walk
from tfdistribute.engine.keras2 import base_layer


@contextlib.contextmanager
def preserve_classes() -> Iterator[None]:
    bases = {cls: cls.__bases__ for cls in walk.reach([base_layer.Layer], type.__subclasses__)}
    try:
        yield
    finally:
        for cls, before in bases.items():
            if cls.__bases__ != before:
                patches.put("keras_classes", cls, "__bases__", before)
