"""Files on this machine and on remote storage."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tfdistribute import engine, storage
from tfdistribute.errors import BackendError


@pytest.fixture(params=["local", "remote"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A directory that Python reads, and one that TensorFlow reads as it does remote ones."""
    if request.param == "local":
        return str(tmp_path / "directory")
    request.getfixturevalue("tensorflow")
    assert engine.is_started()
    return f"file://{tmp_path}/directory"


@pytest.mark.versions
def test_every_storage_writes_a_file_and_reads_it(directory: str) -> None:
    place, path = storage.of(directory), f"{directory}/file"
    assert (place.names(directory), storage.read_if_any(path)) == ([], b"")
    assert not storage.exists(path)
    assert not storage.is_directory(directory)
    place.make_directory(directory)
    place.write(path, b"one")
    place.write(path, b"longer than one")
    status = place.status(path)
    assert (status.size, status.is_directory, status.modified_ns > 0) == (15, False, True)
    assert (storage.is_file(path), storage.is_directory(path)) == (True, False)
    with place.open(path) as file:
        file.seek(7)
        assert (file.read(4), file.tell(), file.read()) == (b"than", 11, b" one")
        file.seek(-3, os.SEEK_END)
        assert file.read() == b"one"


def test_every_storage_copies_renames_and_removes_files(directory: str) -> None:
    place, path = storage.of(directory), f"{directory}/file"
    place.make_directory(directory)
    place.write(path, b"content")
    place.rename(path, f"{path}.new")
    storage.copy(f"{path}.new", f"{directory}/copy")
    assert place.names(directory) == ["copy", "file.new"]
    with storage.local_copy(f"{directory}/copy") as local:
        assert Path(local).read_bytes() == b"content"
    place.remove(f"{directory}/copy")
    assert place.names(directory) == ["file.new"]
    for wrong in (place.open, place.status, place.remove):
        with pytest.raises(FileNotFoundError):
            wrong(path)
    place.remove_directory(directory)
    assert not storage.is_directory(directory)


def test_a_directory_is_copied_with_its_last_file_at_the_end(
    tmp_path: Path, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    (source / "in").mkdir(parents=True)
    for name in ("a.pb", "b", "in/c"):
        (source / name).write_text(name)
    order: list[str] = []
    monkeypatch.setattr(storage, "copy", lambda path, to: order.append(to))
    storage.copy_directory(str(source), directory, last=["a.pb"])
    assert order == [f"{directory}/{name}" for name in ("b", "in/c", "a.pb")]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*args: Any) -> None:
        raise OSError("full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="full"):
        storage.of(str(path)).write(str(path), b"new")
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])


def test_the_package_for_a_scheme_is_imported_when_it_is_there(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "tensorflow_io.py"
    module.write_text("import pathlib; pathlib.Path(__file__).with_name('imported').touch()")
    monkeypatch.syspath_prepend(tmp_path)
    # This one imports, and does not add the scheme.
    with pytest.raises(BackendError, match='"s3", which nothing installed reads'):
        storage.of("s3://bucket/file")
    assert (tmp_path / "imported").exists()
    sys.modules.pop("tensorflow_io")
    module.write_text("raise ImportError('built for another TensorFlow')")
    importlib.invalidate_caches()
    with pytest.raises(BackendError, match="cannot be imported: built for another") as caught:
        storage.of("s3://bucket/file")
    assert tensorflow.__version__ in str(caught.value.remedy)
