"""Results of the tasks that share an evaluation or a prediction, as files in a private directory.

Arrays are written without pickles, and every file appears whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from tfdistribute import files
from tfdistribute.errors import TrainingError
from tfdistribute.training.predict import concatenated

Arrays = dict[str, npt.NDArray[Any]]

_METRICS = "metrics.json"
# Rows of each batch, beside the predictions.
_SIZES = "sizes"
# Prefixes of the entries of a file: arrays, and strings as JSON.
_ARRAY, _STRINGS = "array:", "strings:"


class ShardFiles:
    """The results in one directory, by the tasks' ranks.

    Args:
        directory: A directory that only this user can read.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def has(self, rank: int) -> bool:
        return os.path.exists(self._path(rank))

    def write_states(self, rank: int, states: Arrays) -> None:
        self._write(rank, {f"{_ARRAY}{name}": array for name, array in states.items()})

    def add_states(self, tasks: int) -> Arrays:
        """Add up the states of all tasks, in the order of their ranks.

        Raises:
            TrainingError: tasks have different states.
        """
        total = self._arrays(0)
        for rank in range(1, tasks):
            states = self._arrays(rank)
            if {name: array.shape for name, array in states.items()} != {
                name: array.shape for name, array in total.items()
            }:
                raise TrainingError(
                    f"Task {rank} has other metrics than task 0: {', '.join(sorted(states.keys() ^ total.keys()))}.",
                    "Let the model function make the same metrics in every process.",
                )
            total = {name: total[name] + states[name] for name in total}
        return total

    def write_metrics(self, metrics: Mapping[str, float]) -> None:
        text = json.dumps(metrics).encode()
        self._replace(os.path.join(self._directory, _METRICS), lambda file: file.write(text))

    def read_metrics(self) -> dict[str, float]:
        found: Any = files.read_json(os.path.join(self._directory, _METRICS))
        return {str(name): float(value) for name, value in found.items()}

    def write_predictions(self, rank: int, batches: Sequence[dict[str, Any]]) -> None:
        sizes = [len(next(iter(batch.values()))) for batch in batches]
        entries: Arrays = {_SIZES: np.array(sizes, np.int64)}
        for name, values in concatenated(iter(batches)).items():
            if values.dtype == object:
                text = json.dumps(values.tolist()).encode()
                entries[f"{_STRINGS}{name}"] = np.frombuffer(text, np.uint8)
            else:
                entries[f"{_ARRAY}{name}"] = values
        self._write(rank, entries)

    def read_predictions(self, tasks: int, in_turns: bool) -> Arrays:
        """Read the predictions of all rows, in the order of the input.

        Args:
            in_turns: Whether the tasks took turns with batches; if not, each has a range of the rows.

        Returns:
            Arrays by the name of the output, with the rows as first dimension. Strings are arrays of str objects.
        """
        read = [_decoded(self._read(rank)) for rank in range(tasks)]
        batches: list[tuple[tuple[int, int], Arrays]] = []
        for rank, (sizes, arrays) in enumerate(read):
            ends = np.cumsum(sizes)
            for number, (first, last) in enumerate(zip(ends - sizes, ends, strict=True)):
                place = (number, rank) if in_turns else (rank, number)
                rows = {name: array[first:last] for name, array in arrays.items()}
                batches.append((place, rows))
        batches.sort(key=lambda batch: batch[0])
        return concatenated(rows for _, rows in batches)

    def _arrays(self, rank: int) -> Arrays:
        return {name.removeprefix(_ARRAY): array for name, array in self._read(rank).items()}

    def _path(self, rank: int) -> str:
        return os.path.join(self._directory, f"task-{rank}.npz")

    def _read(self, rank: int) -> Arrays:
        with np.load(self._path(rank), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}

    def _write(self, rank: int, entries: Arrays) -> None:
        self._replace(self._path(rank), lambda file: np.savez(file, **entries))

    def _replace(self, path: str, write: Callable[[BinaryIO], Any]) -> None:
        with open(f"{path}.new", "wb") as file:
            write(file)
        os.replace(f"{path}.new", path)


def _decoded(entries: Arrays) -> tuple[npt.NDArray[np.int64], Arrays]:
    sizes, arrays = entries.pop(_SIZES), Arrays()
    for name, array in entries.items():
        if name.startswith(_STRINGS):
            texts = json.loads(array.tobytes())
            arrays[name.removeprefix(_STRINGS)] = np.array(texts, dtype=object)
        else:
            arrays[name.removeprefix(_ARRAY)] = array
    return sizes, arrays
