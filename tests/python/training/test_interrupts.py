"""Ctrl-C during training."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tfdistribute.training.interrupts import StopRequest, finish_step_on_interrupt


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_interrupt_asks_for_a_stop_and_is_raised_at_the_end():
    finished = False
    with pytest.raises(KeyboardInterrupt), finish_step_on_interrupt() as stop:
        interrupt()
        assert stop()
        finished = True
    assert finished


def test_the_second_interrupt_stops_at_once():
    finished = False
    with pytest.raises(KeyboardInterrupt), finish_step_on_interrupt():
        interrupt()
        interrupt()
        finished = True
    assert not finished


def test_without_an_interrupt_the_handler_is_restored():
    before = signal.getsignal(signal.SIGINT)
    with finish_step_on_interrupt() as stop:
        assert not stop()
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_inside_puts_the_handler_back():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), finish_step_on_interrupt():
        _ = 1 / 0
    assert signal.getsignal(signal.SIGINT) is before


def test_the_embedding_programs_own_handler_is_called():
    called: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: called.append(number))
    try:
        with pytest.raises(KeyboardInterrupt), finish_step_on_interrupt():
            interrupt()
    finally:
        signal.signal(signal.SIGINT, before)
    assert called == [signal.SIGINT]


def test_another_thread_trains_without_touching_signals():
    seen: list[bool] = []

    def work() -> None:
        before = signal.getsignal(signal.SIGINT)
        with finish_step_on_interrupt():
            seen.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert seen == [True]


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
