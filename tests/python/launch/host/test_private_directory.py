"""Private directories of jobs: their removal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tfdistribute.launch.host import private_directory


def test_the_lock_goes_last_although_a_session_writes_to_the_directory_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = private_directory.new_directory(str(tmp_path))
    for name in ("state.json", "state.json.new"):
        Path(directory, name).touch()
    unlink, left = os.unlink, list[bool]()

    def unlink_of_two(path: str, **options: int) -> None:
        """Another process renames each file just before it is removed."""
        left.append(private_directory.is_locked(directory))
        unlink(path, **options)
        if path.endswith((".json", ".new")):
            raise FileNotFoundError(path)

    monkeypatch.setattr(os, "unlink", unlink_of_two)
    private_directory.remove(directory)
    monkeypatch.undo()
    # Both files went while the lock was held, and then the lock itself.
    assert left == [True, True, True]
    assert not os.path.exists(directory)
