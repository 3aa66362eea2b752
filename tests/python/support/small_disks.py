"""Disks of a few megabytes, which require permission to mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SmallDisk:
    """A disk that can be filled.

    Args:
        path: Mount point, or the substitute directory.
        is_real: Whether a disk is mounted.
    """

    path: Path
    is_real: bool

    def fill(self) -> None:
        """Leave no space; does nothing to a substitute."""
        if self.is_real:
            with (self.path / "filling").open("wb", buffering=0) as file:
                for size in (1 << 16, 1 << 10, 1):
                    _write_until_full(file, bytes(size))

    def make_read_only(self) -> None:
        """Mount it again, read-only for root too; impossible for a substitute. Files that are open stay writable."""
        subprocess.run(["mount", "--bind", str(self.path), str(self.path)], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", str(self.path)], check=True)

    def empty(self) -> None:
        """Free the space again."""
        (self.path / "filling").unlink(missing_ok=True)


@contextmanager
def small_disk(directory: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a disk or, without permission, create a substitute directory."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(directory)]
    is_real = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    try:
        yield SmallDisk(directory, is_real)
    finally:
        while is_real and os.path.ismount(directory):
            subprocess.run(["umount", "--lazy", str(directory)], check=True)


def _write_until_full(file: object, block: bytes) -> None:
    write = getattr(file, "write")  # noqa: B009
    try:
        while write(block):
            pass
    except OSError:
        return
