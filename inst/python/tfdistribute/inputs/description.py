"""What every input is described by."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tfdistribute.columns import InputFacts
from tfdistribute.descriptions import Description

# What a dataset is made for. Training may shuffle and repeat; predicting does neither, and has no labels.
Purpose = Literal["train", "evaluate", "predict"]

InputFunction = Callable[..., Any]


@dataclass(frozen=True)
class Input(Description):
    """Root of the family: where examples come from, and in which order.

    Each member is one file, and passes the contract test on every sibling.
    """

    def facts(self) -> InputFacts:
        """Say what is known about the data without TensorFlow.

        Returns:
            Columns, rows, epochs and batch; None for what only the running input can tell.
        """
        raise NotImplementedError

    def input_fn(self, purpose: Purpose, seed: int | None = None) -> InputFunction:
        """Make the function that an Estimator calls for its data.

        Args:
            purpose: The verb's use of the data: "train", "evaluate" or "predict".
            seed: Seed of the run, where the input does not have its own.

        Returns:
            A function of ``input_context=None`` that returns a ``tf.data.Dataset`` of (features, labels), or of
            features where there are no labels. Features are a dictionary of tensors by name.

        Raises:
            InputError: by the function, when the data does not fit the strategy (ShardingError) or is no dataset.
        """
        raise NotImplementedError

    def packed_input_fn(self, purpose: Purpose, seed: int | None = None) -> InputFunction:
        """Make the function that an Estimator calls for its data, where the Estimator takes packed features apart.

        Args:
            purpose: As for ``input_fn``.
            seed: As for ``input_fn``.

        Returns:
            As ``input_fn`` does, but features may be an ``engine.features.PackedFeatures``.

        Raises:
            InputError: as by ``input_fn``.
        """
        return self.input_fn(purpose, seed)

    def serving(self) -> contextlib.AbstractContextManager[None]:
        """Do what the input needs while TensorFlow draws from it; verbs draw inside this context only.

        Returns:
            A context manager, by default one that does nothing.
        """
        return contextlib.nullcontext()
