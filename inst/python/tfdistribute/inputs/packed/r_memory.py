"""Numbers in the memory of an R vector, read without a copy through R's C interface."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

# R's codes of types of vectors: logical, integer, double.
_DTYPES = {10: np.int32, 13: np.int32, 14: np.float64}


class _R:
    """The functions of R in this process; AttributeError (on Windows, TypeError) if none can be found."""

    def __init__(self) -> None:
        # Of all libraries of this process. The calls keep Python's lock, which R needs.
        library = ctypes.PyDLL(None)

        def function(name: str, returned: Any) -> Any:
            found = getattr(library, name)
            found.argtypes, found.restype = [ctypes.c_void_p], returned
            return found

        self.type_of = function("TYPEOF", ctypes.c_int)
        self.length = function("Rf_xlength", ctypes.c_ssize_t)
        self.values = function("DATAPTR_OR_NULL", ctypes.c_void_p)


def numbers_at(address: str, owner: Any) -> npt.NDArray[Any] | None:
    """Return the numbers of an R vector as an array in R's memory, which must not be written to.

    To be called on R's thread with the address from ``rlang::obj_address()``. The array keeps ``owner``, which keeps
    the vector alive. None if the vector has other values, if R has not computed them yet, as those of 1:n, or if R's
    functions cannot be called.
    """
    r, vector = _r(), int(address, 16)
    if r is None:
        return None
    dtype, start = _DTYPES.get(r.type_of(vector)), r.values(vector)
    if dtype is None or start is None:
        return None
    memory = (ctypes.c_char * (r.length(vector) * np.dtype(dtype).itemsize)).from_address(start)
    memory.owner = owner
    values = np.frombuffer(memory, dtype)
    values.flags.writeable = False
    return values


@cache
def _r() -> _R | None:
    try:
        return _R()
    except (AttributeError, TypeError):
        return None
