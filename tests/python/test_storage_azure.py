"""Accounts and containers of Azure."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs
from support.buckets import SECRET, Store, azure_store

from tfdistribute import storage
from tfdistribute.errors import BackendError
from tfdistribute.storage import buckets

NAMES = ("CONNECTION_STRING", "ACCOUNT", "ACCOUNT_NAME", "KEY", "ACCOUNT_KEY", "SAS_TOKEN")
HOST = "bucket@tester.dfs.core.windows.net"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with azure_store(tmp_path_factory.mktemp("azure")) as store:
        yield store


@pytest.fixture
def store(served: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    for name in NAMES:
        monkeypatch.delenv(f"AZURE_STORAGE_{name}", raising=False)
    for name, value in served.environment.items():
        monkeypatch.setenv(name, value)
    return served


def client_of(path: str) -> Any:
    return storage.of(path)._files


@pytest.mark.parametrize("root", ["abfs://bucket", "abfss://bucket", f"abfss://{HOST}"])
def test_every_address_of_a_container_leads_to_it(store: Store, root: str) -> None:
    place, path = storage.of(root), f"{root}/address/file"
    place.write(path, b"content")
    assert store.read("address/file") == storage.read_bytes(path) == b"content"
    assert (place.names(f"{root}/address"), "address" in place.names(root)) == (["file"], True)
    place.check(path)
    assert place.status(root).is_directory
    place.remove(path)
    assert store.names("address") == []
    for use in (place.check, lambda path: place.write(path, b"")):
        with pytest.raises(FileNotFoundError, match='The bucket "missing.*" does not exist'):
            use(path.replace("bucket", "missing"))


def test_a_blob_that_stands_for_a_directory_is_one(store: Store) -> None:
    client = client_of(store.root).get_container_client("bucket")
    for name in ("tree", "tree/in"):
        client.upload_blob(name, b"", metadata={"hdi_isfolder": "true"})
    store.write("tree/in/file", b"1")
    store.write("tree-other", b"2")
    root, place = f"{store.root}/tree", storage.of(store.root)
    assert (storage.is_directory(root), storage.is_directory(f"{root}/in")) == (True, True)
    assert (place.names(root), list(storage.files_below(root))) == (["in"], ["in/file"])
    place.remove_directory(root)
    assert store.names("tree") == ["tree-other"]


def test_a_source_that_fails_leaves_the_old_file(store: Store, tmp_path: Path) -> None:
    path = f"{store.root}/kept"
    store.write("kept", b"old")

    class Failing:
        def read(self, size: int) -> bytes:
            raise OSError("broken disk")

    with pytest.raises(OSError, match="broken disk"):
        storage.of(path).write(path, Failing())  # type: ignore[arg-type]
    assert (store.read("kept"), store.names("kept")) == (b"old", ["kept"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_fork_has_connections_of_its_own(store: Store) -> None:
    path = f"{store.root}/forked"
    storage.of(path).write(path, b"content")
    before = client_of(path)
    child = os.fork()
    if child == 0:
        is_right = False
        try:
            signal.alarm(30)
            is_right = storage.read_bytes(path) == b"content" and client_of(path) is not before
        finally:
            os._exit(0 if is_right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (storage.read_bytes(path), client_of(path) is before) == (b"content", True)


@pytest.mark.parametrize(
    ("variables", "root", "url", "credential"),
    [
        (
            {"ACCOUNT": "cars", "KEY": f"{SECRET}="},
            "az://c",
            "https://cars.blob.core.windows.net/",
            "SharedKeyCredentialPolicy",
        ),
        (
            {"ACCOUNT_NAME": "cars", "ACCOUNT_KEY": f"{SECRET}="},
            "az://c",
            "https://cars.blob.core.windows.net/",
            "SharedKeyCredentialPolicy",
        ),
        (
            {"SAS_TOKEN": "sv=2021-08-06&sig=a"},
            f"abfss://{HOST}",
            "https://tester.blob.core.windows.net/?sv=2021-08-06&sig=a",
            "NoneType",
        ),
        (
            {"ACCOUNT": "cars"},
            "az://c",
            "https://cars.blob.core.windows.net/",
            "DefaultAzureCredential",
        ),
    ],
)
def test_accounts_and_credentials_are_found_where_tools_of_azure_read_them(
    store: Store,
    variables: dict[str, str],
    root: str,
    url: str,
    credential: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING")
    for name, value in variables.items():
        monkeypatch.setenv(f"AZURE_STORAGE_{name}", value)
    client = client_of(root)
    assert (client.url, type(client.credential).__name__) == (url, credential)


def test_an_account_that_is_missing_or_another_one_is_named(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "abfss://bucket@other.dfs.core.windows.net/file"
    with pytest.raises(BackendError, match=f'"{path}" cannot be used: .* is of account tester'):
        storage.of(path)
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING")
    with pytest.raises(BackendError, match=r'"az://bucket/file" .*ACCOUNT are not set') as caught:
        storage.of("az://bucket/file")
    assert "environment variables" in str(caught.value.remedy)


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.storage.blob", None)
    buckets._found.cache_clear()
    with pytest.raises(BackendError, match="needs azure-storage-blob azure-identity") as caught:
        storage.of("az://bucket/file")
    assert (caught.value.value, sys.executable in caught.value.problem) == (
        "az://bucket/file",
        True,
    )
    assert "pip install azure-storage-blob azure-identity" in str(caught.value.remedy)


def test_the_files_of_an_account_have_a_time(store: Store) -> None:
    path = f"{store.root}/time"
    storage.of(path).write(path, b"1")
    info = store.files.get_file_info("bucket/time")
    assert isinstance(info, fs.FileInfo)
    assert storage.of(path).status(path).modified_ns == info.mtime_ns
