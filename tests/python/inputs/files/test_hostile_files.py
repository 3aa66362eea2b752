"""Files that no input can read: pipes, devices, unknown schemes, and files that grow."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.table_inputs import refusal, written

from tfdistribute.errors import InputError
from tfdistribute.inputs import Arrow, Csv, Input, Parquet, TFRecord
from tfdistribute.inputs.files.files import File, file_at
from tfdistribute.inputs.tables import csv_records
from tfdistribute.storage import buckets

INPUTS: dict[str, Callable[[str], Input]] = {
    "csv": lambda path: Csv((path,)),
    "parquet": lambda path: Parquet((path,)),
    "arrow": lambda path: Arrow((path,)),
    "tfrecord": lambda path: TFRecord((path,), columns={"x": "float32"}),
}


@pytest.fixture(params=INPUTS.values(), ids=INPUTS)
def input_of(request: pytest.FixtureRequest) -> Callable[[str], Input]:
    return request.param


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other pipes")
def test_pipes_and_devices_are_refused_at_once(input_of: Callable[[str], Input], tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    begun = time.monotonic()
    for name in ("pipe", "endless"):
        error = refusal(input_of(str(tmp_path / name)))
        assert f'"{tmp_path / name}" is a pipe or a device' in error.problem
        assert "Write its content to a file" in str(error.remedy)
    assert time.monotonic() - begun < 10


def test_a_pipe_in_place_of_an_index_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "index.json")
    assert "is a pipe" in refusal(TFRecord((str(tmp_path),))).problem


@pytest.mark.parametrize("scheme", ["http", "adl", "zzz"])
def test_schemes_that_nothing_reads_are_input_errors(scheme: str, input_of: Callable[[str], Input]):
    for path in ("data.csv", "data-*"):
        error = refusal(input_of(f"{scheme}://host/{path}"))
        assert f'"{scheme}://host/{path}" has the scheme "{scheme}"' in error.problem
        assert "path on this machine" in str(error.remedy)


def test_an_error_of_a_file_system_is_an_input_error(monkeypatch: pytest.MonkeyPatch):
    def refuse(bucket: buckets.Bucket, path: str) -> None:
        raise OSError(errno.EIO, "no network", path)

    monkeypatch.setattr(buckets, "_found", lambda *_: buckets.Bucket(None))
    monkeypatch.setattr(buckets.Bucket, "status", refuse)
    error = refusal(Csv(("hdfs://a/b.csv",)))
    assert '"hdfs://a/b.csv" cannot be read: no network' in error.problem


def test_a_file_that_grows_while_it_is_read_does_not_keep_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = written(tmp_path, "x\n" + "1\n" * 100)
    file = file_at(str(path))
    written(tmp_path, "x\n" + "1\n" * 200_000)
    monkeypatch.setattr(csv_records, "TEXT_BYTES", 1000)
    with pytest.raises(InputError, match="was changed while it was read"):
        list(csv_records.find_spans(File(str(path), file.size, file.modified_ns), ","))


def test_a_file_without_read_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, opened = written(tmp_path, "x\n1\n"), os.open

    def refuse(file: Any, *arguments: Any, **more: Any) -> int:
        if str(file) == str(path):
            raise PermissionError(13, os.strerror(13), str(file))
        return opened(file, *arguments, **more)

    monkeypatch.setattr(os, "open", refuse)
    assert "Permission denied" in refusal(Csv((str(path),))).problem
