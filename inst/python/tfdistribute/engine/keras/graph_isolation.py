"""Repair of Keras models that exist while an Estimator's graph is built.

Keras changes the base classes of ``Dense``, ``Sequential`` and all others in place when one of their kind is made in a
graph of TensorFlow 1, as Estimators make graphs. From then on every model that was made before says "Your Layer or
Model is in an invalid state", also the models of the user that have nothing to do with the Estimator.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from keras.src.engine import base_layer


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Give all classes of layers and models the bases back that they have now.

    Yields:
        Nothing.

    Source:
        ``swap_class`` in keras/src/utils/version_utils.py.
    """
    bases = {cls: cls.__bases__ for cls in _classes(base_layer.Layer)}
    try:
        yield
    finally:
        for cls, before in bases.items():
            if cls.__bases__ != before:
                cls.__bases__ = before


def keep(estimator: Any) -> None:
    """Let an Estimator leave Keras's classes as it found them.

    Args:
        estimator: A ``tf.estimator.Estimator`` whose model function makes layers; its methods are wrapped in place.
    """
    for name in ("train", "evaluate", "export_saved_model"):
        setattr(estimator, name, _keeping(getattr(estimator, name)))
    predict = estimator.predict

    def predict_keeping(*args: Any, **kwargs: Any) -> Iterator[Any]:
        batches = predict(*args, **kwargs)
        while True:
            with kept():
                try:
                    batch = next(batches)
                except StopIteration:
                    return
            yield batch

    estimator.predict = predict_keeping


def _keeping(method: Callable[..., Any]) -> Callable[..., Any]:
    def keeping(*args: Any, **kwargs: Any) -> Any:
        with kept():
            return method(*args, **kwargs)

    return keeping


def _classes(root: type) -> set[type]:
    found: set[type] = set()
    waiting = [root]
    while waiting:
        cls = waiting.pop()
        if cls not in found:
            found.add(cls)
            waiting.extend(cls.__subclasses__())
    return found
