"""The newest whole checkpoint of a model directory, and repair of a directory whose newest one is broken.

A full disk, a power loss or a failing disk can leave a newest checkpoint that TensorFlow cannot read, so that every
start fails. Training then continues from the newest checkpoint whose contents are whole. ``tidy`` removes what killed
writers left behind.
"""

import contextlib
import os
import re
from fnmatch import fnmatchcase

from tfdistribute import storage
from tfdistribute.checkpoints.contents import files_of, is_whole

STATE = "checkpoint"
BROKEN = ".broken"

_STEP = re.compile(r"-(\d+)$")
_ALL = re.compile(r'^all_model_checkpoint_paths: "(?:.*/)?(.*)"$', re.MULTILINE)
_NEWEST = re.compile(r'^model_checkpoint_path: "(.*)"$', re.MULTILINE)
# TensorFlow ignores a file with any other line, and starts again at step 0.
_STATE_LINES = re.compile(
    r'((model_checkpoint_path|all_model_checkpoint_paths): ".*"\n|\w+: [\d.e+-]+\n)*'
)


def listed_checkpoint(model_dir: str) -> str | None:
    """Return the prefix of the checkpoint that model_dir names as its newest, whole or not; None without any.

    If the file that names it is broken, this is the checkpoint with the highest step.

    Source:
        The text file ``checkpoint`` that tf.compat.v1.train.Saver keeps.
    """
    # An error about the scheme names the directory.
    storage.of(model_dir)
    if not storage.is_file(os.path.join(model_dir, STATE)):
        return None
    match = _NEWEST.search(_state(model_dir) or "")
    if match is not None:
        return os.path.join(model_dir, os.path.basename(match.group(1)))
    return max(_prefixes(model_dir), key=step_of, default=None)


def newest_checkpoint(model_dir: str) -> str | None:
    """Return the prefix of the newest whole checkpoint, such as "models/m/model.ckpt-200"; None if there is none.

    Training continues from it, whether or not ``repair`` has run.
    """
    listed, whole = _listed(model_dir)
    if whole:
        return listed
    others = sorted(set(_prefixes(model_dir)) - {listed}, key=step_of, reverse=True)
    return next((prefix for prefix in others if is_whole(prefix)), None)


def newest_step(model_dir: str) -> int:
    prefix = newest_checkpoint(model_dir)
    return 0 if prefix is None else max(step_of(prefix), 0)


def broken_newest(model_dir: str) -> str | None:
    """Describe the broken file, as the beginning of a sentence; None if the newest checkpoint is whole."""
    listed, whole = _listed(model_dir)
    if listed is not None and not whole:
        return f'The newest checkpoint, {os.path.basename(listed)} in "{model_dir}", is broken'
    path = os.path.join(model_dir, STATE)
    if storage.is_file(path) and _state(model_dir) is None:
        return f'The file "{path}", which names the newest checkpoint, is broken'
    return None


def repair(model_dir: str) -> list[str]:
    """Set a broken newest checkpoint aside, so that training continues from the newest whole one.

    The files are kept, with ".broken" appended to their names. Nothing else may write to model_dir meanwhile. Returns
    sentences for the user; none if the newest checkpoint is whole. Raises ModelDirectoryError if a pipe or a device is
    in the place of the file that names the newest checkpoint.
    """
    broken = broken_newest(model_dir)
    if broken is None:
        return []
    place = storage.of(model_dir)
    newest = newest_checkpoint(model_dir)
    from_step = -1 if newest is None else step_of(newest)
    listed = listed_checkpoint(model_dir)
    for prefix in {*_prefixes(model_dir), *([] if listed is None else [listed])}:
        if (prefix == listed or step_of(prefix) > from_step) and not is_whole(prefix):
            for file in files_of(prefix):
                place.rename(file, f"{file}{BROKEN}")
    state = os.path.join(model_dir, STATE)
    if _state(model_dir) is None:
        storage.check_own(state)
        storage.copy(state, f"{state}{BROKEN}")
    if newest is None:
        place.remove(state)
        continues = "starts again, because there is no other"
    else:
        prefixes = _prefixes(model_dir)
        usable = [each for each in prefixes if step_of(each) <= from_step and is_whole(each)]
        name_newest(model_dir, *(os.path.basename(each) for each in sorted(usable, key=step_of)))
        continues = f"continues from {os.path.basename(newest)}"
    return [f'{broken}: it is kept with the ending "{BROKEN}", and training {continues}.']


def listed_names(model_dir: str) -> list[str]:
    """List the names of the checkpoints that TensorFlow's saver keeps, oldest first."""
    return _ALL.findall(_state(model_dir) or "")


def name_newest(model_dir: str, *names: str) -> None:
    lines = [f'model_checkpoint_path: "{names[-1]}"']
    lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
    path = os.path.join(model_dir, STATE)
    storage.of(path).write(path, "\n".join([*lines, ""]).encode())


def _listed(model_dir: str) -> tuple[str | None, bool]:
    """Return ``listed_checkpoint``, and whether it is whole or there is none.

    A training that runs meanwhile lists a new checkpoint before it removes old ones, so a checkpoint is broken only if
    it is still listed after its files were read.
    """
    listed = listed_checkpoint(model_dir)
    while listed is not None and not is_whole(listed):
        again = listed_checkpoint(model_dir)
        if again == listed:
            return listed, False
        listed = again
    return listed, True


def _state(model_dir: str) -> str | None:
    try:
        text = storage.read_bytes(os.path.join(model_dir, STATE)).decode()
    except (OSError, UnicodeDecodeError):
        return None
    return text if _NEWEST.search(text) and _STATE_LINES.fullmatch(text) else None


def _prefixes(model_dir: str) -> list[str]:
    names = storage.of(model_dir).names(model_dir)
    prefixes = (name.removesuffix(".index") for name in names if name.endswith(".index"))
    return [os.path.join(model_dir, name) for name in prefixes if _STEP.search(name)]


def step_of(prefix: str) -> int:
    """Return the step of a checkpoint, or -1 if its name has none."""
    match = _STEP.search(prefix)
    return int(match.group(1)) if match else -1


def tidy(model_dir: str) -> None:
    """Remove incomplete checkpoints and directories of workers, which killed writers have left.

    No other process may write to model_dir meanwhile.
    """
    place = storage.of(model_dir)
    with contextlib.suppress(OSError):
        for name in place.names(model_dir):
            left = os.path.join(model_dir, name)
            if _matches(name, "tmp_worker_*", "tmp_chief_*", "*.ckpt-*_temp"):
                place.remove_directory(left)
            elif _matches(name, "*.tempstate*"):
                with contextlib.suppress(OSError):
                    place.remove(left)


def _matches(name: str, *patterns: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
