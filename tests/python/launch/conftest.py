"""No test of jobs waits for the network of a bucket."""

from __future__ import annotations

import functools

import pytest
from pyarrow import fs

from tfdistribute.storage import buckets


@pytest.fixture(autouse=True)
def buckets_are_folders(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = functools.cache(lambda: str(tmp_path_factory.mktemp("buckets")))

    def found(_root: str, _variables: object) -> buckets.Bucket:
        return buckets.Bucket(fs.SubTreeFileSystem(folder(), fs.LocalFileSystem()))

    monkeypatch.setattr(buckets, "_found", found)
    # Processes of a job are refused at once.
    refused = {"ENDPOINT_URL": "http://127.0.0.1:9", "ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x"}
    for name, value in refused.items():
        monkeypatch.setenv(f"AWS_{name}", value)
