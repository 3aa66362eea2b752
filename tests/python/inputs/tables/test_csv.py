"""CSV files: values, types, and errors with line numbers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.table_inputs import refusal, refusal_when_read, rows_of, written

from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.inputs import Input, audit_sharding
from tfdistribute.inputs.files.files import file_at
from tfdistribute.inputs.tables import csv_records

ROWS = 7


def csv_input(*paths: Path, **fields: Any) -> Input:
    return read(Input, {"kind": "csv", "paths": [str(path) for path in paths], **fields})


def test_types_are_inferred_and_values_are_kept(tmp_path: Path, tensorflow: Any):
    path = written(
        tmp_path,
        "i,big,x,ok,s,day,time,y\n"
        "1,3000000000,0.5,true,a,2024-01-02,2024-01-01 00:00:01,1\n"
        '-2,4,1e3,FALSE,"b, ""c""\nd",1969-12-31,1970-01-01 00:00:00,2\n',
    )
    source = csv_input(path, response="y")
    facts = source.facts()
    assert {name: column.type for name, column in facts.features.items()} == {
        "i": "integer",
        "big": "integer64",
        "x": "float",
        "ok": "logical",
        "s": "string",
        "day": "date",
        "time": "datetime",
    }
    assert (facts.label.name, facts.label.type, facts.rows) == ("y", "integer", 2)
    assert rows_of(tensorflow, source) == {
        "i": [1, -2],
        "big": [3000000000, 4],
        "x": [0.5, 1000.0],
        "ok": [1, 0],
        "s": [b"a", b'b, "c"\nd'],
        "day": [19724.0, -1.0],
        "time": [1704067201.0, 0.0],
        "label": [1, 2],
    }


def test_given_types_and_chosen_columns_are_used(tmp_path: Path, tensorflow: Any):
    path = written(tmp_path, "zip,x,rest,y\n01234,1,z,0\n56789,2,z,1\n")
    source = csv_input(
        path, features=("zip", "x"), response="y", types={"zip": "string", "x": "float"}
    )
    assert rows_of(tensorflow, source) == {
        "zip": [b"01234", b"56789"],
        "x": [1.0, 2.0],
        "label": [0, 1],
    }
    predicted = rows_of(tensorflow, source, "predict")
    assert list(predicted) == ["zip", "x"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_newlines_marks_and_empty_lines_are_not_rows(
    newline: str, mark: bytes, last: bool, tmp_path: Path, tensorflow: Any
):
    lines = ["", '"x",s', "1,a", "", '2,"b', 'c"', "", "3,d"]
    text = newline.join(lines) + (newline if last else "")
    source = csv_input(written(tmp_path, mark + text.encode()))
    assert source.facts().rows == 3
    found = rows_of(tensorflow, source)
    assert found["x"] == [1, 2, 3]
    assert found["s"] == [b"a", f"b{newline}c".encode(), b"d"]


def test_columns_may_have_another_order_in_another_file(tmp_path: Path, tensorflow: Any):
    first = written(tmp_path, "a,b\n1,2\n", "1.csv")
    empty = written(tmp_path, "b,a\n", "2.csv")
    second = written(tmp_path, "b,c,a\n4,5,3\n", "3.csv")
    source = csv_input(first, empty, second)
    assert rows_of(tensorflow, source) == {"a": [1, 3], "b": [2, 4]}
    assert rows_of(tensorflow, csv_input(tmp_path / "*.csv")) == {"a": [1, 3], "b": [2, 4]}


def test_a_first_file_without_rows_leaves_the_types_to_the_next(tmp_path: Path, tensorflow: Any):
    empty = written(tmp_path, "a,s\n", "1.csv")
    filled = written(tmp_path, "a,s\n1,u\n", "2.csv")
    assert rows_of(tensorflow, csv_input(empty, filled)) == {"a": [1], "s": [b"u"]}
    assert "have no rows" in refusal(csv_input(empty)).problem


def test_many_blocks_are_read_as_one_file(
    tmp_path: Path, tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(csv_records, "TEXT_BYTES", 200)
    rows = [(k, f'text "{k}"\n' * (k % 7), k / 8) for k in range(500)]
    lines = ["k,s,x"]
    lines += [f'{k},"{text.replace(chr(34), chr(34) * 2)}",{x}' for k, text, x in rows]
    source = csv_input(written(tmp_path, "\n".join(lines)), batch_size=32)
    found = rows_of(tensorflow, source)
    assert source.facts().rows == 500
    assert found["k"] == [k for k, _, _ in rows]
    assert found["s"] == [text.encode() for _, text, _ in rows]
    assert found["x"] == [x for _, _, x in rows]
    assert sorted(rows_of(tensorflow, source, "train")["k"]) == list(range(500))


def test_wide_tables_have_larger_blocks(
    tmp_path: Path, tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    """Each column of a block takes time, however few rows it has."""
    monkeypatch.setattr(csv_records, "TEXT_BYTES", 2000)
    for columns, times in ((20, 1), (300, 3), (3000, 8)):
        names = [f"x{number}" for number in range(columns)]
        rows = [",".join([str(row % 10)] * columns) for row in range(60000 // columns)]
        path = written(tmp_path, "\n".join([",".join(names), *rows]), f"{columns}.csv")
        sizes = [span.size for span in csv_records.find_spans(file_at(str(path)), ",")][2:-1]
        assert sizes and all(abs(size - times * 2000) <= 2 * columns for size in sizes)
        found = rows_of(tensorflow, csv_input(path))
        assert found["x7"] == [row % 10 for row in range(60000 // columns)]


def test_missing_values_are_refused_by_column_and_line(tmp_path: Path, tensorflow: Any):
    path = written(tmp_path, "x,s,y\n1,a,1\n2,NA,2\nNA,b,3\n")
    error = refusal_when_read(tensorflow, csv_input(path, features=("x",), response="y"))
    assert error.problem == f'The column `x` has a missing value in line 4 of "{path}".'
    assert "impute = list(`x` = 0)" in str(error)
    error = refusal_when_read(tensorflow, csv_input(path, features=("s",), response="y"))
    assert error.problem == f'The column `s` has a missing value in line 3 of "{path}".'
    source = csv_input(path, response="y", impute={"x": 9.0, "s": "none"})
    found = rows_of(tensorflow, source)
    assert found["x"] == [1, 2, 9]
    assert found["s"] == [b"a", b"none", b"b"]
    error = refusal_when_read(tensorflow, csv_input(path, features=("y",), response="x"))
    assert error.remedy == "Remove the rows without a response."


def test_strings_for_missing_values_can_be_chosen(tmp_path: Path, tensorflow: Any):
    path = written(tmp_path, 's,x\n"",1\nNA,-\n"NA",2\n')
    source = csv_input(path, na=("-",), impute={"x": 0})
    assert rows_of(tensorflow, source) == {"s": [b"", b"NA", b"NA"], "x": [1, 0, 2]}
    kept = csv_input(path, features=("s",), na=("NA",), impute={"s": "none"})
    assert rows_of(tensorflow, kept) == {"s": [b"", b"none", b"NA"]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,y\n1,2\n\n3,4,5\n", "line 4"),
        ("x,y\n1,2\n3\n", "line 3"),
    ],
)
def test_a_row_with_another_number_of_fields_is_refused_with_its_line(
    text: str, said: str, tmp_path: Path
):
    path = written(tmp_path, text)
    error = refusal(csv_input(path))
    assert f'{said} of "{path}"' in error.problem
    assert "Expected 2 columns" in error.problem
    assert 'on_bad_row = "skip"' in str(error)


def test_a_later_value_of_another_type_is_refused_with_its_place(tmp_path: Path, tensorflow: Any):
    first = written(tmp_path, "x,y\n1,2\n", "1.csv")
    second = written(tmp_path, 'y,x\n"2",3\n4,many\n', "2.csv")
    error = refusal_when_read(tensorflow, csv_input(first, second))
    assert f'The column `x` has a value of another type in line 3 of "{second}"' in error.problem
    assert "'many'" in error.problem
    assert 'types = list(x = "string")' in str(error)
    fraction = written(tmp_path, "x,y\n2.5,3\n", "3.csv")
    error = refusal_when_read(tensorflow, csv_input(first, fraction))
    assert 'types = list(x = "float")' in str(error)


def test_text_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path, tensorflow: Any):
    path = written(tmp_path, b"s,x\nok,1\nM\xfcller,2\n")
    error = refusal(csv_input(path))
    assert f'line 3 of "{path}"' in error.problem
    assert "The column `s` has text that is not UTF-8" in error.problem
    assert 'iconv(readLines("old.csv"), "latin1", "UTF-8")' in str(error.remedy)
    assert "not UTF-8" in refusal(csv_input(written(tmp_path, b"\xfc\n1\n"))).problem
    utf16 = written(tmp_path, "x\n1\n".encode("utf-16"))
    assert "is not text in UTF-8" in refusal(csv_input(utf16)).problem


def test_other_files_than_csv_are_refused_by_name(tmp_path: Path):
    for content, said in (
        (b"", "is empty"),
        (b"\n\n", "only empty lines"),
        (b"\x1f\x8b123", "is compressed"),
        (b"PAR1....", "is a Parquet file"),
        (b"ARROW1..", "is an Arrow file"),
        (b"a,a\n1,2\n", "two columns `a`"),
        (b'a,b\n1,2\n3,5" pipe\n', "Line 3"),
        (b'a,b\n1,2\n3,"never\nclosed\n', "Line 3"),
        (b"a\nNA\n", "only missing values"),
        (b"a" * 200_000 + b"\n1\n", "a name of more than 131,072 characters"),
        (b"a\n12:00:01\n", "type that TensorFlow does not support"),
    ):
        path = written(tmp_path, content)
        error = refusal(csv_input(path))
        assert said in error.problem, content
        assert str(path) in error.problem
    assert "does not exist" in refusal(csv_input(tmp_path / "none.csv")).problem
    assert "matches no file" in refusal(csv_input(tmp_path / "*.tsv")).problem


def test_a_header_of_very_many_columns_has_an_answer_soon(tmp_path: Path):
    names = [f"column{number}" for number in range(200_000)]
    path = written(tmp_path, ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    begun = time.monotonic()
    error = refusal(csv_input(path))
    assert "200,000 features, and can have at most 100,000" in error.problem
    assert csv_input(path, features=("column7", "column199999")).facts().rows == 1
    error = refusal(csv_input(written(tmp_path, ",".join([*names, "column7"]) + "\n1\n")))
    assert "two columns `column7`" in error.problem
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_another_delimiter_is_recognised_by_the_header(tmp_path: Path, delimiter: str, quote: str):
    lines = [delimiter.join(f"{quote}{name}{quote}" for name in names) for names in ("xy", "ab")]
    path = written(tmp_path, "\n".join(lines) + "\n")
    shown = delimiter.replace("\t", "\\t")
    error = refusal(csv_input(path))
    assert (error.argument, error.remedy) == ("delim", f'Give delim = "{shown}".')
    assert list(csv_input(path, delim=delimiter).facts().features) == ["x", "y"]


def test_a_comma_decides_where_the_header_has_one(tmp_path: Path):
    path = written(tmp_path, 'a;b,c\n1,2\n3,"x";y\n')
    assert "Line 3" in refusal(csv_input(path)).problem


def test_missing_columns_are_named_with_the_file(tmp_path: Path):
    first = written(tmp_path, "x,y\n1,2\n", "1.csv")
    third = written(tmp_path, "x\n1\n", "3.csv")
    error = refusal(csv_input(first, third, response="y"))
    assert error.problem == f'The file "{third}" has no column `y`.'
    assert "no column `z`" in refusal(csv_input(first, features=("z",))).problem
    assert "`types` names `z`" in refusal(csv_input(first, types={"z": "float"})).problem
    with pytest.raises(ArgumentError, match="`types` must be a named list of"):
        csv_input(first, types={"x": "complex"})
    assert "which is integer" in refusal(csv_input(first, impute={"x": "a"})).problem


def test_bad_rows_are_skipped_counted_and_reported(tmp_path: Path, tensorflow: Any):
    path = written(
        tmp_path,
        b"x,s,y\n1,a,1\n2,b\n\n3,c,NA\nfour,d,4\n5,\xfc,5\n6,f,6\nNA,g,7\n8,h,8\n",
    )
    told: list[Any] = []

    def listener(count: int, places: list[str]) -> None:
        told.append((count, places))

    source = csv_input(
        path,
        response="y",
        types={"x": "integer", "s": "string"},
        impute={"x": -1},
        on_bad_row="skip",
        on_skipped=listener,
    )
    assert source.facts().rows == 4
    assert rows_of(tensorflow, source) == {
        "x": [1, 6, -1, 8],
        "s": [b"a", b"f", b"g", b"h"],
        "label": [1, 6, 7, 8],
    }
    ((count, places),) = told
    assert count == 4
    assert f'line 3 of "{path}" (2 fields instead of 3)' in places
    silent = csv_input(path, response="y", types={"x": "integer"}, on_bad_row="skip")
    with pytest.warns(UserWarning, match="Skipped 5 rows"):
        silent.facts()


def test_a_file_that_changes_is_noticed(tmp_path: Path, tensorflow: Any):
    path = written(tmp_path, "x\n1\n2\n")
    source = csv_input(path)
    assert source.facts().rows == 2
    written(tmp_path, "x\n1\n2\n3\n")
    error = refusal_when_read(tensorflow, source)
    assert "was changed while it was read" in error.problem
    # The row count of the old file is not reused.
    assert csv_input(path).facts().rows == 3


def test_infinite_and_too_large_values_are_refused_as_in_memory(tmp_path: Path, tensorflow: Any):
    path = written(tmp_path, "x,y\n1.5,0.5\n1e39,0.5\ninf,inf\n")
    error = refusal_when_read(tensorflow, csv_input(path, features=("x",)))
    assert "beyond 3.4e38" in error.problem
    assert "line 3" in error.problem
    with pytest.raises(InputError, match="`features` must be names of columns"):
        csv_input(path, features=(), response="y")
    error = refusal_when_read(
        tensorflow, csv_input(path, features=("x",), response="y", batch_size=1)
    )
    assert "`x`" in error.problem


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 400])
@pytest.mark.parametrize("types", [{}, {"x": "float"}])
def test_a_number_beyond_double_precision_is_refused_as_a_smaller_one(
    number: str, types: dict[str, str], tmp_path: Path, tensorflow: Any
):
    path = written(tmp_path, f"x,y\n0.5,1\n{number},2\ninf,3\n-Inf,4\n")
    error = refusal_when_read(tensorflow, csv_input(path, types=types))
    assert "`x` has a value beyond 3.4e38" in error.problem
    assert "line 3" in error.problem
    source = csv_input(path, types=types, response="y", on_bad_row="skip")
    with pytest.warns(UserWarning, match="Skipped 1 rows: line 3"):
        found = rows_of(tensorflow, source)
    # An infinity that was written as such is a value.
    assert found == {"x": [0.5, float("inf"), float("-inf")], "label": [1, 3, 4]}


def test_rows_with_numbers_that_cannot_be_used_are_skipped_as_in_parquet_files(
    tmp_path: Path, tensorflow: Any
):
    text = (
        "x,s,y\n1.5,a,0.5\n1e39,b,0.5\n1e999,c,0.5\n2.5,d,inf\nmany,e,0.5\n3.5,f,1e999\n4.5,g,2\n"
    )
    path, told = written(tmp_path, text), list[Any]()
    source = csv_input(
        path,
        response="y",
        types={"x": "float"},
        on_bad_row="skip",
        on_skipped=lambda count, places: told.append((count, places)),
    )
    assert rows_of(tensorflow, source) == {"x": [1.5, 4.5], "s": [b"a", b"g"], "label": [0.5, 2]}
    ((count, places),) = told
    assert count == 5
    assert f'line 3 of "{path}" (no value of its type in `x`)' in places
    assert f'line 5 of "{path}" (`y` is infinite)' in places


@pytest.mark.parametrize("workers", [2, 5])
def test_every_row_is_read_once_by_any_number_of_workers(
    workers: int, tmp_path: Path, tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(csv_records, "TEXT_BYTES", 64)
    first = written(tmp_path, "x,y\n" + "".join(f"{k},{k % 3}\n" for k in range(97)), "1.csv")
    empty = written(tmp_path, "x,y\n", "2.csv")
    second = written(tmp_path, "x,y\n" + "".join(f"{k},{k % 3}\n" for k in range(4)), "3.csv")
    for paths in ((first,), (first, empty, second)):
        audit = audit_sharding(csv_input(*paths, response="y", batch_size=60), workers)
        assert audit.ok
        assert audit.rows == (97 if paths == (first,) else 101)
    one = csv_input(written(tmp_path, "x,y\n1,1\n", "one.csv"), response="y")
    assert audit_sharding(one, workers, replicas=None).ok


def test_the_order_changes_with_the_epoch_and_follows_the_seed(tmp_path: Path, tensorflow: Any):
    path = written(tmp_path, "x\n" + "".join(f"{k}\n" for k in range(100)))
    source = csv_input(path, epochs=2, seed=1)
    first = rows_of(tensorflow, source, "train")["x"]
    assert first == rows_of(tensorflow, source, "train")["x"]
    assert sorted(first[:100]) == sorted(first[100:]) == list(range(100))
    assert first[:100] != first[100:]
    assert abs(np.corrcoef(first[:100], range(100))[0, 1]) < 0.5
