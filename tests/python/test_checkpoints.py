"""Detection and removal of broken checkpoints."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tfdistribute import checkpoints


@pytest.fixture
def model_dir(tensorflow: ModuleType, tmp_path: Path) -> str:
    """Three checkpoints written by TensorFlow, with their sizes recorded."""
    tf: Any = tensorflow
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.compat.v1.get_variable("v", initializer=tf.zeros([300]))
        session.run(tf.compat.v1.global_variables_initializer())
        saver = tf.compat.v1.train.Saver([variable], save_relative_paths=True)
        for step in (10, 20, 30):
            prefix = saver.save(session, str(tmp_path / "model.ckpt"), global_step=step)
            checkpoints.record_sizes(str(tmp_path), prefix)
    return str(tmp_path)


def latest(tensorflow: Any, model_dir: str) -> str:
    return Path(tensorflow.train.latest_checkpoint(model_dir)).name


def cut(path: Path, to: int) -> None:
    path.write_bytes(path.read_bytes()[:to])


def test_whole_checkpoints_are_left_as_they_are(tensorflow: Any, model_dir: str) -> None:
    state = (Path(model_dir) / "checkpoint").read_text(encoding="utf-8")
    assert checkpoints.repair(model_dir) == []
    assert (Path(model_dir) / "checkpoint").read_text(encoding="utf-8") == state
    assert latest(tensorflow, model_dir) == "model.ckpt-30"


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize("ending", ["index", "data-00000-of-00001"])
def test_training_goes_on_from_the_newest_whole_checkpoint(
    tensorflow: Any, model_dir: str, ending: str, noted: bool
) -> None:
    broken = Path(model_dir) / f"model.ckpt-30.{ending}"
    cut(broken, 20)
    if not noted:
        (Path(model_dir) / checkpoints.SIZES).unlink()
        if ending != "index":
            # Its size is unknown, so only its absence can be noticed.
            broken.unlink()
    # Workers, which ask before the repair, get the same answer as after it.
    assert checkpoints.newest_complete(model_dir) == "model.ckpt-20"
    (text,) = checkpoints.repair(model_dir)
    assert checkpoints.newest_complete(model_dir) == "model.ckpt-20"
    assert "model.ckpt-30" in text
    assert "continues from model.ckpt-20" in text
    assert latest(tensorflow, model_dir) == "model.ckpt-20"
    value = tensorflow.train.load_variable(model_dir, "v")
    assert value.shape == (300,)
    aside = {path.name for path in Path(model_dir).glob("*.broken")}
    assert {name.split(".")[1] for name in aside} == {"ckpt-30"}
    assert checkpoints.repair(model_dir) == []


def test_several_broken_ones_are_put_aside_together(tensorflow: Any, model_dir: str) -> None:
    for step in (20, 30):
        cut(Path(model_dir) / f"model.ckpt-{step}.data-00000-of-00001", 0)
    checkpoints.repair(model_dir)
    assert latest(tensorflow, model_dir) == "model.ckpt-10"
    # TensorFlow does not list the older broken one, so it does no harm.
    state = tensorflow.train.get_checkpoint_state(model_dir)
    assert [Path(path).name for path in state.all_model_checkpoint_paths] == ["model.ckpt-10"]


def test_without_a_whole_checkpoint_training_begins_anew(tensorflow: Any, model_dir: str) -> None:
    for index in Path(model_dir).glob("*.index"):
        cut(index, 5)
    (text,) = checkpoints.repair(model_dir)
    assert "starts again" in text
    assert tensorflow.train.latest_checkpoint(model_dir) is None


def test_an_empty_directory_needs_no_repair(tmp_path: Path) -> None:
    assert checkpoints.repair(str(tmp_path)) == []
    assert checkpoints.repair(str(tmp_path / "missing")) == []


def test_what_killed_writers_left_is_removed(model_dir: str) -> None:
    for name in ("tmp_worker_1", "model.ckpt-40_temp"):
        (Path(model_dir) / name).mkdir()
    (Path(model_dir) / "model.ckpt-40.data-00000-of-00001.tempstate123").write_text("x")
    before = set(Path(model_dir).iterdir())
    checkpoints.tidy(model_dir)
    assert {path.name for path in before - set(Path(model_dir).iterdir())} == {
        "tmp_worker_1",
        "model.ckpt-40_temp",
        "model.ckpt-40.data-00000-of-00001.tempstate123",
    }
