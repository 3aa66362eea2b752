"""Seconds from the start of a process to its first step: ``start.py estimator|package|reticulate|r``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from way import take_turns

FOLDER = Path(__file__).resolve().parent
COMMANDS = {
    "estimator": [sys.executable, str(FOLDER / "estimator_step.py")],
    "package": [sys.executable, str(FOLDER / "package_step.py")],
    "reticulate": ["Rscript", str(FOLDER / "estimator-step.R")],
    "r": ["Rscript", str(FOLDER / "first-step.R")],
}


def measure(runs: int) -> float:
    return min(seconds() for _ in range(runs))


def seconds() -> float:
    started = time.time()
    done = subprocess.run(
        COMMANDS[sys.argv[1]],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=os.environ.copy(),
    )
    return json.loads(done.stdout.strip().splitlines()[-1])["first_step_at"] - started


take_turns(measure)
