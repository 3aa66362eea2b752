"""Removal of what killed writers of checkpoints left behind."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path


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
