"""Whether checkpoints are whole, and how a broken newest one is put aside. Plain Python.

A disk that is full, or a machine that loses power, can leave a newest checkpoint that TensorFlow cannot read: each
start would then fail. So the sizes of its files are noted when a checkpoint is written, and compared before a
training begins.
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


def note(model_dir: str, prefix: str) -> None:
    """Note how large the files of a checkpoint are, right after it was written.

    Args:
        model_dir: Directory of the model; nothing is noted where it is remote.
        prefix: The checkpoint, such as "model_dir/model.ckpt-200".
    """
    if "://" in model_dir:
        return
    directory, name = Path(model_dir), os.path.basename(prefix)
    noted = {each: sizes for each, sizes in _noted(directory).items() if _exists(directory, each)}
    noted[name] = {file.name: file.stat().st_size for file in _files(directory, name)}
    _write(directory / SIZES, json.dumps(noted, indent=1, sort_keys=True))


def is_complete(model_dir: str, name: str) -> bool:
    """Say whether a checkpoint can be read, as far as the names and sizes of its files tell.

    Args:
        model_dir: Directory of the model, on this machine.
        name: The checkpoint without its directory, such as "model.ckpt-200".

    Returns:
        False where a file is missing, empty, cut off, or of another size than it was written with.
    """
    directory = Path(model_dir)
    there = {file.name: file.stat().st_size for file in _files(directory, name)}
    noted = _noted(directory).get(name)
    if isinstance(noted, Mapping):
        return all(there.get(file) == size for file, size in noted.items())
    return _shards_are_there(name, there) and _has_end(directory / f"{name}.index")


def newest_whole(model_dir: str) -> str | None:
    """Find the checkpoint from which training goes on, also before ``repair`` has put a broken one aside.

    Args:
        model_dir: Directory of the model, on this machine.

    Returns:
        The checkpoint without its directory; None where there is none.
    """
    directory = Path(model_dir)
    newest = _newest(directory)
    if newest is None or is_complete(model_dir, newest):
        return newest
    return next(reversed(_whole_beside(directory, newest)), None)


def repair(model_dir: str) -> list[str]:
    """Put a broken newest checkpoint aside, so that training goes on from the newest one that is whole.

    The broken files stay, with ".broken" behind their names. Nothing else may write to model_dir meanwhile.

    Args:
        model_dir: Directory of the model; a remote one is left as it is.

    Returns:
        What was done, in sentences for the user; empty where the newest checkpoint is whole.
    """
    directory = Path(model_dir)
    newest = None if "://" in model_dir else _newest(directory)
    if newest is None or is_complete(model_dir, newest):
        return []
    whole = _whole_beside(directory, newest)
    broken = [
        newest,
        *(n for n in _names(directory) if n not in whole and _step(n) > _step(newest)),
    ]
    for name in dict.fromkeys(broken):
        for file in _files(directory, name):
            file.rename(file.with_name(file.name + BROKEN))
    if whole:
        lines = [f'model_checkpoint_path: "{whole[-1]}"']
        lines += [f'all_model_checkpoint_paths: "{name}"' for name in whole]
        _write(directory / STATE, "\n".join(lines) + "\n")
        goes_on = f"goes on from {whole[-1]}"
    else:
        (directory / STATE).unlink()
        goes_on = "begins anew, because there is no other"
    aside = f'its files now end in "{BROKEN}", and training {goes_on}.'
    return [f'The newest checkpoint, {newest} in "{model_dir}", is incomplete: {aside}']


def tidy(model_dir: str) -> None:
    """Remove what writers that were killed left behind: half-written checkpoints, and directories of workers.

    Args:
        model_dir: Directory of the model, which nobody else writes to now; a remote one is left as it is.
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
        # The file itself was cut off.
        return max(_names(directory), key=_step, default=None)
    return os.path.basename(found.group(1))


def _names(directory: Path) -> list[str]:
    noted = [name for name in _noted(directory) if _exists(directory, name)]
    there = [file.name.removesuffix(".index") for file in directory.glob("*.ckpt-*.index")]
    return list(dict.fromkeys([*noted, *there]))


def _whole_beside(directory: Path, broken: str) -> list[str]:
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


def _shards_are_there(name: str, sizes: Mapping[str, int]) -> bool:
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


def _noted(directory: Path) -> dict[str, Any]:
    try:
        noted = json.loads((directory / SIZES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _write(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, path)
