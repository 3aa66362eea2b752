"""The outputs of a model that a prediction returns."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf


@dataclass(frozen=True)
class OutputChoice:
    """A choice of outputs by name. A model without any of them returns all."""

    keys: tuple[str, ...] | None = None
    hidden: tuple[str, ...] = ()  # Left out if ``keys`` is None.

    def of(self, predictions: Any) -> Any:
        if not isinstance(predictions, dict):
            return encode(predictions)
        names = [name for name in predictions if self._has(name)] or list(predictions)
        return {name: encode(predictions[name]) for name in names}

    def _has(self, name: str) -> bool:
        return name not in self.hidden if self.keys is None else name in self.keys


class CodedStrings(NamedTuple):
    labels: Any
    codes: Any  # Positions in the labels, in the shape of the strings.

    def decode(self) -> npt.NDArray[np.object_]:
        labels = [each.decode("utf-8", "replace") for each in self.labels]
        return np.array(labels, dtype=object)[self.codes]


def encode(output: Any) -> Any:
    if not isinstance(output, tf.Tensor) or output.dtype != tf.string:
        return output
    labels, codes = tf.unique(tf.reshape(output, [-1]))
    return CodedStrings(labels, tf.reshape(codes, tf.shape(output)))
