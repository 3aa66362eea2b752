"""The page of a training in this process, and of a history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.metrics_pages import shown

from tfdistribute.bridge import live_metrics
from tfdistribute.bridge.live_metrics import LiveMetrics, view_history
from tfdistribute.errors import InputError
from tfdistribute.training.history import History


def step(number: int, loss: float = 0.5) -> dict[str, Any]:
    event = {"event": "step", "step": number, "loss": loss, "last_step": 30}
    return {**event, "examples_per_second": 100.0}


def test_a_page_shows_the_first_step_every_evaluation_and_the_whole_history(tmp_path: Path):
    seen: list[dict[str, Any]] = []
    states: list[tuple[str, int | None, int]] = []

    def listener(event: dict[str, Any]) -> None:
        seen.append(event)
        values = shown(tmp_path)
        states.append((values["state"], values["step"], len(values["evaluations"])))

    with LiveMetrics(str(tmp_path), "/runs/cars", listener) as live:
        assert shown(tmp_path)["state"] == "starting"
        for event in (step(1), step(7), {"event": "evaluation", "global_step": 7.0, "auc": 0.9}):
            live.listen(event)
        live.end(History(steps=[1, 5, 10], losses=[0.5, 0.4, 0.3]))
    # Step 7 came within a second of step 1.
    assert states == [("training", 1, 0), ("training", 1, 0), ("training", 7, 1)]
    assert [event["event"] for event in seen] == ["step", "step", "evaluation"]
    values = shown(tmp_path)
    assert (values["state"], values["is_over"], values["model_dir"]) == ("done", True, "/runs/cars")
    assert values["losses"] == [[1, 0.5], [5, 0.4], [10, 0.3]]


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (InputError("`x` has no rows.", "Give some."), "failed", "`x` has no rows."),
        (KeyboardInterrupt("Stopped at step 7."), "stopped", "Stopped at step 7."),
        (KeyboardInterrupt(), "stopped", None),
    ],
)
def test_a_page_says_why_the_training_ended(
    error: BaseException, state: str, message: str | None, tmp_path: Path
):
    with pytest.raises(type(error)), LiveMetrics(str(tmp_path), None, None):
        raise error
    values = shown(tmp_path)
    assert (values["state"], values["message"], values["is_over"]) == (state, message, True)


def test_a_long_training_keeps_few_losses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live_metrics, "_MOST_LOSSES", 1500)
    metrics = LiveMetrics(str(tmp_path), None, None)
    for number in range(1, 5001):
        metrics.listen(step(number))
    assert len(metrics._losses) <= 1500
    assert (metrics._losses[0][0], metrics._losses[-1][0]) == (1, 5000)


def test_the_page_of_a_history_is_complete_and_asks_for_nothing_more(tmp_path: Path):
    view_history(
        str(tmp_path), "/runs/cars", (1, 10), (0.5, float("nan")), (), stopped_by="early stopping"
    )
    values = shown(tmp_path)
    assert (values["state"], values["is_over"]) == ("stopped by early stopping", True)
    assert (values["step"], values["losses"]) == (10, [[1, 0.5], [10, None]])
