"""The newest whole checkpoint of a model directory, and repair of a directory whose newest one is broken.

A full disk, a power loss or a failing disk can leave a newest checkpoint that TensorFlow cannot read, so that every
start fails. Training then continues from the newest checkpoint whose contents are whole.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from tfdistribute.checkpoints.contents import files_of, is_whole

STATE = "checkpoint"
BROKEN = ".broken"

_STEP = re.compile(r"-(\d+)$")
_NEWEST = re.compile(r'^model_checkpoint_path: "(.*)"$', re.MULTILINE)
# TensorFlow ignores a file with any other line, and starts again at step 0.
_STATE_LINES = re.compile(
    r'((model_checkpoint_path|all_model_checkpoint_paths): ".*"\n|\w+: [\d.e+-]+\n)*'
)


def listed_checkpoint(model_dir: str) -> str | None:
    """Return the prefix of the checkpoint that model_dir names as its newest, whole or not; None without any.

    If the file that names it is broken, this is the one with the highest step.

    Source:
        The text file ``checkpoint`` that tf.compat.v1.train.Saver keeps.
    """
    directory = Path(model_dir)
    if not (directory / STATE).is_file():
        return None
    found = _NEWEST.search(_state(directory) or "")
    if found is not None:
        return os.path.join(model_dir, os.path.basename(found.group(1)))
    return max(_prefixes(directory), key=_step, default=None)


def newest_checkpoint(model_dir: str) -> str | None:
    """Return the prefix of the newest whole checkpoint, such as "models/m/model.ckpt-200"; None if there is none.

    Training continues from it, whether or not ``repair`` has run.
    """
    listed = listed_checkpoint(model_dir)
    if listed is None or is_whole(listed):
        return listed
    others = sorted(set(_prefixes(Path(model_dir))) - {listed}, key=_step, reverse=True)
    return next((prefix for prefix in others if is_whole(prefix)), None)


def newest_step(model_dir: str) -> int:
    """Return the step of ``newest_checkpoint``; 0 if there is none."""
    prefix = newest_checkpoint(model_dir)
    return 0 if prefix is None else max(_step(prefix), 0)


def broken_newest(model_dir: str) -> str | None:
    """Describe what is broken, as the beginning of a sentence; None if the newest checkpoint is whole."""
    listed = listed_checkpoint(model_dir)
    if listed is not None and not is_whole(listed):
        return f'The newest checkpoint, {os.path.basename(listed)} in "{model_dir}", is broken'
    path = Path(model_dir) / STATE
    if path.is_file() and _state(path.parent) is None:
        return f'The file "{path}", which names the newest checkpoint, is broken'
    return None


def repair(model_dir: str) -> list[str]:
    """Set a broken newest checkpoint aside, so that training continues from the newest whole one.

    The files are kept, with ".broken" appended to their names. Nothing else may write to model_dir meanwhile. A remote
    directory is not changed.

    Returns:
        Sentences for the user on what was done; empty if the newest checkpoint is whole.
    """
    broken = None if "://" in model_dir else broken_newest(model_dir)
    if broken is None:
        return []
    directory = Path(model_dir)
    newest = newest_checkpoint(model_dir)
    from_step = -1 if newest is None else _step(newest)
    listed = listed_checkpoint(model_dir)
    for prefix in {*_prefixes(directory), *([] if listed is None else [listed])}:
        if (prefix == listed or _step(prefix) > from_step) and not is_whole(prefix):
            for file in files_of(prefix):
                file.rename(f"{file}{BROKEN}")
    state = directory / STATE
    if _state(directory) is None:
        Path(f"{state}{BROKEN}").write_bytes(state.read_bytes())
    if newest is None:
        state.unlink()
        continues = "starts again, because there is no other"
    else:
        kept = [
            each for each in _prefixes(directory) if _step(each) <= from_step and is_whole(each)
        ]
        name_newest(model_dir, *(os.path.basename(each) for each in sorted(kept, key=_step)))
        continues = f"continues from {os.path.basename(newest)}"
    return [f'{broken}: it is kept with the ending "{BROKEN}", and training {continues}.']


def name_newest(model_dir: str, *names: str) -> None:
    """Write the file that names the checkpoints of a model directory, oldest first."""
    lines = [f'model_checkpoint_path: "{names[-1]}"']
    lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
    with tempfile.NamedTemporaryFile("w", dir=model_dir, delete=False, encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(file.name, os.path.join(model_dir, STATE))


def _state(directory: Path) -> str | None:
    """Read the file that names the newest checkpoint; None if it is broken."""
    try:
        text = (directory / STATE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return text if _NEWEST.search(text) and _STATE_LINES.fullmatch(text) else None


def _prefixes(directory: Path) -> list[str]:
    found = (str(file).removesuffix(".index") for file in directory.glob("*-*.index"))
    return [prefix for prefix in found if _STEP.search(prefix)]


def _step(prefix: str) -> int:
    found = _STEP.search(prefix)
    return int(found.group(1)) if found else -1
