"""Ctrl-C during a training, and during everything else."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tfdistribute import interrupts
from tfdistribute.interrupts import (
    StopRequest,
    defer_interrupt,
    finish_step_on_interrupt,
    raise_on_interrupt,
)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def every_interrupt_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "SAME_S", 0)


def test_the_first_interrupt_asks_for_a_stop_and_is_raised_at_the_end():
    finished = False
    with pytest.raises(KeyboardInterrupt), finish_step_on_interrupt() as stop:
        interrupt()
        assert stop()
        finished = True
    assert finished


@pytest.mark.usefixtures("every_interrupt_counts")
def test_the_second_interrupt_stops_at_once():
    finished = False
    with pytest.raises(KeyboardInterrupt), finish_step_on_interrupt():
        interrupt()
        interrupt()
        finished = True
    assert not finished


def test_one_interrupt_that_r_and_python_both_notice_is_one():
    def display(event: int) -> None:
        interrupt()
        raise KeyboardInterrupt

    finished = False
    with pytest.raises(KeyboardInterrupt), finish_step_on_interrupt() as stop:
        stop.on_interrupt_of(display)(1)
        assert stop()
        finished = True
    assert finished


def test_everything_else_ends_at_the_first_interrupt_and_at_every_further_one():
    with raise_on_interrupt():
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                interrupt()


def test_an_import_is_finished_before_the_interrupt_is_raised():
    finished = False
    with pytest.raises(KeyboardInterrupt), raise_on_interrupt(), defer_interrupt():
        interrupt()
        finished = True
    assert finished


BLOCKS = [finish_step_on_interrupt, raise_on_interrupt, defer_interrupt]


@pytest.mark.parametrize("block", BLOCKS)
def test_the_handler_is_restored_also_after_an_error(block: Any):
    before = signal.getsignal(signal.SIGINT)
    with block():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(ZeroDivisionError), block():
        _ = 1 / 0
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("block", BLOCKS)
def test_another_thread_works_without_touching_signals(block: Any):
    seen: list[bool] = []

    def work() -> None:
        before = signal.getsignal(signal.SIGINT)
        context: AbstractContextManager[Any] = block()
        with context:
            seen.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert seen == [True]


@pytest.mark.usefixtures("every_interrupt_counts")
def test_an_interrupt_inside_a_display_is_a_request_the_first_time():
    def display(event: int) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), finish_step_on_interrupt() as stop:
        shown = stop.on_interrupt_of(display)
        assert shown(1) is None
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            shown(2)
    assert StopRequest().on_interrupt_of(lambda event: event)(3) == 3
