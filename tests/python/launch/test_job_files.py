"""The files of a job, as others may have planted or damaged them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_slurm import FakeSlurm
from support.slurm_jobs import submit

from tfdistribute.errors import TfdistributeError, TrainingError
from tfdistribute.files import printable, without_colors
from tfdistribute.launch import job_files, job_handle
from tfdistribute.launch.host import logs
from tfdistribute.metrics_page import metrics_of

SEED, TRIES = 20261127, 400

ESCAPES = "\x1b]0;title\x07\x1b[2J"
EVIL: list[Any] = [
    *(ESCAPES, "", "a\0b", "\ud800", "\u202etxt", "x" * 10_000, "{1 + 1} {.run x}", "é\n\tü"),
    *(None, True, 0, -1, 1.5, 2**31, 2**60, 10**19, float("nan"), float("-inf"), 1e308),
    *([], {}, [[]], [None], [ESCAPES], {ESCAPES: ESCAPES}, {"problem": ESCAPES}, [1, "a", {}]),
]

TASK = {
    "task": "worker 0",
    "host": "a",
    "pid": 7,
    "port": 1,
    "state": "running",
    "activity": "training",
    "step": 3,
    "examples_per_second": 2.5,
    "seconds_since_step": 0.1,
    "input_wait": 0.2,
    **dict.fromkeys(("gpu_utilization", "gpu_memory_mb", "gpu_power_w")),
    "log": "/log",
    "log_start": 0,
}
COLUMNS = {
    "step": [1, 2],
    "loss": [0.5, None],
    "seconds": [0.1, 0.2],
    "examples_per_second": [5.0, None],
}
FAILURE = {
    "kind": "training",
    "kinds": ["training", "error"],
    "problem": "It failed.",
    "remedy": "Mend it.",
    "argument": None,
    "value": "x",
    "traceback": "Traceback",
    "r_traceback": None,
    "transient": False,
    "task": "worker 0",
    "host": "a",
    "exit": 1,
    "log_tail": "last",
}
STATE = {
    "state": "failed",
    "message": "It failed.",
    "host": "a",
    "network": "open",
    "started": 1.0,
    "ended": 2.0,
    "global_step": 3,
    "loss": 0.5,
    "examples_per_second": 5.0,
    "checkpoint": 2,
    "restarts": 0,
    "steps_lost": 0,
    "goodput": {
        "share": 0.5,
        "seconds": 4.0,
        "rows_per_second": None,
        "lost": {"first start": 1.0, "restarts": 0.0, "repeated steps": 0.0, "waiting": 1.0},
        "restarts": [{"why": "A kill.", "seconds": 1.0, "steps": 2}],
        "text": "goodput 50% of 4 s (first start 25%, waiting 25%)",
    },
    "notes": ["a note"],
    "tasks": [TASK, {**TASK, "task": "chief 0"}],
    "evaluations": [{"global_step": 3.0, "loss": None, "auc": [0.5, 0.6]}],
    "failure": FAILURE,
    "history": {
        "training": COLUMNS,
        "evaluation": [{"global_step": 3.0, "loss": 0.5}],
        "examples_per_second": 5.0,
        "stopped_by": None,
        "workers": [{"first_step": 0, "last_step": 3, "workers": 2, "hosts": "a, b"}],
    },
}


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    FakeSlurm.on_path(tmp_path, monkeypatch, _VISIBLE_S=0.0, _FRESH_S=1e9)
    return submit(tmp_path, {})


def damaged(values: dict[str, Any], chance: random.Random) -> Any:
    values = copy.deepcopy(values)
    places: list[tuple[Any, Any]] = []

    def collect(part: Any) -> None:
        for key in part if isinstance(part, dict) else range(len(part)):
            places.append((part, key))
            if isinstance(part[key], (dict, list)):
                collect(part[key])

    collect(values)
    for part, key in chance.sample(places, chance.choice([1, 1, 1, 2, 5])):
        if isinstance(part, dict) and chance.random() < 0.2:
            part.pop(key, None)
        else:
            part[key] = copy.deepcopy(chance.choice(EVIL))
    return values


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        for each in value:
            yield from texts_of(each)
    elif isinstance(value, str):
        yield value


def read_all(job: dict[str, Any]) -> str:
    """Read a job in each way that R and the pages have, and return all texts."""
    state = job_handle.job_state(job)
    news = job_handle.job_news(job, level="debug")
    assert metrics_of(state).state == state["state"]
    return "".join(texts_of([state, news["state"], news["lines"]]))


# Nothing else may be raised, and nothing may reach a terminal that is not a character.
@pytest.mark.parametrize("name", ["state.json", "result.json", "submission.json"])
def test_damage_is_read_as_text_or_is_one_error(job: dict[str, Any], name: str) -> None:
    chance = random.Random(SEED)
    path = Path(job["logs" if name == "result.json" else "directory"], name)
    original = path.read_bytes() if path.exists() else b""
    refused = 0
    for _ in range(TRIES):
        values = damaged(job if name == "submission.json" else {**job, **STATE}, chance)
        path.write_text(json.dumps(values), encoding="utf-8")
        try:
            found = job_handle.find_job(str(job["model_dir"])) or job
            text = read_all(found)
        except TfdistributeError as error:
            refused += 1
            text = f"{error}"
            assert isinstance(error, TrainingError)
            assert name in text
        assert text == printable(text)
    assert 0 < refused < TRIES
    path.write_bytes(original)


def test_the_error_names_the_file_the_value_and_the_remedy(job: dict[str, Any]) -> None:
    path = Path(job["logs"], "result.json")
    path.write_text(json.dumps({**job, **STATE, "tasks": [TASK, {**TASK, "step": ESCAPES}]}))
    with pytest.raises(TrainingError) as caught:
        job_handle.job_state(job)
    assert caught.value.problem == (
        f'"{path}" is damaged, or another program wrote it: `tasks[1].step` must be a whole number, not '
        "'\\x1b]0;title\\x07\\x1b[2J'."
    )
    assert caught.value.remedy == "Find out who changed this file, and remove it."


def test_what_a_supervisor_writes_fits(job: dict[str, Any]) -> None:
    path = Path(job["logs"], "result.json")
    path.write_text(json.dumps({**job, **STATE}))
    read = job_files.read(job["logs"], "result.json")
    assert read == {**job, **STATE}


def test_logs_keep_colors_and_show_other_escape_sequences(tmp_path: Path) -> None:
    log = tmp_path / "worker-0.log"
    log.write_text(f"\x1b[31mred\x1b[0m{ESCAPES}\nplain\x9b2J\ttab\n", encoding="utf-8")
    rows = [{"task": "worker 0", "log": str(log)}]
    shown = ["\x1b[31mred\x1b[0m\\x1b]0;title\\x07\\x1b[2J", "plain\\x9b2J\ttab"]
    assert job_handle.read_logs(rows, "worker 0", "debug") == shown
    assert logs.tail(str(log), 0) == "\n".join(map(without_colors, shown))


def test_a_line_after_an_error_of_tensorflow_is_no_error(tmp_path: Path) -> None:
    error = "E0000 00:00:1.5 42 cuda_platform.cc:51] failed call to cuInit: UNKNOWN ERROR (303)"
    old = "2026-11-27 01:02:03.4: E external/cuda.cc:266] failed call to cuInit"
    trace = ["Traceback (most recent call last):", '  File "a.py", line 1', "ValueError: x"]
    lines = [error, "step 1", old, "step 2", *trace, "INFO: step 3", "step 4"]
    log = tmp_path / "worker-0.log"
    log.write_text("\n".join([*lines, ""]), encoding="utf-8")
    rows = [{"task": "worker 0", "log": str(log)}]
    assert job_handle.read_logs(rows, "worker 0", "error") == [error, old, *trace]
    assert job_handle.read_logs(rows, "worker 0", "debug") == lines
