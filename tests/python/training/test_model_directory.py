"""Checkpoints and the signature of a model directory."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.checkpoints import flip, write_checkpoints
from support.hooks import trained
from support.planted_files import PLANTS, Plant, is_kept
from support.small_disks import SmallDisk, small_disk

from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.errors import InputError, ModelDirectoryError
from tfdistribute.training import model_directory
from tfdistribute.training.model_directory import (
    OWN_FILES,
    SIGNATURE,
    ModelDirectory,
    require_checkpoint,
    trained_columns,
    was_temporary,
)

STRUCTURE = {"kind": "dnn_regressor", "hidden_units": (8, 4)}


def test_a_verb_without_a_trained_model_is_refused(tmp_path: Path):
    with pytest.raises(ModelDirectoryError, match=r"predict\(\) needs a trained model") as caught:
        require_checkpoint(str(tmp_path), None, "predict")
    assert "train()" in (caught.value.remedy or "")


def test_a_temporary_directory_that_went_with_its_session_is_said_to_have(tmp_path: Path):
    gone = str(tmp_path / "RtmpAb12" / "tfdistribute-model-1a2b")
    assert was_temporary(gone)
    with pytest.raises(ModelDirectoryError, match="was deleted when its R session ended") as caught:
        require_checkpoint(gone, None, "predict")
    for way in ("save_estimator()", "bundle::bundle()", "give the estimator a `model_dir`"):
        assert way in str(caught.value.remedy)
    # The session lives, and the model was not trained yet.
    (tmp_path / "RtmpAb12").mkdir()
    assert not was_temporary(gone)
    assert not was_temporary(str(tmp_path / "elsewhere" / "model"))
    assert not was_temporary("gs://bucket/tfdistribute-model-1a2b")


@pytest.mark.parametrize("text", ["[" * 100_000, "[1]", "9" * 5000, "{"])
def test_a_signature_that_cannot_be_read_is_none(text: str, tmp_path: Path):
    (tmp_path / SIGNATURE).write_text(text)
    assert ModelDirectory(str(tmp_path)).structure is None


def test_a_chosen_checkpoint_must_be_whole(tensorflow: Any, tmp_path: Path):
    del tensorflow
    prefix = write_checkpoints(tmp_path, 10)
    assert require_checkpoint(str(tmp_path), prefix, "evaluate") == prefix
    with pytest.raises(ModelDirectoryError, match="is not a checkpoint") as caught:
        require_checkpoint(str(tmp_path), prefix + "0", "evaluate")
    assert caught.value.argument == "checkpoint_path"
    flip(Path(f"{prefix}.data-00000-of-00001"), 100)
    with pytest.raises(ModelDirectoryError, match="is broken") as caught:
        require_checkpoint(str(tmp_path), prefix, "evaluate")
    assert caught.value.argument == "checkpoint_path"


def test_a_verb_uses_the_newest_whole_checkpoint_and_says_which_one_is_broken(
    tensorflow: Any, tmp_path: Path
):
    del tensorflow
    older, newest = write_checkpoints(tmp_path, 10), write_checkpoints(tmp_path, 10, 20)
    flip(Path(f"{newest}.data-00000-of-00001"), 100)
    with pytest.warns(
        UserWarning, match=r"model.ckpt-20 in .* is broken: predict\(\) uses model.ckpt-10"
    ):
        assert require_checkpoint(str(tmp_path), None, "predict") == older
    # Only a training moves files: another process may be about to repair them.
    assert list(tmp_path.glob("*.broken")) == []
    flip(Path(f"{older}.index"), 10)
    with pytest.raises(
        ModelDirectoryError, match="is broken, and no other checkpoint is whole"
    ) as caught:
        require_checkpoint(str(tmp_path), None, "predict")
    assert caught.value.value == str(tmp_path)


def test_another_models_directory_is_refused_by_the_field_that_differs(tmp_path: Path):
    ModelDirectory(str(tmp_path)).sign(STRUCTURE)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-10"\n')
    ModelDirectory(str(tmp_path)).check_owner(STRUCTURE, for_training=True)
    with pytest.raises(
        ModelDirectoryError, match=r"its hidden_units is \[8, 4\], this model's is \[8\]"
    ):
        ModelDirectory(str(tmp_path)).check_owner(
            {**STRUCTURE, "hidden_units": (8,)}, for_training=False
        )


def test_a_directory_without_checkpoints_belongs_to_no_model(tmp_path: Path):
    ModelDirectory(str(tmp_path)).sign(STRUCTURE)
    ModelDirectory(str(tmp_path)).check_owner({"kind": "linear_regressor"}, for_training=True)


def test_a_damaged_signature_is_no_signature(tmp_path: Path):
    (tmp_path / SIGNATURE).write_text("{")
    assert ModelDirectory(str(tmp_path)).structure is None


def test_signing_leaves_one_file(tmp_path: Path):
    ModelDirectory(str(tmp_path)).sign(STRUCTURE)
    ModelDirectory(str(tmp_path)).sign(STRUCTURE)
    assert [path.name for path in tmp_path.iterdir()] == [SIGNATURE]
    assert ModelDirectory(str(tmp_path)).structure == {
        "kind": "dnn_regressor",
        "hidden_units": [8, 4],
    }


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelDirectoryError) as caught:
        ModelDirectory(str(tmp_path / "file" / "model")).check_writable()
    assert caught.value.argument == "model_dir"


def test_looking_whether_a_directory_can_be_written_leaves_nothing(tmp_path: Path):
    ModelDirectory(str(tmp_path / "new" / "model")).check_writable()
    assert list((tmp_path / "new" / "model").iterdir()) == []


def test_another_optimizer_matters_for_training_only(tmp_path: Path):
    ModelDirectory(str(tmp_path)).sign({**STRUCTURE, "optimizer": "Adam"})
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-10"\n')
    other = {**STRUCTURE, "optimizer": "SGD"}
    ModelDirectory(str(tmp_path)).check_owner(other, for_training=False)
    with pytest.raises(ModelDirectoryError, match="its optimizer is"):
        ModelDirectory(str(tmp_path)).check_owner(other, for_training=True)


def test_data_without_a_formula_has_the_columns_of_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(model_directory, "require_checkpoint", lambda *arguments: "model.ckpt-1")
    with pytest.raises(InputError, match="did not name its columns"):
        trained_columns(str(tmp_path), "evaluate")
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-1"\n')
    x, y = ColumnFacts("x", "float", ()), ColumnFacts("log(y)", "float", (), term="log(y)")
    ModelDirectory(str(tmp_path)).sign(STRUCTURE, InputFacts(features={"x": x}, label=y))
    # A later training with a function of the user keeps what is known.
    ModelDirectory(str(tmp_path)).sign(STRUCTURE, InputFacts())
    assert trained_columns(str(tmp_path), "evaluate") == {
        "features": ["x"],
        "kinds": {"x": "numbers"},
        "types": ["float"],
        "response": "log(y)",
        "weights": None,
        "replacements": {},
        "terms": {"log(y)": "log(y)"},
    }


def full(disk: SmallDisk) -> None:
    disk.fill()


def read_only(disk: SmallDisk) -> None:
    disk.make_read_only()


def deleted(disk: SmallDisk) -> None:
    for path in disk.path.iterdir():
        shutil.rmtree(path)


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (full, 'The disk that holds `model_dir` "{}" is full.'),
        (read_only, '`model_dir` "{}" cannot be written any more: Read-only file system.'),
        (deleted, '`model_dir` "{}" was deleted while it was in use.'),
    ],
)
def test_a_directory_that_fails_during_a_training_is_named_with_what_happened(
    tensorflow: Any, tmp_path: Path, happens: Callable[[SmallDisk], None], said: str
):
    class Happens(tensorflow.estimator.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            if not happened:
                happened.append(True)
                happens(disk)

    happened: list[bool] = []
    with small_disk(tmp_path / "disk", 2) as disk:
        if not disk.is_real and happens is not deleted:
            pytest.skip("Only root can mount disks.")
        model_dir = disk.path / "model"
        with pytest.raises(ModelDirectoryError) as caught:
            trained(model_dir, [Happens()], save_checkpoints_steps=4)
        assert caught.value.problem == said.format(model_dir)
        assert "continues from the last checkpoint" in (caught.value.remedy or "")
        if happens is not deleted:
            # It is refused at once the next time.
            with pytest.raises(ModelDirectoryError, match="cannot be written: "):
                trained(model_dir, [])


@pytest.mark.timeout(20)
@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("name", OWN_FILES)
def test_a_file_that_this_package_did_not_write_is_named_before_a_verb_begins(
    tmp_path: Path, name: str, plant: Plant
):
    (tmp_path / "model").mkdir()
    victim = plant(tmp_path / "model" / name)
    with pytest.raises(ModelDirectoryError, match=f'holds "{name}", which is not a regular file'):
        ModelDirectory(str(tmp_path / "model"))
    assert is_kept(victim)
