"""The rows that a training sets apart to judge by them."""

from typing import Any

import numpy as np
import numpy.typing as npt

_Rows = npt.NDArray[np.int64]


def split(rows: int, share: float, seed: int, classes: Any = None) -> tuple[_Rows, _Rows]:
    """Return the numbers of the rows that train, and of those that validate: a share of the rows, or of each class.

    They depend on the seed and the number of rows only, not on processes, devices or NumPy's generators.
    """
    order = np.argsort(hashes(rows, seed), kind="stable")
    kinds = (
        np.zeros(rows, np.int64) if classes is None else np.unique(classes, return_inverse=True)[1]
    )
    held = np.zeros(rows, np.bool_)
    for kind in range(int(kinds.max()) + 1):
        members = order[kinds[order] == kind]
        held[members[: round(len(members) * share)]] = True
    if not held.any():
        held[order[0]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def hashes(count: int, seed: int) -> npt.NDArray[np.uint64]:
    """Hash the first whole numbers by splitmix64, https://prng.di.unimi.it/splitmix64.c."""
    numbers = np.arange(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = (numbers + np.uint64(seed % 2**32) * np.uint64(2**32 - 5)) + np.uint64(
            0x9E3779B97F4A7C15
        )
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
