"""Model functions in the program of a TPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from tfdistribute.engine.tpu.system import is_tpu

v1 = tf.compat.v1

# Marks of operations in a program for TPUs, and in one for XLA on another device.
PROGRAM_MARKS = ("_tpu_replicate", "_xla_compile_id")


@contextlib.contextmanager
def program() -> Iterator[None]:
    """Call a model function inside the block; on a TPU, it makes a part of a program.

    Summaries are forgotten there: values never leave the program, so a session that writes summaries would fail. The
    loss has a summary of its own.

    Source:
        ``_UNSUPPORTED_OPS`` in tensorflow/python/tpu/tpu_replication.py.
    """
    summaries = v1.get_default_graph().get_collection_ref(v1.GraphKeys.SUMMARIES)
    before = len(summaries)
    yield
    if is_tpu(tf.distribute.get_strategy()):
        del summaries[before:]
