"""Events that a task sends to its supervisor."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tfdistribute import bridge, task_events
from tfdistribute.callbacks import Callback
from tfdistribute.errors import CallbackError, InputError, LostPeerError, as_values


def events_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "events"
    monkeypatch.setenv(task_events.EVENTS, str(path))
    return path


def test_an_event_is_one_line_with_its_time(events: Path) -> None:
    before = time.time()
    bridge.call("task_event", {"event": "waiting", "fields": {"for": "peers"}})
    task_events.emit("record", step=3, loss=float("nan"))
    first, second = events_in(events)
    assert first.pop("time") >= before
    assert first == {"event": "waiting", "for": "peers"}
    assert second["loss"] is None


def test_without_a_file_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(task_events.EVENTS, raising=False)
    monkeypatch.chdir(tmp_path)
    task_events.emit("note", text="nobody reads this")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(task_events.EVENTS, str(tmp_path / "missing" / "events"))
    task_events.emit("note", text="lost")


def test_the_first_step_is_told_at_once_and_then_ten_a_second_at_most(
    events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_events, "_emitted", {})
    began = time.monotonic()
    for step in range(1, 2001):
        task_events.emit_step(step, loss=0.5)
    told = [each["step"] for each in events_in(events)]
    assert told[0] == 1
    assert len(told) <= 2 + (time.monotonic() - began) / task_events.STEP_EVERY_S


def test_a_failure_says_whether_a_restart_may_heal_it() -> None:
    lost = as_values(LostPeerError("worker 1 is gone.", "Train again."))
    own = as_values(InputError("A row is missing.", argument="input", value="x"))
    foreign = as_values(ValueError("odd"))
    assert (lost["kinds"], lost["transient"]) == (["lost_peer", "training", "error"], True)
    assert (own["kind"], own["argument"], own["value"], own["transient"]) == (
        "input",
        "input",
        "x",
        False,
    )
    assert (foreign["kind"], foreign["problem"], foreign["transient"]) == (
        "training",
        "ValueError: odd",
        False,
    )


def test_a_failure_in_r_brings_the_calls_of_r_along() -> None:
    failing = Callback(lambda: {"error": "object 'a' not found", "traceback": "1: f()"}, ())
    with pytest.raises(CallbackError) as caught:
        failing()
    assert as_values(caught.value)["r_traceback"] == "1: f()"


def test_a_signal_shows_the_stacks_of_all_threads(run_python: Callable[..., Any]) -> None:
    finished = run_python(
        """
import os, signal, threading
from tfdistribute import task_events

def waits_on_another_thread(): stop.wait()

stop = threading.Event()
thread = threading.Thread(target=waits_on_another_thread)
thread.start()
task_events.emit_started()
os.kill(os.getpid(), signal.SIGUSR1)
stop.set()
thread.join()
"""
    )
    assert "waits_on_another_thread" in finished.stderr
    assert finished.stderr.count("hread 0x") == 2


def test_a_file_of_events_does_not_grow_without_end_and_no_event_is_lost(
    events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_events, "ROTATE_BYTES", 1000)
    reader = task_events.EventFile(str(events))
    read: list[int] = []
    for step in range(500):
        task_events.emit("record", step=step)
        if step % 7 == 0:
            with events.open("ab") as late:
                read += [each["step"] for each in reader.read_new()]
                # A task that had opened the file before it was renamed writes to it afterwards.
                late.write(
                    json.dumps({"event": "record", "time": 0, "step": -step}).encode() + b"\n"
                )
        assert sum(path.stat().st_size for path in events.parent.iterdir()) < 4000
    read += [each["step"] for each in reader.read_new()]
    assert sorted(read) == sorted([*range(500), *range(0, -500, -7)])
