"""Logging of a history while it grows, with a tracker that fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.trackers import add_losses

from tfdistribute.trackers.description import Row, Run, Tracker
from tfdistribute.trackers.follow import Logger, follow


@dataclass(frozen=True, kw_only=True)
class Memory(Tracker):
    """A tracker whose runs keep rows in this process; it fails as often as it is asked to."""

    rows: list[Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        return "memory"

    def open(self, run: str | None, parameters: Mapping[str, Any]) -> Run:
        return MemoryRun(self)


class MemoryRun:
    id = "run"

    def __init__(self, tracker: Memory) -> None:
        self._tracker = tracker

    def log(self, rows: Sequence[Row]) -> None:
        if self._tracker.failures:
            raise OSError(self._tracker.failures.pop())
        self._tracker.rows.extend(rows)

    def log_model(self, files: Sequence[str]) -> None:
        raise AssertionError

    def close(self, state: str) -> None:
        self._tracker.rows.append((-1, {state: 1.0}))


def end_after(passes: int):
    left = [None] * passes + ["done"]
    return lambda timeout_s: left.pop(0)


def test_rows_that_could_not_be_logged_are_logged_in_the_next_pass(tmp_path: Path):
    add_losses(tmp_path, 1, 700)
    tracker = Memory(failures=["the server is away"])
    assert follow(Logger(tracker, str(tmp_path), {}), end_after(2)) is None
    assert [step for step, _ in tracker.rows] == [*range(1, 701), -1]


def test_the_last_problem_is_told_and_the_next_training_logs_the_rest(tmp_path: Path):
    add_losses(tmp_path, 1, 2)
    tracker = Memory(failures=["away", "away"])
    problem = follow(Logger(tracker, str(tmp_path), {}), end_after(1))
    assert problem == "OSError: away"
    assert tracker.rows == []
    assert follow(Logger(tracker, str(tmp_path), {}), end_after(0)) is None
    assert [step for step, _ in tracker.rows] == [1, 2, -1]


def test_losses_without_a_number_are_left_out(tmp_path: Path):
    add_losses(tmp_path, 1, 1, loss=float("nan"))
    tracker = Memory()
    follow(Logger(tracker, str(tmp_path), {}), end_after(0))
    assert tracker.rows[0] == (1, {"seconds": 0.1, "examples_per_second": 10.0})
