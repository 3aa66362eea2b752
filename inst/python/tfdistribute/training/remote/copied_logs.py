"""Logs of a job that has ended, copied into its model directory on remote storage.

The supervisor of a job has no TensorFlow, so it runs this module in a process of its own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfdistribute import engine, storage
from tfdistribute.errors import TfdistributeError

# What is kept of the logs of earlier jobs.
_KEPT_BYTES = 1 << 24


def copy_logs(logs: str, target: str, result: dict[str, Any], name: str) -> None:
    """Append the files of a local directory to a remote one, and write the result there as the last file."""
    starts: dict[str, int] = {}
    for path in sorted(Path(logs).iterdir()):
        place = os.path.join(target, path.name)
        if path.name != name and path.is_file() and not path.is_symlink():
            before = storage.read_if_any(place)[-_KEPT_BYTES:]
            starts[place] = len(before)
            storage.of(place).write(place, before + storage.read_own(str(path)))
    for row in result["tasks"]:
        row["log_start"] += starts.get(row["log"], 0)
    storage.write_object(os.path.join(target, name), result)


def main(arguments: Sequence[str]) -> int:
    """Run as a process, with the two directories, a file with the result, which is corrected, and its name."""
    logs, target, path, name = arguments
    result: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    try:
        # Remote storage is found by the engine.
        assert engine
        copy_logs(logs, target, result, name)
    except OSError as error:
        return _refuse(str(error.strerror))
    except TfdistributeError as error:
        return _refuse(error.problem)
    Path(path).write_text(json.dumps(result), encoding="utf-8")
    return 0


def _refuse(why: str) -> int:
    sys.stderr.write(f"{why.rstrip('.')}\n")
    return 1
