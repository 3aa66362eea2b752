"""Base classes of inputs and their reading order."""

import contextlib
import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import AcceptedValues, InputFacts, ReadTypes
from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Count, Text

# What a dataset is for. Training may shuffle and repeat; prediction does neither and has no labels.
Purpose = Literal["train", "evaluate", "predict"]

InputFunction = Callable[..., Any]
ComputeCodes = Callable[[int, Callable[[str, slice], Any], str | None], Mapping[str, Any]]

# How the rows of an input are divided over pipelines of one replica each: "turns" (pipeline k of n reads the batches k,
# k + n, ...), "ranges" (contiguous ranges of rows, in order), "own" (as a user's function decides), or "none" (every
# pipeline reads all rows).
ShardOrder = Literal["turns", "ranges", "own", "none"]

# Limits of a batch for prediction, where each call of session.run costs as much as computing many rows.
PREDICTED_ROWS = 4096
PREDICTED_BYTES = 2**20
_VALUE_BYTES = 8


@dataclass(frozen=True)
class Input(Description):
    """Base class of all sources of examples.

    Each subclass has its own file and passes the input contract test.
    """

    def facts(self) -> InputFacts:
        """Return facts about the data without TensorFlow: columns, rows, epochs and batch size; None if not known.

        Raises InputError if the data is missing, unreadable, or does not match the description.
        """
        raise NotImplementedError

    def content(self) -> Mapping[str, Any]:
        return vars(self.facts())

    def accepting(self, accepted: AcceptedValues) -> "Input":
        """Return the same rows, with an error at any value that a model cannot use.

        Rows in memory are checked here (InputError); rows of tables and generators, as they are read. An input of
        another kind cannot check its values, and returns itself.
        """
        return self

    def with_defaults(self, numbers: Mapping[str, tuple[float, ...]]) -> "Input":
        """Return the same rows, in which a record without a column has these numbers, one for all or one per value.

        Only records can lack a column. Any other input returns itself.
        """
        return self

    def reading(self, types: ReadTypes) -> "Input":
        """Return the same rows, in which these columns are read in other types if they hold doubles.

        Args:
            types: "double" for columns whose digits 32 bits do not hold, "float" for other numbers, or "integer64" for
                columns of whole numbers. Columns in memory that have fractions keep their type; files raise InputError
                at a fraction.
        """
        return self

    def with_missing(self) -> "Input":
        """Return the same rows, with all digits of features and NaN or labels for missing ones, if they are tables.

        In files, whole numbers are read as numbers, and TRUE and FALSE as labels, because both may be missing.
        """
        return self

    def with_codes(self, compute: ComputeCodes) -> "Input":
        """Return an input that also has columns of whole numbers, if its rows are in memory; else itself.

        Args:
            compute: Returns the numbers by name of the column, each an array of shape [rows]. It gets the number of
                rows, a function that returns the values of a column for a range of rows, and the name of the label.
        """
        return self

    def starting_at(self, row: int, done: int) -> "Input":
        """Return the input whose training began at a row of all epochs, if it knows them, and read ``done`` rows."""
        return self

    def repeated(self, batch_size: int, epochs: int | None = None) -> "Input":
        """Return the same rows in batches of a size, ``epochs`` times or without end.

        An input whose batches a function makes returns itself.
        """
        return self

    def in_memory(self) -> "Input":
        """Return the same rows in memory if they are a table's, for which there must be room; else itself."""
        return self

    def subset(self, rows: npt.NDArray[np.integer[Any]]) -> "Input":
        """Return some of the rows, by their numbers, which only rows in memory have."""
        raise NotImplementedError

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, packed: bool = False
    ) -> InputFunction:
        """Return the input function for an Estimator.

        Args:
            purpose: "train", "evaluate", or "predict", which reads features only, once and in order.
            seed: Seed of the run, used if the input has none.
            packed: Whether features may be ``engine.features.PackedFeatures``, which the Estimator unpacks.

        Returns:
            A function of ``input_context=None`` that returns a ``tf.data.Dataset`` of (features, labels), or of
            features if there are no labels. Features are a dictionary of tensors by name.

        Raises:
            InputError: as ``facts``; also raised by the function if the data does not fit the strategy
                (ShardingError) or is not a dataset.
        """
        raise NotImplementedError

    def resident_rows(self, purpose: Purpose, seed: int | None = None) -> Any:
        """Return the ``engine.step.resident_rows.ResidentRows`` of all rows; None if they are not in memory."""
        return None

    def shuffle_seed(self, seed: int) -> int | None:
        """Return the seed of the training order; None if this package does not shuffle the rows."""
        return None

    def shard_order(self) -> ShardOrder:
        raise NotImplementedError

    def in_large_batches(self, pipelines: int = 1) -> "Input":
        """Return the same rows in batches that are predicted faster, if the size of batches is free; else itself.

        Each of ``pipelines`` that share the rows gets a batch if there are rows enough.
        """
        return self

    def serving(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


@dataclass(frozen=True)
class ReadingOrder:
    epochs: int | None  # None repeats forever.
    seed: int | None  # None keeps the order.
    label: str | None
    dropped: str | None  # Column that is neither feature nor label.
    first: int = 0  # Position in the rows of all epochs at which reading begins.
    done: int = 0  # Rows that the training has read before it.

    @classmethod
    def of(
        cls,
        purpose: Purpose,
        response: str | None,
        epochs: int | None,
        shuffle: bool | Literal["auto"] | None = False,
        seed: int | None = None,
        first: int = 0,
        done: int = 0,
    ) -> "ReadingOrder":
        if purpose == "predict":
            return cls(1, None, None, response)
        shuffled = shuffle if isinstance(shuffle, bool) else purpose == "train"
        return cls(epochs, (seed or 0) if shuffled else None, response, None, first + done, done)


@dataclass(frozen=True, kw_only=True)
class RowInput(Input):
    """Fields that several kinds share.

    Args:
        response: A string that names the column to learn. NULL without a response, as for predicting.
        batch_size: Global batch: examples of one training step over all devices and workers, a count. It is divided
            over the replicas, so it must be a multiple of their number.
        epochs: Passes over the rows, a count. NULL repeats forever, for training with `steps`. Prediction uses one
            pass.
        shuffle: Whether each epoch has its own random order: TRUE, FALSE, or `"auto"` for training only. Predictions
            always keep the order of the rows.
        seed: Seed of the shuffle, a whole number. NULL uses the seed of the run configuration.
    """

    response: Text | None = None
    batch_size: Count = 128  # Summed over replicas.
    epochs: Count | None = 1  # None repeats forever. Prediction always makes one.
    # Each epoch; "auto" shuffles for training only. Prediction never shuffles.
    shuffle: bool | Literal["auto"] | None = "auto"
    seed: int | None = None  # None uses the run's.

    # Whether batches may have any size, as those of ``in_large_batches`` may.
    any_batch_size: ClassVar[bool] = False
    # Where training begins in the rows of all epochs, and the rows that it has read.
    read_rows: ClassVar[tuple[int, int]] = (0, 0)

    def reading_order(self, purpose: Purpose, seed: int | None = None) -> ReadingOrder:
        own_seed = seed if self.seed is None else self.seed
        read = self.read_rows if purpose == "train" else (0, 0)
        return ReadingOrder.of(purpose, self.response, self.epochs, self.shuffle, own_seed, *read)

    def starting_at(self, row: int, done: int) -> "RowInput":
        # Not dataclasses.replace(), which would read the rows again.
        started = copy.copy(self)
        object.__setattr__(started, "read_rows", (row, done))
        return started

    def repeated(self, batch_size: int, epochs: int | None = None) -> "RowInput":
        repeated = copy.copy(self)
        object.__setattr__(repeated, "batch_size", batch_size)
        object.__setattr__(repeated, "epochs", epochs)
        return repeated

    def in_large_batches(self, pipelines: int = 1) -> "RowInput":
        facts = self.facts()
        row_bytes = sum(_VALUE_BYTES * each.width for each in (facts.features or {}).values())
        rows = min(PREDICTED_ROWS, PREDICTED_BYTES // max(1, row_bytes))
        if pipelines > 1 and facts.rows is not None:
            rows = min(rows, math.ceil(facts.rows / pipelines))
        # Not dataclasses.replace(), which would read the rows again.
        larger = copy.copy(self)
        object.__setattr__(larger, "batch_size", max(rows, self.batch_size))
        object.__setattr__(larger, "any_batch_size", True)
        return larger

    def shuffle_seed(self, seed: int) -> int | None:
        return self.reading_order("train", seed).seed
