"""Many columns of numbers in a record batch as one matrix, without work for each of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.storage.buckets import arrow_module

# Columns that are written at once: as many values of a row as a line of memory holds.
_AT_ONCE = 16


def choose_plain(batch: Any, names: Iterable[str], dtype: np.dtype[Any]) -> Any:
    """Return the columns that hold a dtype; floats of both sizes count as one. No integers if one is missing."""
    pyarrow = arrow_module("pyarrow")
    alike = (np.float32, np.float64) if dtype.kind == "f" else (dtype,)
    types = [] if dtype.hasobject else [pyarrow.from_numpy_dtype(each) for each in alike]
    places = dict(zip(batch.schema.names, enumerate(batch.schema.types), strict=True))
    columns = batch.select([places[name][0] for name in names if places[name][1] in types])
    is_whole = dtype.kind == "f" or all(each.null_count == 0 for each in columns.columns)
    return columns if is_whole else columns.select([])


def numbers_of(batch: Any) -> npt.NDArray[Any]:
    """Return all columns, each contiguous, as a matrix, with NaN for missing values."""
    if not batch.num_columns:
        return np.empty((batch.num_rows, 0))
    if not hasattr(batch, "to_tensor"):
        return np.stack([each.to_numpy(zero_copy_only=False) for each in batch.columns]).T
    is_float = arrow_module("pyarrow").types.is_floating(batch.schema.types[0])
    return batch.to_tensor(null_to_nan=is_float, row_major=False).to_numpy()


def put_columns(matrix: npt.NDArray[Any], places: Sequence[int], values: npt.NDArray[Any]) -> None:
    """Write columns to places that ascend; FloatingPointError if NumPy raises it for values that are too large."""
    for first in range(0, len(places), _AT_ONCE):
        chosen = places[first : first + _AT_ONCE]
        is_run = chosen[-1] - chosen[0] == len(chosen) - 1
        target: Any = slice(chosen[0], chosen[-1] + 1) if is_run else chosen
        matrix[:, target] = values[:, first : first + _AT_ONCE]
