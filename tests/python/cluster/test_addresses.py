"""Addresses of tasks."""

from __future__ import annotations

import os

import pytest

from tfdistribute.cluster.addresses import without_proxy

NO_PROXY = "no_grpc_proxy"


@pytest.mark.parametrize("before", [None, "", "b.example"])
def test_tasks_are_reached_without_a_proxy(before: str | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("no_proxy", "intranet, a")
    monkeypatch.delenv(NO_PROXY, raising=False)
    if before is not None:
        monkeypatch.setenv(NO_PROXY, before)
    with without_proxy(["a:1", "B.example:2", "[fd00::1]:3", ""]):
        inside = os.environ[NO_PROXY]
    assert inside == ("b.example,a,fd00::1" if before else "intranet,a,b.example,fd00::1")
    assert os.environ.get(NO_PROXY) == before
