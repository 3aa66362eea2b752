"""Goodput: sums of time over tables of marks, without processes."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tfdistribute.launch import job_files
from tfdistribute.launch.reports.goodput import (
    CAUSES,
    MOST_POINTS,
    REPEATED,
    RESTARTS,
    STARTS,
    WAITING,
    Goodput,
)
from tfdistribute.launch.state import Progress

# Kind, time and step of a mark.
Marks = list[tuple]

START = [("begin", 0), ("start", 1), ("session", 4, 0), ("step", 5, 1)]
TEN = [*START, ("step", 14, 10)]
SAVED = [*START, ("step", 9, 5), ("save", 9, 5), ("step", 14, 10)]
AGAIN = [("begin", 16), ("start", 18)]

# Marks, the time, useful seconds, steps that counted, and the lost seconds by cause.
SUMS: dict[str, tuple[Marks, float, float, int, dict[str, float]]] = {
    "nothing": ([], 5, 0, 0, {}),
    "no step yet": (START[:3], 6, 0, 0, {WAITING: 1, STARTS: 5}),
    "no process yet": (START[:1], 6, 0, 0, {WAITING: 6}),
    "it trains": (TEN, 15, 10, 10, {WAITING: 1, STARTS: 4}),
    "it has ended": ([*TEN, ("end", 15)], 99, 10, 10, {WAITING: 1, STARTS: 4}),
    "the start after a kill has no session yet, so the saved steps count": (
        [*SAVED, *AGAIN],
        20,
        4,
        5,
        {WAITING: 3, STARTS: 4, REPEATED: 5, RESTARTS: 4},
    ),
    "nothing was saved": (
        [*TEN, *AGAIN],
        20,
        0,
        0,
        {WAITING: 3, STARTS: 4, REPEATED: 9, RESTARTS: 4},
    ),
    "it continues from a checkpoint": (
        [*SAVED, *AGAIN, ("session", 20, 5), ("step", 21, 6), ("step", 30, 15)],
        30,
        4 + 9,
        15,
        {WAITING: 3, STARTS: 4, REPEATED: 5, RESTARTS: 5},
    ),
    "all steps were saved before the end": (
        [*TEN, ("save", 15, 10), *AGAIN, ("session", 20, 10), ("step", 21, 11)],
        22,
        10 + 1,
        11,
        {WAITING: 3, STARTS: 4, RESTARTS: 4},
    ),
    "the newest checkpoint was broken": (
        [*SAVED, ("save", 15, 10), *AGAIN, ("session", 20, 5), ("step", 21, 6)],
        22,
        4 + 1,
        6,
        {WAITING: 3, STARTS: 4, REPEATED: 6, RESTARTS: 4},
    ),
    "a start that never trains": (
        [*SAVED, *AGAIN, ("begin", 21), ("start", 21), ("session", 23, 5), ("step", 24, 6)],
        24,
        4,
        6,
        {WAITING: 3, STARTS: 4, REPEATED: 5, RESTARTS: 2 + 3 + 3},
    ),
    "a later start repeats steps of two": (
        [
            *SAVED,
            *AGAIN,
            *[("session", 20, 5), ("step", 21, 6), ("step", 24, 9)],
            *[("begin", 25), ("start", 25), ("session", 26, 0), ("step", 27, 1), ("step", 30, 4)],
        ],
        30,
        3,
        4,
        {WAITING: 3, STARTS: 4, REPEATED: 9 + 3, RESTARTS: 5 + 3},
    ),
    "a session without a restart": (
        [*SAVED, ("session", 17, 5), ("step", 18, 6)],
        20,
        4 + 2,
        6,
        {WAITING: 1, STARTS: 4, REPEATED: 5, RESTARTS: 4},
    ),
    "a script that says nothing of its sessions": (
        [("begin", 0), ("start", 0), ("step", 1, 1), ("step", 4, 4), ("step", 6, 3)],
        6,
        1,
        3,
        {STARTS: 1, REPEATED: 2, RESTARTS: 2},
    ),
    "a script that trains twice": (
        [*TEN, ("end", 15), ("session", 20, 10), ("step", 21, 11), ("end", 22)],
        99,
        9 + 1,
        11,
        {WAITING: 1, STARTS: 4, RESTARTS: 7},
    ),
    "a clock that is behind": (
        [("begin", 10), ("start", 10), ("session", 8, 0), ("step", 9, 1), ("step", 12, 3)],
        12,
        2,
        3,
        {},
    ),
}


def taken(marks: Marks) -> Goodput:
    found = Goodput()
    for mark in marks:
        found.mark(*mark)
    return found


@pytest.mark.parametrize("case", SUMS)
def test_all_time_is_useful_or_has_one_cause(case: str):
    marks, now, useful_s, steps, lost = SUMS[case]
    found = taken(marks).until(now)
    assert (found.useful_s, found.steps) == pytest.approx((useful_s, steps))
    assert found.lost_s == pytest.approx({**dict.fromkeys(CAUSES, 0.0), **lost})
    assert found.useful_s + sum(found.lost_s.values()) == pytest.approx(found.seconds)


@dataclass
class Random:
    """A job with kills and checkpoints at random, and the sums over each of its steps."""

    seed: int
    sums: Goodput = field(default_factory=Goodput)
    now: float = 0.0
    saved: int = 0
    useful_s: float = 0.0
    repeated_s: float = 0.0
    repeated: list[int] = field(default_factory=list[int])

    def run(self, starts: int) -> None:
        chance = random.Random(self.seed)
        for number in range(starts):
            resumed, times = self.saved, self._start(chance)
            first, last = resumed + 1, max(times)
            kept = last if number == starts - 1 else self.saved
            for step in range(first + 1, last + 1):
                seconds = times[step] - times[step - 1]
                self.useful_s += seconds * (step <= kept)
                self.repeated_s += seconds * (step > kept)
            self.repeated.append(last - kept)
            self._wait(chance)
            self.useful_s += (self.now - times[last]) * (number == starts - 1)

    def _start(self, chance: random.Random) -> dict[int, float]:
        for kind in ("begin", "start", "session"):
            self.sums.mark(kind, self.now, self.saved)
            self._wait(chance)
        times: dict[int, float] = {}
        first = self.saved + 1
        for step in range(first, first + chance.randrange(1, 60)):
            self._wait(chance)
            times[step] = self.now
            self.sums.mark("step", self.now, step)
            if chance.random() < 0.2:
                self.sums.mark("save", self.now, step)
                self.saved = step
        return times

    def _wait(self, chance: random.Random) -> None:
        self.now += chance.random()


@pytest.mark.parametrize("seed", range(50))
def test_the_sum_is_that_of_every_step_and_few_points_are_kept(seed: int):
    job = Random(seed)
    job.run(starts := 1 + seed % 6)
    found = job.sums.until(job.now)
    assert found.useful_s == pytest.approx(job.useful_s)
    assert found.lost_s[REPEATED] == pytest.approx(job.repeated_s)
    assert [loss.steps for loss in found.losses[1:]] == job.repeated[:-1]
    assert found.useful_s + sum(found.lost_s.values()) == pytest.approx(found.seconds)
    assert len(job.sums.points) <= MOST_POINTS
    assert len(found.losses) == starts


def test_each_restart_has_its_reason_and_its_price():
    sums = taken([*SAVED, ("begin", 16, 0, "A kill."), ("start", 18), ("step", 21, 6)])
    found = sums.until(30).as_values(rows_per_step=64)
    assert found["restarts"] == [{"why": "A kill.", "seconds": 12.0, "steps": 5}]
    assert found["rows_per_second"] == pytest.approx(6 * 64 / 30)
    assert found["text"] == (
        "goodput 43% of 30 s (first start 13%, restarts 17%, repeated steps 17%, waiting 10%)"
    )
    assert sums.until(30).as_values(None)["rows_per_second"] is None


def test_the_sums_of_a_job_outlive_its_supervisor(tmp_path: Path):
    progress = Progress()
    for mark in SAVED:
        progress.sums.mark(*mark)
    again = Progress()
    path = tmp_path / job_files.PROGRESS_FILE
    path.write_text(json.dumps(progress.as_values()))
    again.restore(job_files.read(str(tmp_path), path.name) or {})
    assert again.goodput(20).as_values(1) == progress.goodput(20).as_values(1)
