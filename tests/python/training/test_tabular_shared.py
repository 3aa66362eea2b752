"""The choice of a tabular model's end in a cluster: one chief chooses, and the other tasks read its choice."""

from __future__ import annotations

import importlib
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.tabular import ROWS, regressor, rows

from tfdistribute import task_events
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import LocalCluster, Task
from tfdistribute.errors import InputError, LostPeerError
from tfdistribute.models import Tabular
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies import MultiWorker
from tfdistribute.training.history import History
from tfdistribute.training.specs import Start, Training, TrainSpec
from tfdistribute.training.tabular import choose_end, chosen_by_chief, forget_choice, shared_choice

train: Any = importlib.import_module("tfdistribute.training.train")

CLUSTER = {"chief": ("a:1",), "worker": ("b:1",)}
CHIEF, WORKER = Member(CLUSTER, Task("chief")), Member(CLUSTER, Task("worker"))
SETTINGS = RunSettings(strategy=MultiWorker(), cluster=LocalCluster(workers=2))
HASTY = RunSettings(cluster=LocalCluster(workers=2, start_timeout_s=1))


class Choices:
    """Choices without trials, because the model has `epochs`; counted, and with a word of the trials in between."""

    def __init__(self, model: Tabular) -> None:
        self.model, self.settings, self.count = model, RunSettings(), 0

    def __call__(self, settings: RunSettings, listener: Any, team: Any) -> tuple[Tabular, Any]:
        self.settings, self.count = settings, self.count + 1
        listener({"event": "step"})
        return choose_end(self.model, settings, rows(), _fail, _fail)


def asked(choices: Choices, settings: RunSettings = SETTINGS) -> Training:
    return Training("train", choices.model, settings, TrainSpec(rows()))


def _fail(*_: Any) -> Any:
    raise AssertionError("A model with `epochs` has no trials.")


@pytest.fixture
def choices(tmp_path: Path) -> Choices:
    return Choices(regressor(tmp_path, epochs=4, batch_size=50))


def test_the_others_get_what_the_chief_has_learned(choices: Choices) -> None:
    found: list[Tabular] = []
    waiting = threading.Thread(
        target=lambda: found.append(chosen_by_chief(asked(choices), WORKER, _fail)[0])
    )
    waiting.start()
    own, _ = chosen_by_chief(asked(choices), CHIEF, choices)
    waiting.join(20)
    assert found == [own]
    assert own.table is not None
    assert own.table.end == 4 * ROWS // 50
    assert (choices.settings.strategy, choices.settings.cluster) == (None, None)


def test_a_chief_chooses_once_in_its_job_and_again_in_another(
    choices: Choices, monkeypatch: pytest.MonkeyPatch
) -> None:
    for job, count in (("one", 1), ("one", 1), ("two", 2)):
        monkeypatch.setenv(task_events.JOB, f"private/{job}")
        assert chosen_by_chief(asked(choices), CHIEF, choices)[0].learned is not None
        assert choices.count == count
    # Without a job, nothing tells a restart from the next training.
    monkeypatch.delenv(task_events.JOB)
    for count in (3, 4):
        chosen_by_chief(asked(choices), CHIEF, choices)
        assert choices.count == count
    forget_choice(choices.model.model_dir)
    forget_choice(choices.model.model_dir)
    assert not Path(choices.model.model_dir, shared_choice.FILE).exists()


class Begun(Choices):
    """Choices of a model whose variables the chief has learned alone."""

    def __call__(self, settings: RunSettings, listener: Any, team: Any) -> tuple[Tabular, Any]:
        return super().__call__(settings, listener, team)[0], Start(7, {"w": 1.0}, ())


@pytest.mark.parametrize("late_s", [0.0, 1.0, None])
def test_a_chief_that_writes_alone_ends_when_the_others_have_read_its_choice(
    choices: Choices, monkeypatch: pytest.MonkeyPatch, late_s: float | None
) -> None:
    monkeypatch.setattr(train, "train_here", lambda training: History())
    limit = RunSettings(
        cluster=LocalCluster(workers=2, start_timeout_s=2 if late_s is None else 60)
    )
    work, ended, found = asked(choices, limit), dict[Task, float](), list[str]()

    def take_part(member: Member, wait_s: float) -> None:
        time.sleep(wait_s)
        chosen, start = chosen_by_chief(work, member, Begun(choices.model))
        history = train._write_alone(replace(work, model=chosen, start=start), member)
        if member.is_chief:
            forget_choice(choices.model.model_dir)
        found.extend(history.notes)
        ended[member.task] = time.monotonic()

    began = time.monotonic()
    tasks = [(CHIEF, 0.0), *([] if late_s is None else [(WORKER, late_s)])]
    threads = [threading.Thread(target=take_part, args=each) for each in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(ended) == len(tasks)
    assert not [*Path(choices.model.model_dir).glob(f"{shared_choice.FILE}*")]
    waited_s = ended[CHIEF.task] - began
    if late_s is None:
        assert found == ["The model is trained, but worker 0 (b:1) did not come for it."]
    else:
        assert not found
        assert late_s <= waited_s < late_s + 4


@pytest.mark.parametrize("attempt", [0, 1])
def test_a_choice_whose_chief_was_killed_before_it_wrote_the_model_is_lost(
    choices: Choices, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    monkeypatch.setattr(shared_choice, "START_PATIENCE", 0.1)
    monkeypatch.setenv(task_events.JOB, "private/one")
    monkeypatch.setenv(task_events.ATTEMPT, str(attempt))
    known = {"learned": None, "response_scale": None, "begins": True}
    record = {"job": "one", "attempt": 0, "model": known}
    Path(choices.model.model_dir).mkdir(exist_ok=True)
    Path(choices.model.model_dir, shared_choice.FILE).write_text(json.dumps(record))
    if attempt == 0:
        assert chosen_by_chief(asked(choices, HASTY), WORKER, choices)[1] is not None
    else:
        with pytest.raises(LostPeerError, match="gives no sign of life"):
            chosen_by_chief(asked(choices, HASTY), WORKER, choices)


def test_a_chief_that_fails_ends_the_others(choices: Choices) -> None:
    def choose(*_: Any) -> Any:
        raise InputError("The feature `x` is odd.", "Remove it.")

    with pytest.raises(InputError):
        chosen_by_chief(asked(choices), CHIEF, choose)
    with pytest.raises(LostPeerError, match="chief 0 has ended: The feature `x` is odd"):
        chosen_by_chief(asked(choices), WORKER, choose)


def test_a_chief_without_a_sign_of_life_is_not_waited_for(
    choices: Choices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_choice, "START_PATIENCE", 0.1)
    # Of an earlier job.
    other = {"job": "another", "model": {"learned": {}}}
    Path(choices.model.model_dir, shared_choice.FILE).write_text(json.dumps(other))
    with pytest.raises(LostPeerError, match=r"waited \d+ seconds for chief 0, which chooses"):
        chosen_by_chief(asked(choices, HASTY), WORKER, choices)


def test_the_supervisor_hears_of_the_choice(
    choices: Choices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = tmp_path / "events"
    monkeypatch.setenv(task_events.EVENTS, str(events))
    chosen_by_chief(asked(choices), CHIEF, choices)
    chosen_by_chief(asked(choices), WORKER, choices)
    seen = [json.loads(line) for line in events.read_text().splitlines()]
    assert [each["event"] for each in seen] == ["choosing", "waiting"]
    assert seen[1]["for"] == "the choice of chief 0"
