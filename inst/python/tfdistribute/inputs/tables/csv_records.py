"""Location of the records in a CSV file, without parsing values.

A record is a line, except that quoted fields may contain newlines. A file can therefore be cut into blocks only if
the quotes before the cut are known, which takes one pass over the file. Quotes that RFC 4180 forbids raise InputError
here: pyarrow would read them as part of a value, or read the rest of the file as one value.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tfdistribute.errors import InputError
from tfdistribute.inputs.files.files import File, changed_error, open_file

# Bytes of text parsed at once. Each column takes time of its own, so wide tables have larger blocks.
TEXT_BYTES = 2**20
_WIDE_COLUMNS, _MOST_TIMES = 128, 8
# A longer record is reported as an unclosed quote.
LONGEST_RECORD = 16 * 2**20
_HEADER_BYTES = 2**16

_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
# Common delimiters of files that are called CSV.
_DELIMITERS = (";", "\t", "|", ",")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Span:
    """Byte range of whole records; ``line`` counts from 1, and ``records`` excludes empty ones."""

    offset: int
    size: int
    line: int
    records: int


def find_spans(file: File, delimiter: str, first: bool = False) -> Iterator[Span]:
    """Cut a file into spans of about ``TEXT_BYTES`` (RFC 4180); the first holds only the first filled record."""
    size = TEXT_BYTES
    with open_file(file.path) as stream:
        cursor = _Cursor(file, delimiter, stream.read(_HEADER_BYTES))
        header_found = at_end = False
        while True:
            ends = cursor.ends(at_end)
            if not header_found:
                filled = np.flatnonzero(_mark_filled(cursor.data, ends))
                if len(filled):
                    header_found = True
                    columns = cursor.data[: ends[filled[0]]].count(delimiter.encode())
                    size *= min(1 + columns // _WIDE_COLUMNS, _MOST_TIMES)
                    yield cursor.cut(ends[: filled[0] + 1])
                    if first:
                        return
                    continue
            elif len(ends) and (len(cursor.data) >= size or at_end):
                yield cursor.cut(ends)
            if at_end:
                return
            read = stream.read(size)
            at_end = not read
            cursor.add(read)


class _Cursor:
    def __init__(self, file: File, delimiter: str, data: bytes) -> None:
        _check_text(file, data)
        self.data = data.removeprefix(_BYTE_ORDER_MARK)
        self._file = file
        self._delimiter = delimiter
        self._offset = len(data) - len(self.data)
        self._read = len(data)
        self._line = 1

    def ends(self, at_end: bool) -> npt.NDArray[np.int64]:
        return _record_ends(self._file, self.data, self._delimiter, self._line, at_end)

    def cut(self, ends: npt.NDArray[np.int64]) -> Span:
        size = int(ends[-1])
        done, self.data = self.data[:size], self.data[size:]
        span = Span(self._offset, size, self._line, int(_mark_filled(done, ends).sum()))
        self._offset += size
        self._line += done.count(b"\n")
        return span

    def add(self, data: bytes) -> None:
        self._read += len(data)
        if self._read > self._file.size:
            # Something writes to it, perhaps without end.
            raise changed_error(self._file.path)
        if len(self.data) > LONGEST_RECORD:
            raise _refusal(
                self._file,
                self._line,
                f"does not end within {LONGEST_RECORD // 2**20} MB",
                "Close the quote that begins there.",
            )
        self.data += data


def lines_of_records(file: File, span: Span, data: bytes, delimiter: str) -> list[int]:
    ends = _record_ends(file, data, delimiter, span.line, at_end=True)
    starts = np.concatenate([[0], ends[:-1]])[_mark_filled(data, ends)]
    newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
    return (span.line + np.searchsorted(newlines, starts)).tolist()


def _check_text(file: File, data: bytes) -> None:
    problem = remedy = None
    if not data:
        raise InputError(
            f'The file "{file.path}" is empty: the line with the names of its columns is missing.',
            "Leave it out, or begin it with the names of the columns.",
            argument="paths",
            value=file.path,
        )
    if data[:2] == b"\x1f\x8b":
        problem = "is compressed"
    elif data[:4] == b"PAR1":
        problem, remedy = "is a Parquet file", "Use input_parquet()."
    elif data[:6] == b"ARROW1":
        problem, remedy = "is an Arrow file", "Use input_arrow()."
    elif b"\x00" in data[:1000]:
        problem = "is not text in UTF-8"
    if problem is not None:
        raise InputError(
            f'The file "{file.path}" {problem}, and cannot be read as CSV.',
            remedy or "Give CSV files in UTF-8, not compressed.",
            argument="paths",
            value=file.path,
        )


def _record_ends(
    file: File, data: bytes, delimiter: str, line: int, at_end: bool
) -> npt.NDArray[np.int64]:
    letters = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(letters == _NEWLINE)
    quotes = np.flatnonzero(letters == _QUOTE) if b'"' in data else np.empty(0, np.int64)
    if len(quotes):
        _check_quotes(file, letters, quotes, delimiter, line, at_end)
        newlines = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    ends = newlines + 1
    if at_end and len(data) and (not len(ends) or ends[-1] != len(data)):
        ends = np.append(ends, len(data))
    return ends


def _check_quotes(
    file: File,
    letters: npt.NDArray[np.uint8],
    quotes: npt.NDArray[np.int64],
    delimiter: str,
    line: int,
    at_end: bool,
) -> None:
    def line_of(position: int) -> int:
        return line + int((letters[:position] == _NEWLINE).sum())

    around = np.array([ord(delimiter), _NEWLINE, _RETURN, _QUOTE], np.uint8)
    begin, close = quotes[0::2], quotes[1::2]
    before = np.where(begin > 0, letters[begin - 1], _NEWLINE)
    wrong = begin[~np.isin(before, around)]
    after = letters[np.minimum(close + 1, len(letters) - 1)]
    wrong_close = close[~np.isin(after, around) & (close + 1 < len(letters))]
    wrong = np.concatenate([wrong, wrong_close])
    if len(wrong):
        first = int(wrong.min())
        if line_of(first) == 1:
            check_delimiter(file, bytes(letters).split(b"\n", 1)[0], delimiter)
        raise _refusal(
            file,
            line_of(first),
            "has a quote inside a field",
            'Quote the whole field and double the quotes in it, as in "5"" pipe".',
        )
    if at_end and len(quotes) % 2:
        raise _refusal(
            file, line_of(int(quotes[-1])), "opens a quote that is never closed", "Close the quote."
        )


def check_delimiter(file: File, header: bytes, delimiter: str) -> None:
    other = next((each for each in _DELIMITERS if each.encode() in header), None)
    if other is not None and delimiter.encode() not in header:
        text = other.replace("\t", "\\t")
        raise InputError(
            f'The file "{file.path}" seems to have "{text}" between its fields, not "{delimiter}".',
            f'Give delim = "{text}".',
            argument="delim",
            value=delimiter,
        )


def _mark_filled(data: bytes, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    letters = np.frombuffer(data, np.uint8)
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    sizes = ends - starts
    first = letters[starts]
    empty = (sizes == 1) & ((first == _NEWLINE) | (first == _RETURN))
    return ~(empty | ((sizes == 2) & (first == _RETURN)))


def _refusal(file: File, line: int, problem: str, remedy: str) -> InputError:
    return InputError(
        f'Line {line} of "{file.path}" {problem}.', remedy, argument="paths", value=file.path
    )
