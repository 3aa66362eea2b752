"""The file of results: the machine, then one line of JSON per turn of a way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAME = "results.jsonl"


class Results:
    """The file of a run, to be written."""

    def __init__(self, folder: Path, machine: Mapping[str, Any]) -> None:
        self.path = folder / NAME
        self._file = self.path.open("w", encoding="utf-8")
        self.add(machine=machine)

    def add(self, **turn: Any) -> None:
        self._file.write(json.dumps(turn) + "\n")
        self._file.flush()


def read(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, list[float]]]]:
    """Return the machine, and the values of all turns by case and way."""
    lines = (folder / NAME).read_text(encoding="utf-8").splitlines()
    head, *turns = (json.loads(line) for line in lines)
    values: dict[str, dict[str, list[float]]] = {}
    for turn in turns:
        ways = values.setdefault(turn["case"], {})
        ways.setdefault(turn["way"], []).append(turn["value"])
    return head["machine"], values
