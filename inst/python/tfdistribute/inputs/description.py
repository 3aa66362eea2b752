"""Base classes of inputs, and the order in which they read rows."""

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
    """Source of examples: the root of the family.

    Each member is one file, and passes the contract test of the family.
    """

    def facts(self) -> InputFacts:
        """Return what is known about the data without TensorFlow.

        Returns:
            Columns, rows, epochs and batch size; None for what only the running input knows.

        Raises:
            InputError: the data is missing, cannot be read, or does not fit the description.
        """
        raise NotImplementedError

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, packed: bool = False
    ) -> InputFunction:
        """Make the function that an Estimator calls for its data.

        Args:
            purpose: What the verb does with the data: "train", "evaluate", or "predict", which reads features only,
                once and in order.
            seed: Seed of the run, used if the input has none of its own.
            packed: Whether features may be an ``engine.features.PackedFeatures``, which the Estimator unpacks.

        Returns:
            A function of ``input_context=None`` that returns a ``tf.data.Dataset`` of (features, labels), or of
            features if there are no labels. Features are a dictionary of tensors by name.

        Raises:
            InputError: as ``facts``; also raised by the function, if the data does not fit the strategy
                (ShardingError) or is not a dataset.
        """
        raise NotImplementedError

    def shuffle_seed(self, seed: int) -> int | None:
        """Return the seed of the training order; None if rows are not shuffled, or by a function of the user.

        Args:
            seed: As for ``input_fn``.
        """
        return None

    def serving(self) -> contextlib.AbstractContextManager[None]:
        """Return the context in which TensorFlow may draw from the input; by default it does nothing."""
        return contextlib.nullcontext()


@dataclass(frozen=True)
class ReadingOrder:
    """How often, in which order and with which columns the rows are read for one purpose.

    Args:
        epochs: Passes over the rows; None: without end.
        seed: Seed of the shuffle; None: the rows keep their order.
        label: Name of the label; None: there is none.
        dropped: Name of a column that is neither feature nor label; None: all are used.
    """

    epochs: int | None
    seed: int | None
    label: str | None
    dropped: str | None

    @classmethod
    def of(
        cls,
        purpose: Purpose,
        response: str | None,
        epochs: int | None,
        shuffle: bool | None = False,
        seed: int | None = None,
    ) -> ReadingOrder:
        """Apply the rules of a purpose to what an input asks for; see ``RowInput``."""
        if purpose == "predict":
            return cls(1, None, None, response)
        shuffled = purpose == "train" if shuffle is None else shuffle
        return cls(epochs, (seed or 0) if shuffled else None, response, None)


@dataclass(frozen=True, kw_only=True)
class RowInput(Input):
    """Input of rows in memory or files, which this package orders and divides.

    Args:
        response: Name of the column that is the label; None: there is none.
        batch_size: Examples of one training step, summed over replicas.
        num_epochs: Passes over the rows; None: without end. Predicting always takes one.
        shuffle: Whether each epoch is shuffled; None: for training only. Predicting never shuffles.
        seed: Seed of the shuffle; None: the run's.
    """

    response: str | None = None
    batch_size: int = 128
    num_epochs: int | None = 1
    shuffle: bool | None = None
    seed: int | None = None

    def reading_order(self, purpose: Purpose, seed: int | None = None) -> ReadingOrder:
        """Resolve the order for a purpose; arguments as for ``input_fn``."""
        own_seed = seed if self.seed is None else self.seed
        return ReadingOrder.of(purpose, self.response, self.num_epochs, self.shuffle, own_seed)

    def shuffle_seed(self, seed: int) -> int | None:
        """Return the seed of the training order; None if rows are not shuffled."""
        return self.reading_order("train", seed).seed
