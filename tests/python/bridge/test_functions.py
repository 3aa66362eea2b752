"""The functions that R calls."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tfdistribute.bridge import call
from tfdistribute.bridge.functions import FUNCTIONS, INTERRUPTIBLE

R_FILES = sorted((Path(__file__).parents[3] / "R").glob("*.R"))


def test_r_calls_every_function_and_no_other():
    code = "\n".join(path.read_text(encoding="utf-8") for path in R_FILES)
    code = re.sub(r"(?m)^\s*#.*$", "", code)
    # send_job() passes the name of its function on. A task reads the name of its verb from its file.
    calling = r"\b(?:call_backend|send_job|new_work)"
    names = re.findall(calling + r'\(\s*(?:object, )?"(\w+)"', code)
    assert len(names) == len(re.findall(calling + r"\b(?! <- )", code)) - 3
    assert set(names) == set(FUNCTIONS)


def test_arguments_are_brought_to_the_types_of_the_parameters():
    assert len(call("free_ports", {"count": 2.0})["value"]) == 2
    error = call("free_ports", {"count": "two"})["error"]
    assert (error["kind"], error["argument"], error["value"]) == ("argument", "count", "'two'")


def test_errors_are_data():
    error = call("no_such_function", {})["error"]
    assert error["kinds"] == ["training", "error"]
    assert "KeyError" in error["traceback"]


def test_what_may_take_long_ends_at_ctrl_c_and_the_start_of_a_job_does_not(
    monkeypatch: pytest.MonkeyPatch,
):
    assert set(FUNCTIONS) >= INTERRUPTIBLE >= {"evaluate", "predict", "export_savedmodel"}
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        for name in ("export_savedmodel", "start_job"):
            monkeypatch.setitem(FUNCTIONS, name, lambda: os.kill(os.getpid(), signal.SIGINT))
            answer = call(name, {})
            assert ("interrupt" in answer, "value" in answer) == (
                name in INTERRUPTIBLE,
                name not in INTERRUPTIBLE,
            )
    finally:
        signal.signal(signal.SIGINT, before)
