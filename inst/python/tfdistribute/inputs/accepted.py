"""Check of a column's values against those that a model can use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.columns import Accepted

Values = npt.NDArray[Any]


def check_values(values: Values, accepted: Accepted, locate: Callable[[int], str]) -> None:
    """Check the values of rows, of which strings may be bytes; ``locate`` returns the place of a row."""
    others = not_accepted(values, accepted)
    if others.any():
        row = int(others.reshape(len(values), -1).any(axis=1).argmax())
        found = dict.fromkeys(_text(value) for value in values[others].tolist())
        raise accepted.error(list(found), locate(row))


def check_codes(
    codes: Values, table: Values, accepted: Accepted, locate: Callable[[int], str]
) -> None:
    """Check the strings behind the codes of rows, as ``check_values``."""
    # Few labels stand for many rows, and not all of them need to be there.
    others = not_accepted(table, accepted)
    if others.any() and others[codes].any():
        check_values(table[codes], accepted, locate)


def not_accepted(values: Values, accepted: Accepted) -> npt.NDArray[np.bool_]:
    if isinstance(accepted.values, range):
        return (values < accepted.values.start) | (values >= accepted.values.stop)
    if values.dtype != np.object_:
        return np.isin(values, list(accepted.values), invert=True)
    listed = values.ravel().tolist()
    others = {value for value in set(listed) if _text(value) not in accepted.values}
    if not others:
        return np.zeros(values.shape, np.bool_)
    return np.array([value in others for value in listed]).reshape(values.shape)


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
