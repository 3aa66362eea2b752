"""Removal of what killed writers of checkpoints left behind."""

from __future__ import annotations

import contextlib
import os
from fnmatch import fnmatchcase

from tfdistribute import storage


def tidy(model_dir: str) -> None:
    """Remove what killed writers left: incomplete checkpoints and directories of workers.

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
