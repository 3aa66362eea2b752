"""Buckets for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.buckets import STORES, Store

from tfdistribute.checkpoints import mirror


@pytest.fixture(scope="module")
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A store of the kind that a test names, or Google's."""
    kind = getattr(request, "param", "gs")
    with STORES[kind](tmp_path_factory.mktemp(kind)) as store:
        yield store


@pytest.fixture
def bucket(
    tensorflow: object,
    served: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Store]:
    """A store that is found by the environment, with an empty working directory."""
    for name, value in served.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    yield served
    for each in mirror._mirrors.values():
        each._home.cleanup()
    mirror._mirrors.clear()
