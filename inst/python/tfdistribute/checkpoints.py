"""Integrity of checkpoints, and repair of a model directory with an incomplete one.

A full disk or a power loss can leave a newest checkpoint that TensorFlow cannot read, so that every start fails.
Therefore file sizes are recorded when a checkpoint is written, and compared before training starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SIZES = "tfdistribute-checkpoints.json"
STATE = "checkpoint"
BROKEN = ".broken"

# The last bytes of every index file: https://github.com/google/leveldb/blob/main/doc/table_format.md, "Footer".
_INDEX_END = (0xDB4775248B80FB57).to_bytes(8, "little")
_SHARD = re.compile(r"\.data-(\d{5})-of-(\d{5})")
_STEP = re.compile(r"-(\d+)$")


def record_sizes(model_dir: str, prefix: str) -> None:
    """Record the file sizes of a checkpoint right after it was written, unless model_dir is remote."""
    if "://" in model_dir:
        return
    directory, name = Path(model_dir), os.path.basename(prefix)
    sizes = {each: size for each, size in _sizes(directory).items() if _exists(directory, each)}
    sizes[name] = {file.name: file.stat().st_size for file in _files(directory, name)}
    _write(directory / SIZES, json.dumps(sizes, indent=1, sort_keys=True))


def is_complete(model_dir: str, name: str) -> bool:
    """Return whether a checkpoint such as "model.ckpt-200" is readable, judging by its files' names and sizes."""
    directory = Path(model_dir)
    found = {file.name: file.stat().st_size for file in _files(directory, name)}
    recorded = _sizes(directory).get(name)
    if isinstance(recorded, Mapping):
        return all(found.get(file) == size for file, size in recorded.items())
    return _has_all_shards(name, found) and _has_end(directory / f"{name}.index")


def newest_complete(model_dir: str) -> str | None:
    """Return the newest complete checkpoint, without its directory; None if there is none.

    Training continues from it, whether or not ``repair`` has run.
    """
    directory = Path(model_dir)
    newest = _newest(directory)
    if newest is None or is_complete(model_dir, newest):
        return newest
    return next(reversed(_other_complete(directory, newest)), None)


def newest_step(model_dir: str) -> int:
    """Return the step of ``newest_complete``; 0 if there is none."""
    name = newest_complete(model_dir)
    return 0 if name is None else max(_step(name), 0)


def repair(model_dir: str) -> list[str]:
    """Move an incomplete newest checkpoint aside, so that training continues from the newest complete one.

    The files are kept, with ".broken" appended to their names. Nothing else may write to model_dir meanwhile. A remote
    directory is not changed.

    Returns:
        Sentences for the user on what was done; empty if the newest checkpoint is complete.
    """
    directory = Path(model_dir)
    newest = None if "://" in model_dir else _newest(directory)
    if newest is None or is_complete(model_dir, newest):
        return []
    complete = _other_complete(directory, newest)
    broken = [
        newest,
        *(n for n in _names(directory) if n not in complete and _step(n) > _step(newest)),
    ]
    for name in dict.fromkeys(broken):
        for file in _files(directory, name):
            file.rename(file.with_name(file.name + BROKEN))
    if complete:
        lines = [f'model_checkpoint_path: "{complete[-1]}"']
        lines += [f'all_model_checkpoint_paths: "{name}"' for name in complete]
        _write(directory / STATE, "\n".join(lines) + "\n")
        continues = f"continues from {complete[-1]}"
    else:
        (directory / STATE).unlink()
        continues = "starts again, because there is no other"
    aside = f'its files now end in "{BROKEN}", and training {continues}.'
    return [f'The newest checkpoint, {newest} in "{model_dir}", is incomplete: {aside}']


def tidy(model_dir: str) -> None:
    """Remove what killed writers left: incomplete checkpoints and directories of workers.

    No other process may write to model_dir meanwhile. A remote directory is not changed.
    """
    if "://" in model_dir:
        return
    for pattern in ("tmp_worker_*", "tmp_chief_*", "*.ckpt-*_temp"):
        for left in Path(model_dir).glob(pattern):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
    for left in Path(model_dir).glob("*.tempstate*"):
        with contextlib.suppress(OSError):
            left.unlink()


def _newest(directory: Path) -> str | None:
    try:
        text = (directory / STATE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r'^model_checkpoint_path: "(.*)"', text, re.MULTILINE)
    if found is None:
        # The file itself is truncated.
        return max(_names(directory), key=_step, default=None)
    return os.path.basename(found.group(1))


def _names(directory: Path) -> list[str]:
    recorded = [name for name in _sizes(directory) if _exists(directory, name)]
    found = [file.name.removesuffix(".index") for file in directory.glob("*.ckpt-*.index")]
    return list(dict.fromkeys([*recorded, *found]))


def _other_complete(directory: Path, broken: str) -> list[str]:
    others = [name for name in _names(directory) if name != broken]
    return sorted((name for name in others if is_complete(str(directory), name)), key=_step)


def _step(name: str) -> int:
    found = _STEP.search(name)
    return int(found.group(1)) if found else -1


def _files(directory: Path, name: str) -> Iterator[Path]:
    for file in sorted(directory.glob(f"{name}.*")):
        if file.is_file() and not file.name.endswith(BROKEN):
            yield file


def _exists(directory: Path, name: str) -> bool:
    return any(True for _ in _files(directory, name))


def _has_all_shards(name: str, sizes: Mapping[str, int]) -> bool:
    shards = [_SHARD.fullmatch(file.removeprefix(name)) for file in sizes]
    found = {(int(shard[1]), int(shard[2])) for shard in shards if shard}
    counts = {count for _, count in found}
    # A shard without variables is an empty file.
    return len(counts) == 1 and len(found) == counts.pop() and sizes.get(f"{name}.index", 0) > 0


def _has_end(index: Path) -> bool:
    try:
        with index.open("rb") as file:
            file.seek(-len(_INDEX_END), os.SEEK_END)
            return file.read() == _INDEX_END
    except OSError:
        return False


def _sizes(directory: Path) -> dict[str, Any]:
    try:
        sizes = json.loads((directory / SIZES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return sizes if isinstance(sizes, dict) else {}


def _write(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, path)
