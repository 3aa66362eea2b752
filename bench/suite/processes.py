"""Processes of cases: each script starts once and measures when it is its turn."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cases import Case, Way
from way import MARK

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
ENVIRONMENTS = ROOT / ".environment"
# A script without output for this long is killed.
DEADLINE_S = 300
# Seconds in which scripts may delete their files, after their last turn.
END_S = 5


class WayError(Exception):
    """A script ended, took too long or lacks its Python; the message has its last output."""


class Running:
    """A script that was started and waits for its turns."""

    def __init__(self, way: Way, log: Path) -> None:
        self.way, self._log = way, log
        if not python_of(way.environment).exists():
            raise WayError(f"{way.name}: .environment/{way.environment} is missing")
        self._answers: queue.Queue[str | None] = queue.Queue()
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                _command(way),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                env=_variables(way),
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ready(self) -> None:
        """Wait until the script can measure."""
        self._answer()

    def measure(self, amount: int) -> dict[str, Any]:
        """Let the script measure once.

        Raises:
            WayError: The script ended, or did not answer before the deadline.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{amount}\n")
            self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """Tell the script that its last turn was measured."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def end(self, wait_s: float) -> None:
        """Kill the script and its child processes if they have not ended in time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(wait_s)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        try:
            answer = self._answers.get(timeout=DEADLINE_S)
        except queue.Empty:
            answer = None
        if answer is None:
            end = self._log.read_text(errors="replace").strip().splitlines()[-5:]
            raise WayError(f"{self.way.name}: {' | '.join(end) or 'no answer'}")
        return json.loads(answer)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(MARK):
                self._answers.put(line.removeprefix(MARK))
        self._answers.put(None)


@contextlib.contextmanager
def running(cases: Sequence[Case], logs: Path) -> Iterator[Mapping[str, list[Running]]]:
    """Start the scripts of cases at once, and wait until all can measure.

    Those that fail to start are reported and left out.

    Args:
        cases: The cases.
        logs: Folder of their logs, by case.

    Yields:
        The scripts by name of the case.
    """
    started: list[tuple[str, Running]] = []
    try:
        for case in cases:
            (logs / case.name).mkdir(exist_ok=True)
            for index, way in enumerate(case.ways):
                log = logs / case.name / f"{index}-{Path(way.script[0]).stem}.log"
                with _left_out():
                    started.append((case.name, Running(way, log)))
        usable: dict[str, list[Running]] = {case.name: [] for case in cases}
        for name, script in started:
            with _left_out():
                script.ready()
                usable[name].append(script)
        yield usable
    finally:
        _end([script for _, script in started])


def _end(scripts: Sequence[Running]) -> None:
    """End scripts, all at the same time; those that have ended already are let be."""
    for script in scripts:
        script.close()
    deadline = time.monotonic() + END_S
    for script in scripts:
        script.end(max(0.0, deadline - time.monotonic()))


def python_of(environment: str) -> Path:
    """Return the Python of an environment."""
    return ENVIRONMENTS / environment / "bin" / "python"


@contextlib.contextmanager
def _left_out() -> Iterator[None]:
    try:
        yield
    except WayError as failure:
        print(f"  left out: {failure}", flush=True)


def _command(way: Way) -> list[str]:
    script = str(BENCH / way.script[0])
    if script.endswith(".R"):
        return ["Rscript", script, *way.script[1:]]
    return [str(python_of(way.environment)), script, *way.script[1:]]


def _variables(way: Way) -> dict[str, str]:
    path = [str(BENCH / "suite"), str(ROOT / "inst" / "python")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "RETICULATE_PYTHON": str(python_of(way.environment)),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        # The ways of a case share a GPU.
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "TFDISTRIBUTE_PASSES": f"-{way.without}" if way.without else "",
    }
