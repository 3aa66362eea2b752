"""Which checkpoints the evaluator of a cluster evaluates."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tfdistribute import history_file
from tfdistribute.checkpoints.newest import name_newest
from tfdistribute.training.multi_worker import evaluator


@pytest.mark.parametrize(("throttle_s", "expected"), [(0, [[20, 30], [40, 50]]), (1, [[30], [50]])])
def test_without_a_distance_each_checkpoint_that_is_kept_is_evaluated_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    throttle_s: int,
    expected: list[list[int]],
) -> None:
    # Step 10 was evaluated by an earlier process, and the evaluation of step 20 by evaluate() does not count.
    history_file.append(str(tmp_path), history_file.EVALUATIONS, [{"global_step": 10.0}])
    history_file.append_evaluation(str(tmp_path), {"global_step": 20.0})
    broken = {f"{tmp_path}/model.ckpt-35"}
    monkeypatch.setattr(evaluator, "is_whole", lambda prefix: prefix not in broken)
    assignment: Any = SimpleNamespace(
        member=SimpleNamespace(address_key="", task="evaluator 0"),
        model=SimpleNamespace(model_dir=str(tmp_path)),
        train=SimpleNamespace(max_steps=50),
    )
    monkeypatch.setattr(evaluator, "ProgressFile", lambda *_: SimpleNamespace(read=lambda: None))
    spec: Any = SimpleNamespace(throttle_secs=throttle_s, start_delay_secs=0)
    running = evaluator._Evaluator(assignment, spec, SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setattr(running, "_wait", lambda: None)
    found: list[int] = []

    def evaluate(checkpoint: str, last: bool) -> bool:
        found.append(int(checkpoint.rpartition("-")[2]))
        assert last == (found[-1] == 50)
        return True

    monkeypatch.setattr(running, "_evaluate", evaluate)
    for steps, wanted in zip(([10, 20, 30], [20, 30, 35, 40, 50]), expected, strict=True):
        found.clear()
        name_newest(str(tmp_path), *(f"model.ckpt-{step}" for step in steps))
        ended = [running.poll() for _ in range(3)]
        assert found == wanted
        assert ended[-1] == (50 in steps)
