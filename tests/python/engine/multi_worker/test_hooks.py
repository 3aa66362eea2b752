"""Hooks and sessions of a task that has lost another, with stand-ins of TensorFlow's sessions."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tfdistribute import engine


class Stuck:
    """A session that is closed when its connections have been shut down a number of times."""

    def __init__(self, disconnections: int) -> None:
        self.missing = disconnections
        self.free = threading.Event()

    def close(self) -> None:
        assert self.free.wait(20)

    def disconnect(self) -> None:
        self.missing -= 1
        if self.missing == 0:
            self.free.set()


def fail() -> None:
    raise AssertionError("It gave up.")


@pytest.fixture
def hooks(tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    del tensorflow
    from tfdistribute.engine.multi_worker import hooks

    monkeypatch.setattr(hooks, "_PEER_CHECK_S", 0.01)
    monkeypatch.setattr(hooks, "_DISCONNECT_S", 0.01)
    yield hooks
    end = time.monotonic() + 10
    while any(each.name.startswith("tfdistribute-") for each in threading.enumerate()):
        assert time.monotonic() < end, threading.enumerate()
        time.sleep(0.01)


def test_a_frozen_server_is_disconnected_until_the_session_is_closed(hooks: Any) -> None:
    session = Stuck(disconnections=3)
    abort = hooks.AbortOnLostPeer(lambda: True, session.disconnect, fail, until_closed=True)
    abort.watch(session)
    assert session.free.wait(10)


def test_a_session_that_never_closes_ends_the_process(
    hooks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "_GIVE_UP_S", 0.05)
    session, given_up = Stuck(disconnections=-1), threading.Event()
    abort = hooks.AbortOnLostPeer(lambda: True, session.disconnect, given_up.set, until_closed=True)
    abort.watch(session)
    assert given_up.wait(10)
    session.free.set()


@pytest.mark.parametrize("until_closed", [True, False])
def test_servers_are_watched_after_the_last_step(hooks: Any, until_closed: bool) -> None:
    lost = threading.Event()
    session = Stuck(disconnections=1)
    abort = hooks.AbortOnLostPeer(lost.is_set, session.disconnect, fail, until_closed)
    abort.watch(session)
    abort.end(session)
    lost.set()
    assert session.free.wait(0.5) == until_closed
    abort.stop()


def test_a_session_that_cannot_be_closed_is_left_to_tensorflow(
    hooks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Stuck(disconnections=1)
    monkeypatch.setattr(engine.multi_worker.trainer, "_CLOSE_S", 0.05)
    began = time.monotonic()
    engine.multi_worker.trainer._close(session)
    assert time.monotonic() - began < 5
    session.disconnect()
