"""Metrics pages for R: of a training in this process, which its progress events feed, of a job, and of a history."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from tfdistribute import history_file
from tfdistribute.descriptions.constraints import AnyFloat
from tfdistribute.errors import TfdistributeError
from tfdistribute.launch import job_handle
from tfdistribute.launch.schedulers import client
from tfdistribute.metrics_page import (
    Metrics,
    MetricsPage,
    in_words,
    metrics_of,
    request_page,
    thin,
    title_of,
)
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import History, Listener

# Losses come ten times a second; a page shows half as many.
_MOST_LOSSES = 2000


class LiveMetrics:
    def __init__(self, directory: str, model_dir: str | None, listener: Listener | None) -> None:
        self._page = MetricsPage(directory)
        self._model_dir = model_dir
        self._listener = listener
        self._losses: list[tuple[int, float | None]] = []
        self._evaluations: list[Mapping[str, float]] = []
        self._last: dict[str, Any] = {}
        self._first: tuple[int, float] | None = None

    def __enter__(self) -> "LiveMetrics":
        self._show("starting")
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            self._fail(error)

    def listen(self, event: dict[str, Any]) -> Any:
        if event["event"] == "step":
            self._last = event
            self._first = self._first or (event["step"], time.monotonic())
            self._losses.append((event["step"], event["loss"]))
            if len(self._losses) > _MOST_LOSSES:
                self._losses = thin(self._losses)
        elif event["event"] == "evaluation":
            self._evaluations.append({name: event[name] for name in event if name != "event"})
        if self._page.is_due or event["event"] == "evaluation" or len(self._losses) == 1:
            self._show("training")
        return None if self._listener is None else self._listener(event)

    def end(self, history: History) -> None:
        """Show the history, which has more losses of a fast training than were reported."""
        if len(history.steps) > len(self._losses):
            self._losses = list(zip(history.steps, history.losses, strict=True))
        self._show("done")

    def _fail(self, error: BaseException) -> None:
        text = error.problem if isinstance(error, TfdistributeError) else str(error)
        is_interrupt = isinstance(error, KeyboardInterrupt)
        self._show("stopped" if is_interrupt else "failed", text or None)

    def _show(self, state: str, message: str | None = None) -> None:
        speed = self._last.get("examples_per_second")
        self._page.write(
            Metrics(
                title_of(self._model_dir),
                state,
                model_dir=self._model_dir,
                message=message,
                step=self._last.get("step"),
                last_step=self._last.get("last_step"),
                examples_per_second=speed,
                utilization=in_words(self._last),
                seconds_per_step=self._seconds_per_step(),
                losses=self._losses,
                evaluations=self._evaluations,
                is_over=state in ("done", "failed", "stopped"),
            )
        )

    def _seconds_per_step(self) -> float | None:
        if self._first is None or self._last["step"] <= self._first[0]:
            return None
        return (time.monotonic() - self._first[1]) / (self._last["step"] - self._first[0])


def show_live(
    train: Callable[..., History],
    directory: str,
    model: Model,
    settings: RunSettings,
    *data: Any,
    listener: Listener | None = None,
    **options: Any,
) -> History:
    """Train with a verb, and write the page of the training into a directory meanwhile."""
    with LiveMetrics(directory, model.model_dir, listener) as live:
        history = train(model, settings, *data, listener=live.listen, **options)
        live.end(history)
    return history


def view_job(job: job_handle.Handle, directory: str) -> None:
    """Make the page of a job; a supervisor on this machine keeps it current while the job runs."""
    page = MetricsPage(directory)
    if client.is_detached(job):
        # Its supervisor is on another machine, and saves the losses in model_dir.
        state = job_handle.job_state(job)
        losses = (
            () if state.get("history") else history_file.read_losses(str(job["model_dir"])).rows
        )
        page.write(metrics_of(state, losses))
        return
    page.write(metrics_of(job_handle.job_state(job)))
    if job_handle.is_running(job):
        request_page(str(job["directory"]), directory)
    state = job_handle.job_state(job)
    if state.get("ended") is not None:
        # It may have ended before its supervisor read the request.
        page.write(metrics_of(state))


def view_history(
    directory: str,
    model_dir: str,
    steps: tuple[int, ...],
    losses: tuple[AnyFloat | None, ...],
    evaluations: tuple[dict[str, AnyFloat | None], ...],
    examples_per_second: float | None = None,
    stopped_by: str | None = None,
) -> None:
    """Write the page of a training that has ended, in which a missing number is None or NaN."""
    MetricsPage(directory).write(
        Metrics(
            title_of(model_dir),
            "done" if stopped_by is None else f"stopped by {stopped_by}",
            model_dir=model_dir,
            step=steps[-1] if steps else None,
            examples_per_second=examples_per_second,
            losses=tuple(zip(steps, losses, strict=True)),
            evaluations=evaluations,
            is_over=True,
        )
    )
