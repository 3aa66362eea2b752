"""A bucket for the tests of a file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.gcs_store import Store, gcs_store


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with gcs_store(tmp_path_factory.mktemp("store") / "gcs") as store:
        yield store


@pytest.fixture
def bucket(
    tensorflow: Any, served: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    """A store that TensorFlow finds, in an empty working directory."""
    for name, value in served.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    yield served
    # Each writer of events has a temporary file, and a failed upload leaves one.
    tensorflow.compat.v1.summary.FileWriterCache.clear()
    for path in Path(tempfile.gettempdir()).glob("tmp_file_tensorflow_*"):
        path.unlink()
