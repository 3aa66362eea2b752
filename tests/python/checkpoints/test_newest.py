"""The newest whole checkpoint, and repair of what is broken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.checkpoints import flip, write_checkpoints
from support.planted_files import Plant, device, is_kept, link, pipe

from tfdistribute.checkpoints import newest
from tfdistribute.checkpoints.contents import files_of
from tfdistribute.checkpoints.newest import newest_checkpoint, newest_step, repair, tidy
from tfdistribute.errors import ModelDirectoryError

GARBAGE = bytes(range(40, 256)) * 2


def latest(tensorflow: Any, model_dir: str) -> str:
    return Path(tensorflow.train.latest_checkpoint(model_dir)).name


def cut(path: Path, to: int) -> None:
    path.write_bytes(path.read_bytes()[:to])


def test_whole_checkpoints_are_left_as_they_are(tensorflow: Any, model_dir: str) -> None:
    state = (Path(model_dir) / "checkpoint").read_text(encoding="utf-8")
    assert repair(model_dir) == []
    assert (Path(model_dir) / "checkpoint").read_text(encoding="utf-8") == state
    assert latest(tensorflow, model_dir) == "model.ckpt-30"


def test_a_checkpoint_that_its_training_removes_while_it_is_read_is_not_broken(
    tensorflow: Any, model_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = newest.listed_checkpoint

    def listed_before_its_removal(directory: str) -> str | None:
        """The training saves the next checkpoint, and keeps only that one."""
        found = listed(directory)
        if found == os.path.join(directory, "model.ckpt-30"):
            write_checkpoints(Path(directory), 40)
            for file in files_of(found):
                os.unlink(file)
        return found

    monkeypatch.setattr(newest, "listed_checkpoint", listed_before_its_removal)
    assert newest.broken_newest(model_dir) is None
    assert newest_checkpoint(model_dir) == os.path.join(model_dir, "model.ckpt-40")


def cut_index(directory: Path) -> None:
    cut(directory / "model.ckpt-30.index", 20)


def cut_data(directory: Path) -> None:
    cut(directory / "model.ckpt-30.data-00000-of-00001", 20)


def flip_data(directory: Path) -> None:
    flip(directory / "model.ckpt-30.data-00000-of-00001", 100)


def remove_index(directory: Path) -> None:
    (directory / "model.ckpt-30.index").unlink()


def remove_data(directory: Path) -> None:
    (directory / "model.ckpt-30.data-00000-of-00001").unlink()


@pytest.mark.parametrize("damage", [cut_index, cut_data, flip_data, remove_index, remove_data])
def test_training_goes_on_from_the_newest_whole_checkpoint(
    tensorflow: Any, model_dir: str, damage: Any
) -> None:
    damage(Path(model_dir))
    # Workers, which ask before the repair, get the same answer as after it.
    assert newest_checkpoint(model_dir) == os.path.join(model_dir, "model.ckpt-20")
    (text,) = repair(model_dir)
    assert newest_checkpoint(model_dir) == os.path.join(model_dir, "model.ckpt-20")
    assert newest_step(model_dir) == 20
    assert f'model.ckpt-30 in "{model_dir}", is broken' in text
    assert "continues from model.ckpt-20" in text
    assert latest(tensorflow, model_dir) == "model.ckpt-20"
    value = tensorflow.train.load_variable(model_dir, "v")
    assert value.shape == (300,)
    aside = {path.name for path in Path(model_dir).glob("*.broken")}
    assert {name.split(".")[1] for name in aside} == {"ckpt-30"}
    assert repair(model_dir) == []


@pytest.mark.parametrize(
    "content",
    [
        GARBAGE,
        b"",
        b'model_checkpoint_path: "model.ckpt-30',
        b'model_checkpoint_path: "model.ckpt-30"\n###\n',
    ],
    ids=["garbage", "empty", "cut", "one line of garbage"],
)
def test_a_broken_list_of_checkpoints_is_set_aside_and_no_checkpoint_is_lost(
    tensorflow: Any, model_dir: str, content: bytes
) -> None:
    state = Path(model_dir) / "checkpoint"
    state.write_bytes(content)
    assert newest_step(model_dir) == 30
    (text,) = repair(model_dir)
    assert f'The file "{state}"' in text
    assert "continues from model.ckpt-30" in text
    assert latest(tensorflow, model_dir) == "model.ckpt-30"
    assert Path(f"{state}.broken").read_bytes() == content
    found = tensorflow.train.get_checkpoint_state(model_dir)
    assert [Path(path).name for path in found.all_model_checkpoint_paths] == [
        "model.ckpt-10",
        "model.ckpt-20",
        "model.ckpt-30",
    ]
    assert repair(model_dir) == []


@pytest.mark.timeout(20)
@pytest.mark.parametrize("plant", [link, device, pipe])
def test_what_stands_in_the_place_of_the_list_of_checkpoints_is_named(
    model_dir: str, plant: Plant
) -> None:
    state = Path(model_dir, "checkpoint")
    state.unlink()
    victim = plant(state)
    assert newest_step(model_dir) == 30
    with pytest.raises(ModelDirectoryError, match='holds "checkpoint", which is not a regular'):
        repair(model_dir)
    assert is_kept(victim)


def test_several_broken_ones_are_put_aside_together(tensorflow: Any, model_dir: str) -> None:
    for step in (20, 30):
        cut(Path(model_dir) / f"model.ckpt-{step}.data-00000-of-00001", 0)
    repair(model_dir)
    assert latest(tensorflow, model_dir) == "model.ckpt-10"
    # TensorFlow does not list the older broken one, so it does no harm.
    state = tensorflow.train.get_checkpoint_state(model_dir)
    assert [Path(path).name for path in state.all_model_checkpoint_paths] == ["model.ckpt-10"]


def test_without_a_whole_checkpoint_training_begins_anew(tensorflow: Any, model_dir: str) -> None:
    for index in Path(model_dir).glob("*.index"):
        cut(index, 5)
    (text,) = repair(model_dir)
    assert "starts again" in text
    assert tensorflow.train.latest_checkpoint(model_dir) is None


def test_an_empty_directory_needs_no_repair(tmp_path: Path) -> None:
    assert repair(str(tmp_path)) == []
    assert repair(str(tmp_path / "missing")) == []


def test_what_killed_writers_left_is_removed(model_dir: str) -> None:
    for name in ("tmp_worker_1", "model.ckpt-40_temp"):
        (Path(model_dir) / name).mkdir()
    (Path(model_dir) / "model.ckpt-40.data-00000-of-00001.tempstate123").write_text("x")
    before = set(Path(model_dir).iterdir())
    tidy(model_dir)
    assert {path.name for path in before - set(Path(model_dir).iterdir())} == {
        "tmp_worker_1",
        "model.ckpt-40_temp",
        "model.ckpt-40.data-00000-of-00001.tempstate123",
    }
