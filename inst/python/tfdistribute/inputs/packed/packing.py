"""Packing of columns from R, whose numbers are read in R's memory; strings are stored as codes into a table."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tfdistribute.callbacks import as_callable
from tfdistribute.checksums import checksum
from tfdistribute.columns import (
    TYPES_OF_DTYPES,
    AcceptedValues,
    ColumnFacts,
    ReadTypes,
    by_name,
)
from tfdistribute.descriptions import Description
from tfdistribute.errors import InputError
from tfdistribute.inputs.packed.layout import Layout, Matrices, check_columns

# Columns are copied together, in blocks of rows: each line of memory is then written once, and not once per column.
# Once the arrays that R made for this reach this size, the columns so far are copied and the arrays released.
_GROUP_BYTES = 2**25
_BLOCK_ROWS = 2**14

# R's codes of types of vectors: logical, integer, double.
_DTYPES = {10: np.int32, 13: np.int32, 14: np.float64}
# Table of a column whose values have not been read.
_UNREAD = np.empty(0, dtype=object)


@dataclass(frozen=True)
class Column(Description):
    """One column as R sends it.

    ``values`` returns an array of shape [rows, ...], numbers in any dtype. For "integer64", an array of doubles that
    hold the integers' bits, as in R's bit64. For "string", a mapping of ``codes`` (from 0) and ``labels``, an array of
    the strings. R returns a long vector of numbers as a mapping of its ``address`` and ``array``, a function that
    copies it. It is called once, and its arrays are not kept, since they may be R's own memory.
    """

    name: str
    type: str
    values: Callable[[], Any]
    shape: tuple[int, ...] = ()
    levels: tuple[str, ...] | None = None
    as_labels: bool = False
    fill: Any = None
    term: str | None = None
    # The type of the values, if the column is read in another one.
    held: str | None = None

    @property
    def facts(self) -> ColumnFacts:
        shape, levels, as_labels = self.shape, self.levels, self.as_labels
        return ColumnFacts(self.name, self.type, shape, levels, as_labels, self.fill, self.term)


@dataclass(frozen=True)
class PackedColumns:
    """Columns of numbers and codes.

    Args:
        matrices: One C-order array of shape [rows, columns] per dtype.
        chosen: The rows of the matrices that are meant, in this order; None for all.
    """

    matrices: Matrices
    layout: Layout
    chosen: npt.NDArray[np.integer[Any]] | None = None

    @property
    def rows(self) -> int:
        return len(self.matrices[0] if self.chosen is None else self.chosen)

    def values(self, name: str, rows: slice) -> npt.NDArray[Any]:
        slot, table = self.layout.slots[name], self.layout.tables.get(name)
        held = slot.of(self.matrices)[rows if self.chosen is None else self.chosen[rows]]
        values = held.reshape(-1, *slot.facts.shape)
        return values if table is None else table[values]

    def with_columns(self, numbers: Mapping[str, npt.NDArray[Any]]) -> "PackedColumns":
        """Add or replace columns by numbers of shape [rows], in matrices of their own."""
        own = Layout.of(
            [ColumnFacts(name, TYPES_OF_DTYPES[each.dtype.name]) for name, each in numbers.items()]
        )
        matrices = own.empty(len(self.matrices[0]))
        rows = slice(None) if self.chosen is None else self.chosen
        for name, slot in own.slots.items():
            slot.of(matrices)[rows, 0] = numbers[name]
        return PackedColumns((*self.matrices, *matrices), self.layout.join(own), self.chosen)

    def places(self, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.integer[Any]]:
        """Return where rows are in the matrices."""
        return rows if self.chosen is None else self.chosen[rows]

    def gather(self, rows: npt.NDArray[np.integer]) -> Matrices:
        """Copy rows by numbers of shape [batches, examples] into arrays of shape [batches, examples, columns]."""
        return tuple(np.take(matrix, self.places(rows), axis=0) for matrix in self.matrices)

    def subset(self, rows: npt.NDArray[np.integer[Any]]) -> "PackedColumns":
        """Choose rows, which are not copied."""
        return replace(self, chosen=self.places(rows))

    def narrow(self, types: Mapping[str, str]) -> "PackedColumns":
        """Return the same rows, in which columns of doubles that ``types`` reads as "float" have 32 bits."""
        facts = [
            replace(each, type="float")
            if each.type == "double" and types.get(name) == "float"
            else each
            for name, each in self.layout.facts.items()
        ]
        if facts == list(self.layout.facts.values()):
            return self
        layout = Layout.of(facts, self.layout.tables)
        matrices = layout.empty(len(self.matrices[0]))
        group = _Group()
        for name, slot in layout.slots.items():
            group.add(slot.of(matrices), self.layout.slots[name].of(self.matrices))
        group.copy()
        return PackedColumns(matrices, layout, self.chosen)

    def checksum(self) -> str:
        texts = ("\0".join(map(str, table)) for table in self.layout.tables.values())
        encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
        arrays = (*self.matrices, *(() if self.chosen is None else (self.chosen,)))
        return checksum([*(each.data for each in arrays), *encoded])

    def check(self, accepted: AcceptedValues) -> None:
        rows = slice(None) if self.chosen is None else self.chosen
        numbers = range(self.rows) if self.chosen is None else self.chosen
        check_columns(
            self.layout, self.matrices, accepted, lambda row: f"row {numbers[row] + 1}", rows
        )

    def range(self, name: str) -> tuple[float, float] | None:
        if name in self.layout.tables or self.rows == 0:
            return None
        values = self.values(name, slice(None))
        return float(values.min()), float(values.max())


def read_as(
    columns: Sequence[Column], types: ReadTypes, response: str | None = None
) -> list[Column]:
    """Return the columns, with other types for columns of doubles, as in ``Input.reading``."""
    wanted = by_name(types, response)
    return [
        replace(column, type=wanted[column.name], held="float")
        if "float" in (column.type, column.held) and column.name in wanted
        else column
        for column in columns
    ]


def check_names(columns: Sequence[Column], response: str | None) -> None:
    names = [column.name for column in columns]
    for name in sorted(set(names)):
        if names.count(name) > 1:
            raise InputError(
                f"The input has two columns `{name}`.", "Rename one of them.", argument=name
            )
    if response is not None and response not in names:
        raise InputError(
            f"The response `{response}` is not a column.", "Name a column.", argument="response"
        )


def pack(
    columns: Sequence[Column], allocate: Callable[[Layout, int], Matrices] = Layout.empty
) -> PackedColumns:
    """Copy columns into matrices, a few at a time, which share no memory with the columns' arrays.

    Columns that are read as whole numbers but have fractions keep their own type, so that models reject them. Raises
    InputError if there are no columns, or if columns differ in rows or do not have their declared shape.
    """
    if not columns:
        raise InputError(
            "The input has no columns.", "Choose at least one feature.", argument="features"
        )
    try:
        return _pack(columns, allocate)
    except _NotWholeError as error:
        own = [
            replace(each, type=each.held or each.type) if each.name == str(error) else each
            for each in columns
        ]
        return pack(own, allocate)


def _pack(columns: Sequence[Column], allocate: Callable[[Layout, int], Matrices]) -> PackedColumns:
    layout = Layout.of(
        [column.facts for column in columns],
        {column.name: _UNREAD for column in columns if column.type == "string"},
    )
    matrices: Matrices = ()
    tables: dict[str, npt.NDArray[np.object_]] = {}
    group = _Group()
    for column in columns:
        values, table = _read(column)
        if not matrices:
            matrices = allocate(layout, len(values))
        _check_shape(column, values, len(matrices[0]))
        target = layout.slots[column.name].of(matrices)
        group.add(target, values.reshape(target.shape))
        if table is not None:
            tables[column.name] = table
    group.copy()
    return PackedColumns(matrices, replace(layout, tables=tables))


class _Group:
    def __init__(self) -> None:
        self._columns: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
        self._bytes = 0

    def add(self, target: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        self._columns.append((target, values))
        # What cannot be written to is in R's vectors.
        self._bytes += values.nbytes if values.flags.writeable else 0
        if self._bytes >= _GROUP_BYTES:
            self.copy()

    def copy(self) -> None:
        rows = len(self._columns[0][0]) if self._columns else 0
        # Doubles beyond float32 become infinite here; R has already refused them by column name. R's NA is a
        # signaling NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, rows, _BLOCK_ROWS):
                block = slice(first, first + _BLOCK_ROWS)
                for target, values in self._columns:
                    target[block] = values[block]
        self._columns, self._bytes = [], 0


def _read(column: Column) -> tuple[npt.NDArray[Any], npt.NDArray[np.object_] | None]:
    values = column.values()
    if column.type == "string":
        coded = cast(Mapping[str, Any], values)
        return np.asarray(coded["codes"]), np.array(coded["labels"], dtype=object, ndmin=1)
    array = _vector(values) if isinstance(values, Mapping) else np.asarray(values)
    if column.type == "integer64" and array.dtype == np.float64:
        array = array.view(np.int64) if column.held is None else _whole(array, column.name)
    return array, None


def _whole(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    # Beyond 2^53, doubles do not hold every whole number.
    if not np.all((np.trunc(values) == values) & (np.abs(values) <= 2.0**53)):
        raise _NotWholeError(name)
    return values.astype(np.int64)


class _NotWholeError(ValueError):
    """The argument is the name of a column."""


def _vector(given: Mapping[str, Any]) -> npt.NDArray[Any]:
    copy = as_callable(given["array"])
    assert copy is not None
    values = numbers_at(given["address"], copy)
    return np.asarray(copy()) if values is None else values


def _check_shape(column: Column, values: npt.NDArray[Any], rows: int) -> None:
    if values.shape == (rows, *column.shape):
        return
    raise InputError(
        f"The column `{column.name}` has shape {list(values.shape)} where {[rows, *column.shape]} is expected.",
        "Give every column the same number of rows.",
        argument=column.name,
    )


class _R:
    """The functions of R in this process; AttributeError (on Windows, TypeError) if none can be found."""

    def __init__(self) -> None:
        # Of all libraries of this process. The calls keep Python's lock, which R needs.
        library = ctypes.PyDLL(None)

        def function(name: str, returned: Any) -> Any:
            function = getattr(library, name)
            function.argtypes, function.restype = [ctypes.c_void_p], returned
            return function

        self.type_of = function("TYPEOF", ctypes.c_int)
        self.length = function("Rf_xlength", ctypes.c_ssize_t)
        self.values = function("DATAPTR_OR_NULL", ctypes.c_void_p)


def numbers_at(address: str, owner: Any) -> npt.NDArray[Any] | None:
    """Return the numbers of an R vector as an array in R's memory, which must not be written to.

    To be called on R's thread with the address from ``rlang::obj_address()``. The array keeps ``owner``, which keeps
    the vector alive. None if the vector has other values, if R has not computed them yet, as in 1:n, or if R's
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
