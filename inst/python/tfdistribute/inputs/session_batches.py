"""Batches of an input as arrays, read in a session as an Estimator would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfdistribute import engine
from tfdistribute.errors import InputError
from tfdistribute.inputs.description import Input, Purpose
from tfdistribute.sharding import InputContext


def read_batches(
    source: Input, purpose: Purpose, seed: int, context: InputContext | None = None
) -> Iterator[Any]:
    """Read all batches of one pipeline as arrays; InputError if the input is endless or cannot be read."""
    tf = engine.tf
    with tf.Graph().as_default(), source.serving():
        yield from _run(tf, source.input_fn(purpose, seed)(context))


def endless_error() -> InputError:
    return InputError(
        "The input does not end, so its rows cannot be counted.",
        "Let the function return a dataset without repeat().",
        argument="input",
    )


def _run(tf: Any, dataset: Any) -> Iterator[Any]:
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
            raise endless_error()
        session.run(tf.compat.v1.tables_initializer())
        session.run(iterator.initializer)
        while True:
            try:
                batch = session.run(element)
            except tf.errors.OutOfRangeError:
                return
            yield batch
