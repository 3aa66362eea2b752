"""History files of a model directory: losses and evaluations of all its trainings, one JSON object per line."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tfdistribute import storage
from tfdistribute.files import is_remote, json_values, open_own, parse_object

# Two files, because the chief and the evaluator of a cluster write at the same time.
LOSSES = "tfdistribute-losses.jsonl"
EVALUATIONS = "tfdistribute-evaluations.jsonl"

# Marks an evaluation by evaluate(), whose rows may be any.
_BY_EVALUATE = "evaluate()"

COLUMNS: tuple[str, ...] = ("step", "loss", "seconds", "examples_per_second")

Row = dict[str, float | None]


@dataclass
class LossRows:
    """Rows of losses by step, merged over restarts and trainings.

    A row replaces the rows of its step and of later ones, which were lost with a process and trained again.
    """

    rows: list[Row] = field(default_factory=list[Row])
    _seconds_before: float = 0.0

    def take(self, row: Row) -> None:
        """Add a row, whose seconds count from the first step of its own process."""
        step = row["step"] or 0
        while self.rows and (self.rows[-1]["step"] or 0) >= step:
            self.rows.pop()
        seconds = row["seconds"] or 0.0
        last = (self.rows[-1]["seconds"] or 0.0) if self.rows else 0.0
        if seconds + self._seconds_before < last:
            self._seconds_before = last
        self.rows.append({**row, "seconds": seconds + self._seconds_before})

    def columns(self) -> dict[str, list[float | None]]:
        return {name: [row[name] for row in self.rows] for name in COLUMNS}

    def mean_speed(self) -> float | None:
        examples = seconds = last = 0.0
        for row in self.rows:
            # The first row includes TensorFlow's start-up and has no speed.
            lasted = (row["seconds"] or 0.0) - last
            last = row["seconds"] or 0.0
            if row["examples_per_second"] is not None and lasted > 0:
                examples += row["examples_per_second"] * lasted
                seconds += lasted
        return examples / seconds if seconds else None


def append(model_dir: str, file: str, rows: Iterable[Mapping[str, float | None]]) -> bool:
    """Append rows to a history file, and return whether they are written.

    A failure is not an error, because a full disk must not end the training here. On remote storage, the whole file is
    written again.
    """
    path = os.path.join(model_dir, file)
    lines = [json.dumps(json_values(row)) for row in rows]
    text = "".join(f"{line}\n" for line in lines)
    try:
        if text and is_remote(path):
            storage.of(path).write(path, storage.read_if_any(path) + text.encode())
        elif text:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            with os.fdopen(open_own(path, flags), "a", encoding="utf-8") as opened:
                opened.write(text)
    except OSError:
        return False
    return True


def read_losses(model_dir: str) -> LossRows:
    losses = LossRows()
    for row in _read(model_dir, LOSSES):
        if all(name in row for name in COLUMNS):
            losses.take(row)
    return losses


def append_evaluation(model_dir: str, metrics: Mapping[str, float]) -> None:
    append(model_dir, EVALUATIONS, [{**metrics, _BY_EVALUATE: 1.0}])


def read_evaluations(model_dir: str, of_training: bool = False) -> list[Row]:
    """Return the last evaluation of each step; with ``of_training``, without those by evaluate()."""
    rows = [row for row in _read(model_dir, EVALUATIONS) if row.get("global_step") is not None]
    rows = [row for row in rows if row.pop(_BY_EVALUATE, None) is None or not of_training]
    by_step = {row["global_step"]: row for row in rows}
    return [by_step[step] for step in sorted(by_step, key=lambda step: step or 0.0)]


def _read(model_dir: str, file: str) -> list[Row]:
    # An error about the scheme names the directory.
    storage.of(model_dir)
    path = os.path.join(model_dir, file)
    storage.check_own(path)
    try:
        text = storage.read_own(path).decode(errors="replace")
    except OSError:
        return []
    return [row for line in text.splitlines() if (row := _parse(line)) is not None]


def _parse(line: str) -> Row | None:
    row = parse_object(line)
    if row is None or not all(
        value is None or isinstance(value, (int, float)) for value in row.values()
    ):
        return None
    return row
