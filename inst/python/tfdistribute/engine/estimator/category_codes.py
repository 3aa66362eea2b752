"""The pass `category_codes`: categories and classes of rows in memory, computed once for all rows.

TensorFlow's own feature columns compute the codes, so a step has the same categories with them as without.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.feature_column import feature_column_v2

from tfdistribute.columns import class_numbers
from tfdistribute.engine import patches
from tfdistribute.engine.estimator import model_inputs
from tfdistribute.engine.estimator.options import EstimatorOptions
from tfdistribute.engine.features.coded_columns import CodedColumn
from tfdistribute.engine.step import passes

columns_lib: Any = feature_column_v2

Codes = npt.NDArray[np.integer[Any]]

# Name of the feature that holds the class of each row's label; no column has it.
CLASSES = "class of label/each"
_CHUNK = 2**16
# Rows, which take a second to hash, and codes of all columns together, of 8 bytes each.
MOST_ROWS, MOST_CODES = 2**21, 2**23


def codes_of_rows(
    estimator: Any, rows: int, read: Callable[[str, slice], Any], label: str | None
) -> dict[str, Codes]:
    """Return the codes of all rows, by name of the feature or label that holds them.

    ``read`` returns the values of a column for a range of rows. Columns with several values in a row, or whose codes
    cannot be computed, are left out, so that the step of that row raises the error.
    """
    codes_by_name: dict[str, Codes] = {}
    options: EstimatorOptions = estimator.options
    if rows > MOST_ROWS or not passes.is_on("category_codes"):
        return codes_by_name
    for name, compute in _list_codes(options, label):
        if (len(codes_by_name) + 1) * rows > MOST_CODES:
            break
        with contextlib.suppress(tf.errors.OpError, TypeError, ValueError):
            codes = np.concatenate(list(_in_chunks(compute, rows, read)))
            codes_by_name[name if isinstance(name, str) else name(codes)] = codes
    return codes_by_name


def _list_codes(options: EstimatorOptions, label: str | None) -> Iterator[tuple[Any, Any]]:
    if options.kind == "canned":
        for name, levels in options.factor_levels.items():
            yield name, _codes_of(name, levels)
    if label is not None and options.label_levels is not None:
        yield label, _codes_of(label, options.label_levels)
    if label is not None and options.classes is not None:
        yield CLASSES, _classes_of(label, options.classes)
    columns = [getattr(each, "categorical_column", each) for each in options.columns]
    for column in dict.fromkeys(each for each in columns if isinstance(each, CodedColumn)):
        yield column.code_key, _categories_of(column, options)


def _in_chunks(compute: Any, rows: int, read: Callable[[str, slice], Any]) -> Iterator[Codes]:
    for begin in range(0, rows, _CHUNK):
        chunk = slice(begin, min(begin + _CHUNK, rows))
        yield compute(lambda name, chunk=chunk: read(name, chunk))


@contextlib.contextmanager
def _execute_eagerly() -> Iterator[None]:
    # Tables add their initializers to the default graph even if they are not part of it.
    with tf.Graph().as_default(), context.eager_mode(), tf.device("/cpu:0"):
        yield


def _codes_of(name: str, levels: Sequence[str]) -> Any:
    def compute(read: Callable[[str], Any]) -> Codes:
        values = read(name)
        if values.dtype != object:
            raise TypeError("codes already")
        with _execute_eagerly():
            return model_inputs.as_codes(tf.constant(values), levels).numpy()

    return compute


def _classes_of(label: str, classes: int | Sequence[str]) -> Any:
    numbers = np.array(range(classes) if isinstance(classes, int) else class_numbers(classes) or ())
    order = np.argsort(numbers)

    # Without TensorFlow, which would take a moment to begin.
    def compute(read: Callable[[str], Any]) -> Codes:
        values = read(label)
        if values.dtype == object and not isinstance(classes, int):
            return _codes_of(label, classes)(read)
        if values.ndim != 1 or not np.isin(values, numbers).all():
            raise ValueError("not classes")
        return order[np.searchsorted(numbers, values, sorter=order)].astype(np.int32)

    return compute


def _categories_of(column: Any, options: EstimatorOptions) -> Any:
    names = {key: name for name, key in options.feature_keys.items()}
    inside = [names[key] for key in column.parse_example_spec]

    def compute(read: Callable[[str], Any]) -> Codes:
        with _execute_eagerly():
            values = {name: tf.constant(read(name)) for name in inside}
            model_inputs.read_codes(values, options.factor_levels)
            features = model_inputs.rename_features(values, options.feature_keys)
            cache = columns_lib.FeatureTransformationCache(features)
            categories = column.get_sparse_tensors(cache, None).id_tensor
            count, most = categories.dense_shape.numpy()
            if most != 1:
                raise ValueError("rows have several categories")
            codes = np.full(count, -1, np.int64)
            codes[categories.indices.numpy()[:, 0]] = categories.values.numpy()
        return codes

    return compute


def of_known_classes() -> contextlib.AbstractContextManager[None]:
    """Return the context in which the heads of canned models take labels for classes that have been checked."""
    return patches.patch_temporarily("known_classes", _binary_classes, _several_classes)


def _binary_classes(original: Any, head: Any, logits: Any, labels: Any) -> Any:
    return tf.cast(_several_classes(original, head, logits, labels), tf.float32)


def _several_classes(_original: Any, _head: Any, _logits: Any, labels: Any) -> Any:
    return labels[:, tf.newaxis]
