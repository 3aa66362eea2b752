"""Files on this machine and on remote storage."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.buckets import Store, azure_store, google_store, s3_store

from tfdistribute import storage
from tfdistribute.errors import BackendError, InputError
from tfdistribute.inputs.files.files import find_files
from tfdistribute.storage import buckets


@pytest.fixture(scope="module")
def google(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with google_store(tmp_path_factory.mktemp("google")) as store:
        yield store


@pytest.fixture(scope="module")
def amazon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with s3_store(tmp_path_factory.mktemp("amazon")) as store:
        yield store


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with azure_store(tmp_path_factory.mktemp("azure")) as store:
        yield store


@pytest.fixture(params=["local", "google", "amazon", "azure"])
def directory(
    request: pytest.FixtureRequest,
    google: Store,
    amazon: Store,
    azure: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """A directory of this machine, and one of each store."""
    stores = {"google": google, "amazon": amazon, "azure": azure}
    if request.param == "local":
        return str(tmp_path / "directory")
    store = stores[request.param]
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    return f"{store.root}/{tmp_path.name}/directory"


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


def test_a_whole_file_is_read_with_few_requests(
    google: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in google.environment.items():
        monkeypatch.setenv(name, value)
    content = os.urandom(1 << 20) * 3
    google.write("large", content)
    before = len(google.requests())
    assert storage.read_bytes(f"{google.root}/large") == content
    assert len(google.requests()) - before < 6


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


def test_files_are_found_by_patterns_in_each_storage(directory: str) -> None:
    for name in ("a-1.csv", "a-2.csv", "b/a-3.csv", "b/_SUCCESS"):
        storage.of(directory).make_directory(f"{directory}/b")
        storage.of(directory).write(f"{directory}/{name}", b"x,y\n1,2\n")
    found = [file.path for file in find_files([f"{directory}/a-*.csv"])]
    assert found == [f"{directory}/a-1.csv", f"{directory}/a-2.csv"]
    assert [file.path for file in find_files([f"{directory}/*/a-?.csv"])] == [
        f"{directory}/b/a-3.csv"
    ]
    assert [file.path for file in find_files([f"{directory}/b"], directories=True)] == [
        f"{directory}/b/a-3.csv"
    ]
    assert sorted(storage.files_below(directory)) == [
        "a-1.csv",
        "a-2.csv",
        "b/_SUCCESS",
        "b/a-3.csv",
    ]
    with pytest.raises(InputError, match="matches no file"):
        find_files([f"{directory}/c-*.csv"])


def test_a_scheme_that_nothing_reads_is_named() -> None:
    with pytest.raises(BackendError, match="which nothing installed reads") as caught:
        storage.of("moon://a/b")
    assert "s3://, gs://, az:// and hdfs://" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("variables", "endpoint", "scheme"),
    [
        ({"AWS_ENDPOINT_URL": "http://store:9000"}, "store:9000", "http"),
        # As TensorFlow's own file system reads them.
        ({"S3_ENDPOINT": "store:9000"}, "store:9000", "https"),
        ({"S3_ENDPOINT": "store:9000", "S3_USE_HTTPS": "0"}, "store:9000", "http"),
        ({"S3_ENDPOINT": "http://old", "AWS_ENDPOINT_URL": "https://new"}, "new", "https"),
    ],
)
def test_another_server_than_that_of_amazon_is_found_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], endpoint: str, scheme: str
) -> None:
    for name in [each for each in os.environ if each.startswith(("AWS_", "S3_"))]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    made: list[dict[str, Any]] = []
    module = SimpleNamespace(S3FileSystem=lambda **fields: made.append(fields))
    monkeypatch.setattr(buckets, "arrow_module", lambda _: module)
    buckets._found.cache_clear()
    storage.of("s3://bucket/file")
    buckets._found.cache_clear()
    assert made == [{"endpoint_override": endpoint, "scheme": scheme}]


def test_the_use_of_s3_ends_before_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[bool] = []
    module = SimpleNamespace(ensure_s3_finalized=lambda: ended.append(True))
    monkeypatch.setitem(sys.modules, "pyarrow.fs", module)
    buckets.finish()
    monkeypatch.delitem(sys.modules, "pyarrow.fs")
    buckets.finish()
    assert ended == [True]
