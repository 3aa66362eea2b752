"""Marks that tests get by what they use: plain, and again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

# The most processor time of a plain test, about twice that of the longest.
PLAIN_S = 10.0
_EXPENSIVE = {"tensorflow", "run_python"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts neither TensorFlow nor a job as `plain`, and later cases for other versions as `again`."""
    known = set[str]()
    for item in items:
        if item.get_closest_marker("versions") and not item.get_closest_marker("full"):
            function = item.nodeid.partition("[")[0]
            if function in known:
                item.add_marker("again")
            known.add(function)
        fixtures = set(getattr(item, "fixturenames", ()))
        if not fixtures & _EXPENSIVE and not any(map(item.get_closest_marker, ("jobs", "slow"))):
            item.add_marker("plain")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a plain test that starts TensorFlow or takes long, because `make test` runs all of them."""
    began, had_devices = sum(os.times()[:4]), _has_devices()
    yield
    if not item.get_closest_marker("plain"):
        return
    taken = sum(os.times()[:4]) - began
    if taken > PLAIN_S:
        pytest.fail(f"A plain test took {taken:.0f} s of processor time. Mark it `slow`.")
    if _has_devices() and not had_devices:
        pytest.fail("A plain test started TensorFlow. Give it the fixture `tensorflow`.")


def _has_devices() -> bool:
    """Whether this process has started TensorFlow's devices."""
    module = sys.modules.get("tensorflow.python.eager.context")
    context = module and module.context_safe()
    return bool(context and context._initialized)
