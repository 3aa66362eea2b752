"""Batches of an input as arrays, drawn as an Estimator draws them: in a graph, while the input is serving."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfdistribute import engine
from tfdistribute.errors import InputError
from tfdistribute.inputs.description import Input, Purpose
from tfdistribute.sharding import InputContext


def batches_of(
    source: Input, purpose: Purpose, seed: int, context: InputContext | None = None
) -> Iterator[Any]:
    """Draw all batches of one pipeline.

    Args:
        source: The input. It has to end.
        purpose: What the dataset is made for.
        seed: Seed of the run, where the input does not have its own.
        context: Which pipeline; None outside a strategy.

    Yields:
        (features, labels) or features, with arrays in the place of tensors.

    Raises:
        InputError: the input does not end, is no dataset, or cannot be read.
    """
    tf = engine.tf
    with tf.Graph().as_default(), source.serving():
        yield from _drawn(tf, source.input_fn(purpose, seed)(context))


def endless() -> InputError:
    """Make the error for an input without an end."""
    return InputError(
        "The input does not end, so that its rows cannot be counted.",
        "Let the function return a dataset without repeat().",
        argument="input",
    )


def _drawn(tf: Any, dataset: Any) -> Iterator[Any]:
    if not isinstance(dataset, tf.data.Dataset):
        raise InputError(
            "The input function returned tensors, which cannot be divided over workers.",
            "Return a tf.data.Dataset of batches.",
            argument="input",
        )
    cardinality = tf.data.experimental.cardinality(dataset)
    iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.compat.v1.Session() as session:
        if session.run(cardinality) == tf.data.experimental.INFINITE_CARDINALITY:
            raise endless()
        session.run(tf.compat.v1.tables_initializer())
        session.run(iterator.initializer)
        while True:
            try:
                batch = session.run(element)
            except tf.errors.OutOfRangeError:
                return
            yield batch
