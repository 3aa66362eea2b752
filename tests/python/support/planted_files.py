"""What somebody else may put in the place of a file of a model directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

PRECIOUS = '{"content": "precious"}\n'

Plant = Callable[[Path], Path]


def link(path: Path) -> Path:
    """Make a link to another file, which is returned."""
    victim = path.parent.parent / "victim"
    victim.write_text(PRECIOUS, encoding="utf-8")
    path.symlink_to(victim)
    return victim


def device(path: Path) -> Path:
    """Make a link to a device that never ends."""
    path.symlink_to("/dev/zero")
    return path


def pipe(path: Path) -> Path:
    """Make a pipe, whose other end nobody opens."""
    os.mkfifo(path)
    return path


def directory(path: Path) -> Path:
    """Make a directory."""
    path.mkdir()
    return path


PLANTS: tuple[Plant, ...] = (link, device, pipe, directory)


def is_kept(victim: Path) -> bool:
    """Return whether the other file has its content."""
    return victim.name != "victim" or victim.read_text(encoding="utf-8") == PRECIOUS
