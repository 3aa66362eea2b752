"""Idle processes, which wait for a task."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from tfdistribute.training.multi_worker import idle_process

_CODE = """
import os, sys
from tfdistribute.training.multi_worker import idle_process

print("before", flush=True)
idle_process._redirect_output(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT))
print("after")
"""


def test_what_is_printed_before_the_task_is_moved_into_its_log(tmp_path: Path):
    early, log = tmp_path / "early", tmp_path / "log"
    with early.open("wb+") as output:
        command = [sys.executable, "-c", _CODE, log]
        subprocess.run(command, stdout=output, stderr=output, check=True, timeout=60)
    assert log.read_text() == "before\nafter\n"
    # The supervisor reads what is left here when the process has ended.
    assert early.read_text() == ""


def test_the_parts_of_the_engine_that_are_loaded_exist() -> None:
    for name in idle_process._PARTS:
        assert importlib.util.find_spec(f"tfdistribute.engine.{name}") is not None, name
