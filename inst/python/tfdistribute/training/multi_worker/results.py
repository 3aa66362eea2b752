"""Results of the tasks that share an evaluation or a prediction, as files in the private directory of their job.

Arrays are written without pickles, and every file appears whole. The supervisor moves the files beside the result of
the job when it is done.
"""

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.errors import TrainingError
from tfdistribute.training.predict import concatenate

Arrays = dict[str, npt.NDArray[Any]]

# Rows of each batch and its place among the batches of all tasks, beside the predictions.
_SIZES, _PLACES = "sizes", "places"
# Prefixes of the entries of a file: arrays, and strings as JSON.
_ARRAY, _STRINGS = "array:", "strings:"


class TaskResults:
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def has(self, rank: int) -> bool:
        return os.path.exists(self._path(rank))

    def write_states(self, rank: int, states: Arrays) -> None:
        self._write(rank, states)

    def add_states(self, tasks: int) -> Arrays:
        """Add up the states of all tasks, in the order of their ranks; TrainingError if tasks have different states."""
        total = _read(self._path(0))
        for rank in range(1, tasks):
            states = _read(self._path(rank))
            if {name: array.shape for name, array in states.items()} != {
                name: array.shape for name, array in total.items()
            }:
                raise TrainingError(
                    f"Task {rank} has other metrics than task 0: {', '.join(sorted(states.keys() ^ total.keys()))}.",
                    "Let the model function make the same metrics in every process.",
                )
            total = {name: total[name] + states[name] for name in total}
        return total

    def write_predictions(
        self, rank: int, batches: Sequence[dict[str, Any]], tasks: int, in_turns: bool
    ) -> None:
        """Write the predictions of one task; ``in_turns`` if the tasks alternate, else each has a range of rows."""
        joined, numbers = concatenate(iter(batches)), np.arange(len(batches))
        entries: Arrays = {
            _SIZES: np.array([len(next(iter(batch.values()))) for batch in batches], np.int64),
            _PLACES: numbers * tasks + rank if in_turns else np.full(len(batches), rank),
        }
        for name, values in joined.items():
            if values.dtype == object:
                text = json.dumps(values.tolist()).encode()
                entries[f"{_STRINGS}{name}"] = np.frombuffer(text, np.uint8)
            else:
                entries[f"{_ARRAY}{name}"] = values
        self._write(rank, entries)

    def read_predictions(self) -> Arrays:
        """Read the predictions of all tasks, in the order of the input; strings are arrays of str objects."""
        batches: list[tuple[int, Arrays]] = []
        # What a killed task has left is not a result.
        for name in (name for name in os.listdir(self._directory) if name.endswith(".npz")):
            entries = _read(os.path.join(self._directory, name))
            sizes, places = entries.pop(_SIZES), entries.pop(_PLACES)
            arrays = dict(_decode(*entry) for entry in entries.items())
            ends = np.cumsum(sizes)
            for place, first, last in zip(places, ends - sizes, ends, strict=True):
                batches.append((place, {key: array[first:last] for key, array in arrays.items()}))
        batches.sort(key=lambda batch: batch[0])
        return concatenate(rows for _, rows in batches)

    def _path(self, rank: int) -> str:
        return os.path.join(self._directory, f"task-{rank}.npz")

    def _write(self, rank: int, entries: Arrays) -> None:
        path = self._path(rank)
        with open(f"{path}.new", "wb") as file:
            np.savez(file, **entries)
        os.replace(f"{path}.new", path)


def _read(path: str) -> Arrays:
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _decode(entry: str, array: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    if entry.startswith(_STRINGS):
        return entry.removeprefix(_STRINGS), np.array(json.loads(array.tobytes()), dtype=object)
    return entry.removeprefix(_ARRAY), array
