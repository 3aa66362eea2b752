"""Goodput of a training job: the share of its time in which it computed steps that counted.

A step counts unless a later start of the training repeats it. All other time has one cause, so the seconds of the
steps that counted and of all causes add up to the time of the job.
"""

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

# "begin": the job began, or a restart was decided. "start": its processes started, once there were hosts. "session":
# the training continues after a step. "step" and "save": the chief took or saved it. "end": the chief has finished.
Kind = Literal["begin", "start", "session", "step", "save", "end"]

# Causes of lost time, in the order in which they are shown.
STARTS, RESTARTS, REPEATED, WAITING = "first start", "restarts", "repeated steps", "waiting"
CAUSES = (STARTS, RESTARTS, REPEATED, WAITING)

# Only a recent checkpoint is restored.
MOST_POINTS = 6
_SHOWN_FROM = 0.005


@dataclass
class Loss:
    """Seconds that one start of the training cost, and the number of steps that it repeated."""

    why: str
    seconds: float = 0.0
    steps: int = 0


@dataclass(frozen=True, order=True)
class Point:
    step: int
    useful_s: float


@dataclass
class Goodput:
    """Sum of a job's time from ``began`` until ``since``, the time of the newest mark, in epoch seconds.

    Args:
        cause: What the time after ``since`` is lost to; None while the training takes steps.
        losses: Losses of each start; ``lost_s`` has the seconds of all by cause.
        useful_s: Seconds of the steps that counted, of which ``step`` is the last.
        points: Useful seconds at the step after which the training began, and at recent checkpoints.
        is_resumed: Whether it is known after which step the newest start continues.
        start_s: Seconds from the start of the processes to the ``first`` step of the newest start, or None before that.
        step_s: Mean seconds of a step since then, or None before the second step.
    """

    began: float = 0.0
    since: float = 0.0
    ended: float | None = None
    cause: str | None = None
    losses: list[Loss] = field(default_factory=list[Loss])
    lost_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(CAUSES, 0.0))
    useful_s: float = 0.0
    step: int = 0
    points: list[Point] = field(default_factory=list[Point])
    is_resumed: bool = False
    started: float | None = None
    first: Point | None = None
    start_s: float | None = None
    step_s: float | None = None

    @classmethod
    def restored(cls, values: Mapping[str, Any]) -> "Goodput":
        fields: dict[str, Any] = {**values, "first": None}
        fields["losses"] = [Loss(**each) for each in values["losses"]]
        fields["points"] = [Point(**each) for each in values["points"]]
        return cls(**fields)

    def mark(self, kind: Kind, at: float, step: int = 0, why: str = "") -> None:
        """Add the time since the last mark; ``why`` is the reason for a restart."""
        # The clocks of two hosts may differ, and a script may train again after its end.
        at = max(at, self.since)
        self.ended = at if kind == "end" else None
        if kind == "begin" or not self.losses:
            self._begin(why, at)
        if kind == "start":
            self._spend(at)
            self.cause, self.started = RESTARTS if self.losses[1:] else STARTS, at
        elif kind == "session":
            self._resume(step, at)
        elif kind == "step":
            self._take(step, at)
        elif kind == "save" and self.cause is None:
            # A checkpoint before the first step has the values of an earlier one, or the initial ones.
            self._spend(at)
            self.step = max(step, self.step)
            self._note()

    def until(self, now: float) -> "Goodput":
        """Return the sum until the end of the training, or ``now``."""
        found = copy.deepcopy(self)
        if self.losses:
            found._spend(now if self.ended is None else self.ended)
        if self.points and not self.is_resumed:
            found._repeat_after(self.points[-1].step)
        return found

    @property
    def seconds(self) -> float:
        return self.since - self.began

    @property
    def steps(self) -> int:
        return self.step - self.points[0].step if self.points else 0

    @property
    def share(self) -> float:
        return self.useful_s / self.seconds if self.seconds > 0 else 0.0

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
            "restarts": [asdict(loss) for loss in self.losses[1:]],
            "text": str(self),
        }

    def _spend(self, at: float) -> None:
        if self.cause is None:
            self.useful_s += at - self.since
        else:
            self._lose(self.cause, at - self.since)
        self.since = at

    def _lose(self, cause: str, seconds: float) -> None:
        self.lost_s[cause] += seconds
        self.losses[-1].seconds += seconds

    def _begin(self, why: str, at: float) -> None:
        if not self.losses:
            self.began = self.since = at
        if self.cause is not None:
            self._spend(at)
        self.losses.append(Loss(why))
        # A failure is noticed some time after the last step.
        self.cause = self.cause or RESTARTS
        self._spend(at)
        self.cause, self.is_resumed = WAITING, False
        self.started = self.start_s = self.step_s = None

    def _resume(self, step: int, at: float) -> None:
        if self.cause is None:
            # A lost server ends the session of a chief, but not its process.
            last = self.since
            self._begin("The session ended.", at)
            self.cause, self.started = RESTARTS, last
        self._repeat_after(step)

    def _take(self, step: int, at: float) -> None:
        if (self.cause is None and step < self.step) or not self.is_resumed:
            # A script says nothing of its sessions.
            self._resume(step - 1, at)
        is_first = self.cause is not None
        self._spend(at)
        self.cause, self.step = None, step
        if is_first:
            self.start_s = None if self.started is None else at - self.started
            self.first = Point(step, self.useful_s)
        elif self.first is not None and step > self.first.step:
            self.step_s = (self.useful_s - self.first.useful_s) / (step - self.first.step)

    def _repeat_after(self, step: int) -> None:
        """Count the steps after this one as repeated by the newest start."""
        useful_s = self._useful_until(step)
        self._lose(REPEATED, self.useful_s - useful_s)
        self.losses[-1].steps += max(0, self.step - step) if self.points else 0
        self.points = [each for each in self.points if each.step <= step]
        self.useful_s, self.step, self.first = useful_s, step, None
        self.is_resumed = True
        self._note()

    def _useful_until(self, step: int) -> float:
        last = Point(self.step, self.useful_s)
        known = [*self.points, self.first or last, last]
        low = max((each for each in known if each.step <= step), default=known[0])
        high = min((each for each in known if each.step > step), default=low)
        share = max(0, step - low.step) / max(1, high.step - low.step)
        return low.useful_s + (high.useful_s - low.useful_s) * share

    def _note(self) -> None:
        self.points.append(Point(self.step, self.useful_s))
        del self.points[1 : 1 - MOST_POINTS]
