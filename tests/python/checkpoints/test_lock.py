"""The lock on model_dir, also where somebody else has put something in its place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tfdistribute.checkpoints import lock as locks
from tfdistribute.checkpoints.lock import NAME, ModelDirectoryLock, owner_pid
from tfdistribute.errors import ModelDirectoryError

PRECIOUS = "precious content\n"


def link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def hard_link(path: Path, victim: Path) -> None:
    path.hardlink_to(victim)


def write(path: Path, victim: Path) -> None:
    path.write_text(PRECIOUS, encoding="utf-8")


def pipe(path: Path, victim: Path) -> None:
    os.mkfifo(path)


def directory(path: Path, victim: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("plant", [link, hard_link, write, pipe, directory])
def test_a_lock_file_that_is_not_ours_is_refused_and_keeps_its_content(
    tmp_path: Path, plant: Callable[[Path, Path], None]
):
    victim, model_dir = tmp_path / "victim", tmp_path / "model"
    victim.write_text(PRECIOUS, encoding="utf-8")
    model_dir.mkdir()
    path = model_dir / NAME
    plant(path, victim)
    with pytest.raises(ModelDirectoryError, match="did not write it") as caught:
        ModelDirectoryLock(str(model_dir))
    assert (caught.value.argument, caught.value.value) == ("model_dir", str(model_dir))
    assert owner_pid(str(model_dir)) is None
    assert victim.read_text(encoding="utf-8") == PRECIOUS
    assert os.path.lexists(path)
    if path.is_file():
        assert path.read_text(encoding="utf-8") == PRECIOUS


@pytest.mark.parametrize("plant", [link, hard_link])
def test_an_empty_file_of_another_name_is_not_written_to(
    tmp_path: Path, plant: Callable[[Path, Path], None]
):
    victim, model_dir = tmp_path / "victim", tmp_path / "model"
    victim.touch()
    model_dir.mkdir()
    plant(model_dir / NAME, victim)
    with pytest.raises(ModelDirectoryError, match="did not write it"):
        ModelDirectoryLock(str(model_dir))
    assert victim.read_bytes() == b""


def test_a_lock_that_a_killed_job_left_is_taken_over(tmp_path: Path):
    left = "host, pid 123, user somebody else, since 2024-01-01 12:00:00\n"
    (tmp_path / NAME).write_text(left, encoding="utf-8")
    lock = ModelDirectoryLock(str(tmp_path))
    assert owner_pid(str(tmp_path)) == os.getpid()
    with pytest.raises(ModelDirectoryError, match=f"another training: .*, pid {os.getpid()}, user"):
        ModelDirectoryLock(str(tmp_path))
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_on_a_file_that_its_owner_removes_meanwhile_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    former, take = ModelDirectoryLock(str(tmp_path)), locks.fcntl.flock

    def release_first(*arguments: Any) -> None:
        former.release()
        take(*arguments)

    monkeypatch.setattr(locks.fcntl, "flock", release_first)
    lock = ModelDirectoryLock(str(tmp_path))
    with pytest.raises(ModelDirectoryError, match="in use by another training"):
        ModelDirectoryLock(str(tmp_path))
    lock.release()
