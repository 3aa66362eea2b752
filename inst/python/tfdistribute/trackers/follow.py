"""Logging of a model directory's history to a run, each value once."""

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from tfdistribute import history_file, storage
from tfdistribute.checkpoints.contents import files_of
from tfdistribute.checkpoints.newest import STATE, newest_checkpoint
from tfdistribute.files import parse_object
from tfdistribute.trackers.description import Row, Tracker

# The run that a model directory belongs to, and its last steps.
FILE = "tfdistribute-run.json"

_EVERY_S = 2.0
_ROWS = 300
# Reading a long history takes at most this part of a processor.
_IDLE_SHARE = 20


class Logger:
    """The run of a model directory over all trainings there. A repeated step is not logged again."""

    def __init__(self, tracker: Tracker, model_dir: str, parameters: Mapping[str, Any]) -> None:
        self._tracker = tracker
        self._model_dir = model_dir
        self._path = os.path.join(model_dir, FILE)
        storage.check_own(self._path)
        known = parse_object(storage.read_if_any(self._path)) or {}
        if known.get("place") != tracker.place:
            known = {}
        self._run = tracker.open(known.get("run"), parameters)
        if known.get("run") != self._run.id:
            known = {}
        self._last = {name: int(known.get(name, -1)) for name in ("loss", "evaluation")}
        self._save()

    def log_new(self) -> None:
        losses = history_file.read_losses(self._model_dir).rows
        evaluations = history_file.read_evaluations(self._model_dir)
        new = {
            "loss": [_row(row, "step") for row in losses],
            # As in the R package tfruns.
            "evaluation": [_row(row, "global_step", "val_") for row in evaluations],
        }
        for name, all_rows in new.items():
            rows = [row for row in all_rows if row[0] > self._last[name]]
            for begin in range(0, len(rows), _ROWS):
                logged = rows[begin : begin + _ROWS]
                self._run.log(logged)
                self._last[name] = logged[-1][0]
                self._save()

    def close(self, state: str) -> None:
        self.log_new()
        checkpoint = newest_checkpoint(self._model_dir) if self._tracker.log_model else None
        if state == "done" and checkpoint is not None:
            names = (
                STATE,
                "tfdistribute-model.json",
                history_file.LOSSES,
                history_file.EVALUATIONS,
            )
            others = [os.path.join(self._model_dir, name) for name in names]
            with contextlib.ExitStack() as stack:
                files = [*files_of(checkpoint), *filter(storage.is_file, others)]
                copies = [stack.enter_context(storage.local_copy(file)) for file in files]
                self._run.log_model(copies)
        self._run.close(state)

    def _save(self) -> None:
        content = {"place": self._tracker.place, "run": self._run.id, **self._last}
        storage.of(self._path).make_directory(self._model_dir)
        storage.write_object(self._path, content)


def follow(logger: Logger, end: Callable[[float], str | None]) -> str | None:
    """Log news until ``end``, a wait of at most some seconds, returns a state; return the last problem, or None."""
    problem, pause_s = None, _EVERY_S
    while (state := end(pause_s)) is None:
        began = time.monotonic()
        try:
            logger.log_new()
        except Exception as error:  # noqa: BLE001 - the next pass tries it again
            problem = _in_words(error)
        pause_s = max(_EVERY_S, _IDLE_SHARE * (time.monotonic() - began))
    try:
        logger.close(state)
        problem = None
    except Exception as error:  # noqa: BLE001 - the training has its result without a tracker
        problem = _in_words(error)
    return problem


def _row(row: Mapping[str, float | None], step: str, prefix: str = "") -> Row:
    values = {
        prefix + name: value for name, value in row.items() if name != step and value is not None
    }
    return int(row[step] or 0), values


def _in_words(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
