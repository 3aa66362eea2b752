"""Tables that turn words into numbers and do not change, such as those of vocabulary columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import tensorflow as tf
from tensorflow.python.eager import context

_FILLING = ("LookupTableImportV2", "InitializeTableV2")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The contents of a table.

    Args:
        keys: The words.
        values: The number of each.
    """

    keys: npt.NDArray[Any]
    values: npt.NDArray[Any]

    def find(self, words: npt.NDArray[Any], default: Any) -> npt.NDArray[Any]:
        """Look up words, as the operation of TensorFlow does."""
        with context.eager_mode(), tf.device("/cpu:0"):
            keys, values = tf.constant(self.keys), tf.constant(self.values)
            # tf.lookup.StaticHashTable adds its initializer to the graph that is being built. Here that is None, with
            # which TensorFlow could not write the initializers into the meta graph of a checkpoint.
            table = tf.raw_ops.AnonymousHashTable(key_dtype=keys.dtype, value_dtype=values.dtype)
            tf.raw_ops.LookupTableImportV2(table_handle=table, keys=keys, values=values)
            return tf.raw_ops.LookupTableFindV2(
                table_handle=table,
                keys=tf.constant(words, keys.dtype),
                default_value=tf.constant(default, values.dtype),
            ).numpy()


def vocabularies_of(graph: Any) -> dict[str, Vocabulary]:
    """Return the tables of a graph that are filled with constants, by the name of their tensor."""
    found = dict[str, Vocabulary]()
    for operation in graph.get_operations():
        if operation.type not in _FILLING or operation.inputs[0].op.type != "HashTableV2":
            continue
        keys, values = (tf.get_static_value(each) for each in operation.inputs[1:])
        if keys is not None and values is not None:
            found[operation.inputs[0].name] = Vocabulary(keys, values)
    return found
