"""Paths, and files and JSON that another program may have written."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from support.planted_files import PLANTS, Plant, is_kept

from tfdistribute.files import (
    NotRegularError,
    absolute_path,
    open_own,
    open_regular,
    parse_json,
    read_json,
)


def test_a_path_on_this_machine_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert absolute_path("runs/a") == str(tmp_path / "runs" / "a")
    assert absolute_path("~/a") == str(Path.home() / "a")
    assert absolute_path("gs://bucket/a") == "gs://bucket/a"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other pipes")
def test_pipes_and_devices_are_refused_and_not_waited_for(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (pipe, tmp_path / "link", tmp_path):
        with pytest.raises(NotRegularError):
            open_regular(str(path))
    (tmp_path / "file").write_bytes(b"a")
    with open_regular(str(tmp_path / "file")) as file:
        assert file.read() == b"a"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_APPEND | os.O_CREAT])
def test_what_stands_in_the_place_of_an_own_file_is_neither_followed_nor_waited_for(
    tmp_path: Path, plant: Plant, flags: int
):
    (tmp_path / "model").mkdir()
    victim = plant(tmp_path / "model" / "file")
    with pytest.raises(NotRegularError):
        open_own(str(tmp_path / "model" / "file"), flags)
    assert is_kept(victim)


HOSTILE = {
    "nested lists": "[" * 100_000,
    "nested objects": '{"a":' * 100_000,
    "a long number": "9" * 5000,
    "a number beyond 64 bits": "9" * 21,
    "a long number inside": json.dumps({"a": 1}).replace("1", "1" * 5000),
    "not JSON": "{",
    "not UTF-8": b'"\xff"',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_json_that_cannot_be_read_is_a_value_error(text: str | bytes, tmp_path: Path):
    with pytest.raises(ValueError):
        parse_json(text)
    path = tmp_path / "file.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ValueError):
        read_json(str(path))


def test_json_is_read_as_it_was_written(tmp_path: Path):
    values = {"a": [1, -(2**63), 2.5, "ö", None, True]}
    (tmp_path / "file.json").write_text(json.dumps(values), encoding="utf-8")
    assert read_json(str(tmp_path / "file.json")) == values
