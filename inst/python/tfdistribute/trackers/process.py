"""The process that logs to a tracker outside a job's private network, so that no training waits for a server."""

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tfdistribute.descriptions import read
from tfdistribute.errors import (
    BackendError,
    RunConfigError,
    TfdistributeError,
    as_values,
    from_values,
)
from tfdistribute.files import parse_object
from tfdistribute.trackers.description import Tracker
from tfdistribute.trackers.follow import Logger, follow

# How long a tracker may take to open a run, and to take what is left at the end.
_OPEN_S = 90.0
_CLOSE_S = 60.0

# The working directory may hold "wandb", a folder for runs.
_CODE = (
    "import importlib, sys; sys.path[0] = sys.argv[1]; importlib.import_module(sys.argv[2]).main()"
)

# Waits for the end of a training at most the given seconds; returns its last state, or None.
End = Callable[[float], "str | None"]


class TrackerProcess:
    """A process that logs to a tracker until ``finish``, or until this process ends, with additional ``environment``.

    ``values`` are ``tracker``, ``model_dir`` and ``parameters``, and the keys that ``main`` of the module reads. Raises
    BackendError if the tracker's package is missing, and RunConfigError if it cannot open a run.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        module: str = __name__,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        root = str(Path(__file__).parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, root, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        try:
            self._send(values)
            answer = self._answer(_OPEN_S)
        except BaseException:
            self._end(0.0)
            raise
        if "run" not in answer:
            self._end(0.0)
            problem = f"The process of `track` did not open a run within {_OPEN_S:g} seconds."
            raise from_values({"kind": "run_config", "problem": problem, **answer})

    def finish(self, state: str | None) -> str | None:
        """End the process when it has logged the rest; return why it could not, as a sentence, or None.

        ``state`` is the last one of the training; None if the process finds that out alone.
        """
        if state is not None:
            self._send({"state": state})
        answer = self._answer(_CLOSE_S)
        self._end(5.0)
        problem = answer.get("problem", "its process did not answer")
        if problem is None:
            return None
        return f"`track` has not logged everything: {problem}. The next training in `model_dir` logs the rest."

    def _send(self, values: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(values).encode() + b"\n")
            self._process.stdin.flush()

    def _answer(self, timeout_s: float) -> dict[str, Any]:
        out = self._process.stdout
        assert out is not None
        ready, _, _ = select.select([out], [], [], timeout_s)
        return parse_object(out.readline() if ready else b"") or {}

    def _end(self, wait_s: float) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main() -> None:
    """Log until the process that started this one names the last state of the training, or ends."""
    serve(lambda values: _state_or_end)


def serve(end_of: Callable[[Mapping[str, Any]], End]) -> None:
    """Log the training that the standard input describes; ``end_of`` returns a function that waits for its end."""
    answers = os.fdopen(os.dup(1), "w")
    # Packages of trackers write to the standard output.
    os.dup2(2, 1)
    values = parse_object(sys.stdin.readline()) or {}
    tracker = read(Tracker, values["tracker"])
    try:
        logger = _open(tracker, str(values["model_dir"]), values["parameters"])
    except TfdistributeError as error:
        _write(answers, as_values(error))
        return
    _write(answers, {"run": True})
    _write(answers, {"problem": follow(logger, end_of(values))})


def _open(tracker: Tracker, model_dir: str, parameters: Mapping[str, Any]) -> Logger:
    try:
        return Logger(tracker, model_dir, parameters)
    except ModuleNotFoundError as error:
        missing = [tracker.package]
        if error.name and not tracker.package.startswith(error.name):
            missing.append(error.name)
        raise BackendError(
            f'{tracker.name} needs the Python package {missing[-1]}, which "{sys.executable}" does not have.',
            f'Install it: "{sys.executable}" -m pip install {" ".join(missing)}',
            argument="track",
            value=tracker.name,
        ) from error
    except TfdistributeError:
        raise
    except Exception as error:
        text = str(error).strip() or type(error).__name__
        raise RunConfigError(
            f"{tracker.name} cannot log to {tracker.place}: {text[:500]}",
            "See whether the server runs and whether you may write there, or train without `track`.",
            argument="track",
            value=tracker.name,
        ) from error


def _state_or_end(timeout_s: float) -> str | None:
    ready, _, _ = select.select([sys.stdin], [], [], timeout_s)
    if not ready:
        return None
    # The end of a session in the middle of a training is the end of the training.
    return str((parse_object(sys.stdin.readline()) or {}).get("state", "failed"))


def _write(file: Any, values: Mapping[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        file.write(json.dumps(values) + "\n")
        file.flush()
