"""State of one task as the supervisor sees it."""

from dataclasses import dataclass, field
from typing import Any

from tfdistribute.cluster.spec import EVALUATOR, Task
from tfdistribute.task_events import UTILIZATION, number, whole_number


@dataclass
class TaskView:
    """One start of one task, known from its events and its exit code.

    Args:
        started_at: Monotonic time, as ``stepped_at`` and ``heard_at``, which is the time of the last event.
        state: "starting", "choosing the end", "waiting", "training", "evaluating", "predicting", "serving", "stalled",
            "done", "failed" or "stopped".
        step: The last step, or batch of an evaluation or a prediction, that it reported.
        speed: Its examples per second.
        utilization: Use of its GPUs, and its waiting for input, by the names in ``UTILIZATION``.
        exit: Exit code, negative for a signal; None while it runs.
        ended_at: Epoch time at which its end was seen.
        chose_at: When it last chose the end of the training.
        loss: Why it is out of reach, as the end of a sentence about its host.
        notes: Notes for the user that were not passed on yet.
    """

    task: Task
    host: str = "localhost"
    started_at: float = 0.0
    pid: int | None = None
    state: str = "starting"
    waiting_for: str | None = None
    is_up: bool = False
    has_tensorflow: bool = False
    step: int | None = None
    speed: float | None = None
    utilization: dict[str, float | None] = field(default_factory=lambda: dict.fromkeys(UTILIZATION))
    stepped_at: float | None = None
    chose_at: float = 0.0
    heard_at: float = 0.0
    finished: dict[str, Any] | None = None
    failed: dict[str, Any] | None = None
    exit: int | None = None
    ended_at: float | None = None
    is_ended_by_us: bool = False
    loss: str | None = None
    notes: list[str] = field(default_factory=list[str])

    @property
    def trains(self) -> bool:
        return self.task.trains

    @property
    def is_running(self) -> bool:
        return self.pid is not None and self.exit is None

    @property
    def activity(self) -> str:
        if self.waiting_for is not None:
            return f"waiting for {self.waiting_for}"
        if self.state == "starting" and self.is_up:
            return "building the model" if self.has_tensorflow else "loading TensorFlow"
        return self.state

    def take(self, event: dict[str, Any], now: float) -> None:
        """Update the state from one event; ``now`` is monotonic time."""
        self.heard_at, self.is_up = now, True
        take = getattr(self, f"_take_{event['event']}", None)
        if take is not None:
            take(event, now)

    def _take_tensorflow(self, event: dict[str, Any], now: float) -> None:
        self.has_tensorflow = True
        self.state, self.waiting_for = "starting", None

    def _take_choosing(self, event: dict[str, Any], now: float) -> None:
        self.state, self.chose_at = "choosing the end", now

    def _take_serving(self, event: dict[str, Any], now: float) -> None:
        self.state, self.waiting_for = "serving", None

    def _take_waiting(self, event: dict[str, Any], now: float) -> None:
        self.state, self.waiting_for = "waiting", str(event.get("for", "something"))[:200]

    def _take_agreed(self, event: dict[str, Any], now: float) -> None:
        self.state, self.waiting_for = "starting", None

    def _take_step(self, event: dict[str, Any], now: float) -> None:
        self.state, self.waiting_for = "training", None
        self.step, self.stepped_at = whole_number(event.get("step")), now
        self.speed = number(event.get("examples_per_second"))
        self.utilization = {name: number(event.get(name)) for name in UTILIZATION}

    def _take_batch(self, event: dict[str, Any], now: float) -> None:
        self._take_step(event, now)
        self.state = "predicting" if event.get("verb") == "predict" else "evaluating"

    def _take_evaluation(self, event: dict[str, Any], now: float) -> None:
        if self.task.type == EVALUATOR:
            self.state, self.waiting_for = "evaluating", None
            self.step = whole_number(event.get("step"))

    def _take_note(self, event: dict[str, Any], now: float) -> None:
        self.notes.append(str(event.get("text", "")))

    def _take_finished(self, event: dict[str, Any], now: float) -> None:
        self.finished, self.waiting_for = event, None
        self.step = whole_number(event.get("step")) or self.step

    def _take_failed(self, event: dict[str, Any], now: float) -> None:
        self.failed, self.waiting_for = event, None
        self.state = "failed"

    def end(self, code: int, time: float) -> None:
        """Record the exit code (negative for a signal) at epoch ``time``."""
        self.exit, self.ended_at = code, time
        self.waiting_for = None
        if self.finished is not None and self.failed is None:
            self.state = "done"
        elif self.is_ended_by_us:
            self.state = "stopped"
        else:
            self.state = "done" if code == 0 and self.failed is None else "failed"

    def is_starting(self) -> bool:
        return self.is_running and self.stepped_at is None and self.state == "starting"
