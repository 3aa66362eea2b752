"""Chunks of many batches as a tf.data.Dataset of batches.

Each crossing from Python into TensorFlow takes Python's lock, and each function that is mapped over a dataset costs
about 40 microseconds per element, which is a third of a small step. So both are done by chunk: TensorFlow's own
threads take a chunk apart into features, and then cut these into batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tfdistribute import engine
from tfdistribute.inputs.packed.layout import Layout

# One crossing into TensorFlow carries at most this many batches and bytes.
CHUNK_BATCHES = 64
CHUNK_BYTES = 4 * 2**20

# Batches that wait for the training step.
PREFETCHED_BATCHES = 4


def batches_at_once(batch_bytes: int) -> int:
    """Say how many batches cross into TensorFlow at once.

    Args:
        batch_bytes: Size of one batch.
    """
    return max(1, min(CHUNK_BATCHES, CHUNK_BYTES // max(1, batch_bytes)))


def dataset_of_chunks(
    layout: Layout,
    chunks: Callable[[], Iterator[Any]],
    take_apart: Callable[..., Any],
    parallel_calls: int | None = None,
) -> Any:
    """Make a dataset of batches.

    Args:
        layout: Where the columns stand.
        chunks: Begins to give chunks: tuples of arrays of shape [batches, examples, columns], one per matrix.
        take_apart: Function of (matrices, tables) that returns (features, labels) or features, in TensorFlow; with
            the dimensions [batches, examples] before those of an example.
        parallel_calls: Chunks that are taken apart at once, where that is much work.

    Returns:
        A ``tf.data.Dataset``.
    """
    tf = engine.tf
    signature = tuple(
        tf.TensorSpec([None, None, width], tf.dtypes.as_dtype(dtype))
        for width, dtype in zip(layout.widths, layout.dtypes, strict=True)
    )
    whole = tf.data.Dataset.from_generator(chunks, output_signature=signature)
    if layout.tables:
        with_tables = tf.data.Dataset.zip((whole, _tables(layout)))
        columns = with_tables.map(_without_autograph(take_apart), parallel_calls)
    else:
        columns = whole.map(
            _without_autograph(lambda *matrices: take_apart(matrices, ())), parallel_calls
        )
    return columns.prefetch(1).unbatch().prefetch(PREFETCHED_BATCHES)


def _without_autograph(function: Callable[..., Any]) -> Callable[..., Any]:
    # There is nothing to convert, and AutoGraph takes its time to find that out.
    return engine.tf.autograph.experimental.do_not_convert(function)


def _tables(layout: Layout) -> Any:
    """Give every chunk the tables of strings, which cross into TensorFlow once and stay out of its graph."""
    tf = engine.tf
    tables = tuple(layout.tables.values())
    signature = tuple(tf.TensorSpec([len(table)], tf.string) for table in tables)
    once = tf.data.Dataset.from_generator(lambda: iter([tables]), output_signature=signature)
    return once.cache().repeat()
