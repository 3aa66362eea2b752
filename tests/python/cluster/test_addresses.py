"""Addresses of tasks."""

from __future__ import annotations

import os

import pytest

from tfdistribute.cluster.addresses import bypass_proxy

NO_PROXY = "no_grpc_proxy"


def test_tasks_are_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("no_proxy", "intranet, a")
    monkeypatch.setenv(NO_PROXY, "")
    for _ in range(2):
        bypass_proxy(["a:1", "B.example:2", "[fd00::1]:3", ""])
        assert os.environ[NO_PROXY] == "intranet,a,b.example,fd00::1"
