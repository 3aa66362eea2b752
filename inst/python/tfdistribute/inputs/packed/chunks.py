"""Chunks of many batches as a ``tf.data.Dataset`` of batches.

Each crossing from Python into TensorFlow takes the GIL, and each function mapped over a dataset costs about 40
microseconds per element, a third of a small step. Both therefore happen once per chunk: TensorFlow's own threads
unpack the features of a chunk and then cut it into batches.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tfdistribute import engine
from tfdistribute.inputs.packed.layout import Layout, Matrices


def make_unpack(
    layout: Layout, label: str | None, dropped: str | None, packed: bool = False
) -> Callable[..., Any]:
    """Return a TensorFlow function that slices (matrices, string tables) into (features, label) or features.

    Matrices have one or more row dimensions. If ``packed``, numeric features stay in their matrices, for models that
    slice them (``engine.features``).
    """
    slices = {
        name: engine.features.ColumnSlice(slot.matrix, slot.start, slot.facts.shape)
        for name, slot in layout.slots.items()
        if name != dropped
    }
    table_names = list(layout.tables)
    order = [name for name in slices if name != label]
    in_matrices = {
        name: slices[name] for name in order if packed and layout.slots[name].facts.type != "string"
    }

    def unpack(matrices: tuple[Any, ...], tables: tuple[Any, ...]) -> Any:
        unpacked = {name: each for name, each in slices.items() if name not in in_matrices}
        columns = engine.features.slice_columns(matrices, unpacked)
        for name, table in zip(table_names, tables, strict=True):
            if name in columns:
                columns[name] = engine.tf.gather(table, columns[name])
        labels = None if label is None else columns.pop(label)
        features = columns
        if in_matrices:
            features = engine.features.pack(order, in_matrices, matrices, columns)
        return features if label is None else (features, labels)

    return unpack


# Limits of one crossing into TensorFlow.
_CHUNK_BATCHES = 64
_CHUNK_BYTES = 4 * 2**20
# Cutting a larger batch out of a chunk, which copies it, takes longer than a crossing.
_LARGE_BATCH_BYTES = 2**20

# Batches buffered ahead of the training step.
PREFETCHED_BATCHES = 4


def dataset_of_chunks(
    layout: Layout,
    batch_bytes: int,
    chunks: Callable[[int], Iterator[Matrices]],
    unpack: Callable[..., Any],
) -> Any:
    """Make a dataset of batches.

    ``chunks`` starts an iterator of tuples of arrays of shape [batches, examples, columns], one per matrix, with at
    most as many batches as its argument. ``unpack`` is a TensorFlow function of (matrices, tables) that returns
    (features, labels) or features; the dimensions [batches, examples], or [examples], precede the dimensions of an
    example.
    """
    tf = engine.tf
    at_once = min(_CHUNK_BATCHES, _CHUNK_BYTES // max(1, batch_bytes))
    at_once = 1 if batch_bytes >= _LARGE_BATCH_BYTES else at_once

    def columns_of(matrices: tuple[Any, ...], tables: tuple[Any, ...] = ()) -> Any:
        # Unlike cutting, this copies nothing.
        one = tuple(tf.squeeze(matrix, [0]) for matrix in matrices) if at_once == 1 else matrices
        return unpack(one, tables)

    signature = tuple(
        tf.TensorSpec([None, None, width], tf.dtypes.as_dtype(dtype))
        for width, dtype in zip(layout.widths, layout.dtypes, strict=True)
    )
    read = tf.data.Dataset.from_generator(lambda: chunks(at_once), output_signature=signature)
    whole = tf.data.Dataset.zip((read, _tables(layout)) if layout.tables else (read,))
    # AutoGraph has nothing to convert here, and is slow to find that out.
    columns = whole.map(tf.autograph.experimental.do_not_convert(columns_of))
    batches = columns if at_once == 1 else columns.prefetch(1).unbatch()
    return engine.repairs.dataset_tuning.without_autotuning(batches.prefetch(PREFETCHED_BATCHES))


def _tables(layout: Layout) -> Any:
    """Repeat the string tables for every chunk: they enter TensorFlow once and stay out of its graph."""
    tf = engine.tf
    tables = tuple(layout.tables.values())
    signature = tuple(tf.TensorSpec([len(table)], tf.string) for table in tables)
    once = tf.data.Dataset.from_generator(lambda: iter([tables]), output_signature=signature)
    return once.cache().repeat()
