"""Goodput of a training job: the share of its time in which it computed steps that counted.

A step counts unless a later start of the training repeats it. All other time has one cause, so the seconds of the
steps that counted and of all causes add up to the time of the job.
"""

import bisect
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

# "begin": the job began, or a restart was decided. "start": its processes started, once there were hosts. "session":
# the training continues after a step. "step" and "save": the chief took or saved it. "end": the chief has finished.
Kind = Literal["begin", "start", "session", "step", "save", "end"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Causes of lost time, in the order in which they are shown.
STARTS, RESTARTS, REPEATED, WAITING = "first start", "restarts", "repeated steps", "waiting"
CAUSES = (STARTS, RESTARTS, REPEATED, WAITING)

# Only a recent checkpoint is restored.
_MOST_SAVES = 5
_SHOWN_FROM = 0.005


@dataclass(frozen=True)
class Mark:
    """A moment of the training, in epoch seconds; ``why`` is the reason for a restart."""

    kind: Kind
    time: float
    step: int = 0
    why: str = ""


@dataclass(frozen=True)
class Loss:
    """Seconds by cause that one start of the training cost, and the number of steps that it repeated."""

    why: str
    seconds: Mapping[str, float]
    steps: int = 0


@dataclass(frozen=True)
class Goodput:
    """Sum of a job's time: ``seconds`` in all, ``useful_s`` of them for the ``steps`` that counted.

    Args:
        start_s: Seconds from the start of the processes to the first step, at the last start, or None before that.
        step_s: Mean seconds of a step since then, or None before the second step.
    """

    seconds: float
    useful_s: float
    steps: int
    losses: tuple[Loss, ...] = ()
    start_s: float | None = None
    step_s: float | None = None

    @property
    def share(self) -> float:
        return self.useful_s / self.seconds if self.seconds > 0 else 0.0

    @property
    def lost_s(self) -> dict[str, float]:
        return {
            cause: sum(loss.seconds.get(cause, 0.0) for loss in self.losses) for cause in CAUSES
        }

    @property
    def steps_lost(self) -> int:
        return sum(loss.steps for loss in self.losses)

    def __str__(self) -> str:
        shares = {cause: lost / (self.seconds or 1.0) for cause, lost in self.lost_s.items()}
        lost = [f"{cause} {share:.0%}" for cause, share in shares.items() if share > _SHOWN_FROM]
        causes = f" ({', '.join(lost)})" if lost else ""
        return f"goodput {self.share:.0%} of {self.seconds:.0f} s{causes}"

    def as_values(self, rows_per_step: int | None) -> dict[str, Any]:
        rows = None if rows_per_step is None else rows_per_step * self.steps
        return {
            "share": self.share,
            "seconds": self.seconds,
            "rows_per_second": None if rows is None or self.seconds <= 0 else rows / self.seconds,
            "lost": self.lost_s,
            "restarts": [
                {"why": loss.why, "seconds": sum(loss.seconds.values()), "steps": loss.steps}
                for loss in self.losses[1:]
            ],
            "text": str(self),
        }


def add_mark(marks: list[Mark], mark: Mark) -> None:
    """Append a mark, and drop the one that a goodput no longer needs."""
    if marks and mark.time < marks[-1].time:
        # The clocks of two hosts differ.
        mark = dataclasses.replace(mark, time=marks[-1].time)
    if marks and marks[-1].kind == "end":
        # A script may train again.
        marks.pop()
    points = list[Mark]()
    while marks and marks[-1].kind in ("step", "save"):
        points.insert(0, marks.pop())
    taken = max((point.step for point in points if point.kind == "step"), default=-1)
    if mark.kind == "step" and mark.step <= taken:
        # A script went back to a checkpoint without a word.
        marks += [*points, dataclasses.replace(mark, kind="session", step=mark.step - 1)]
        points = []
    if mark.kind in ("step", "save") and len(points) > 1 and points[-1].kind == "step":
        points.pop()
    # A checkpoint before the first step has the values of an earlier one, or the initial ones.
    if mark.kind != "save" or points:
        points.append(mark)
    saves = [point for point in points if point.kind == "save"]
    if len(saves) > _MOST_SAVES:
        points.remove(saves[0])
    marks += points


@dataclass
class _Start:
    """One start of the training; ``points`` are its first and last step, and checkpoints between them."""

    why: str
    began: float
    started: float | None = None
    session: int | None = None
    points: list[Mark] = field(default_factory=list[Mark])

    @property
    def resumed(self) -> int | None:
        """The step after which it continued; None before that is known."""
        return self.points[0].step - 1 if self.session is None and self.points else self.session

    @property
    def speed(self) -> tuple[float | None, float | None]:
        if self.started is None or not self.points:
            return None, None
        first, last = self.points[0], self.points[-1]
        steps = last.step - first.step
        return first.time - self.started, (last.time - first.time) / steps if steps else None

    def time_of(self, step: int) -> float:
        after = bisect.bisect_left([point.step for point in self.points], step)
        if after in (0, len(self.points)):
            return self.points[min(after, len(self.points) - 1)].time
        low, high = self.points[after - 1 : after + 1]
        return low.time + (high.time - low.time) * (step - low.step) / (high.step - low.step)

    def kept(self, later: Sequence["_Start"]) -> int:
        """Return the last step that no later start repeats, or that is saved, while the next one is not known."""
        first = self.resumed or 0
        restored = [each.resumed for each in later if each.resumed is not None]
        saved = [point.step for point in self.points if point.kind == "save"]
        bound = min(restored) if restored else max(saved, default=first)
        return max(first, min(bound, self.points[-1].step))


def goodput_of(marks: Sequence[Mark], now: float) -> Goodput:
    """Sum up the time from the first mark until the mark "end", or ``now``."""
    end = next((mark.time for mark in marks if mark.kind == "end"), now)
    starts = list(_starts_of(marks))
    useful_s, steps, losses = 0.0, 0, list[Loss]()
    repeated_s = quiet_s = 0.0
    repeated = 0
    for number, start in enumerate(starts):
        later = starts[number + 1 :]
        until = later[0].began if later else end
        started = until if start.started is None else start.started
        first = start.points[0].time if start.points else until
        starting = {RESTARTS if number else STARTS: quiet_s + first - started}
        seconds = {**starting, REPEATED: repeated_s, WAITING: started - start.began}
        losses.append(Loss(start.why, seconds, repeated))
        repeated_s = quiet_s = 0.0
        repeated = 0
        if start.points:
            last = start.points[-1]
            kept, kept_at = last.step, until
            if later:
                kept = start.kept(later)
                kept_at, repeated = start.time_of(kept), last.step - kept
                # A failure is noticed some time after the last step.
                repeated_s, quiet_s = last.time - kept_at, until - last.time
            useful_s += kept_at - first
            steps += kept - (start.resumed or 0)
    newest = starts[-1].speed if starts else (None, None)
    return Goodput(end - marks[0].time if marks else 0.0, useful_s, steps, tuple(losses), *newest)


def _starts_of(marks: Sequence[Mark]) -> Iterator[_Start]:
    start: _Start | None = None
    for mark in marks:
        if mark.kind == "begin" or start is None:
            if start is not None:
                yield start
            start = _Start(mark.why, mark.time)
        if mark.kind == "session" and start.points:
            # A lost server ends the session of a chief, but not its process.
            yield start
            last = start.points[-1].time
            start = _Start("The session ended.", last, last, mark.step)
        elif mark.kind == "session":
            start.session = mark.step
        elif mark.kind == "start":
            start.started = mark.time
        elif mark.kind not in ("begin", "end"):
            start.points.append(mark)
    if start is not None:
        yield start
