"""Checkpoints and the signature of a model directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfdistribute.errors import ModelDirectoryError
from tfdistribute.training.model_directory import (
    SIGNATURE,
    ModelDirectory,
    latest_checkpoint,
    require_checkpoint,
)

STRUCTURE = {"kind": "dnn_regressor", "hidden_units": (8, 4)}


def with_checkpoint(directory: Path, step: int = 10) -> str:
    (directory / "checkpoint").write_text(f'model_checkpoint_path: "model.ckpt-{step}"\n')
    (directory / f"model.ckpt-{step}.index").write_text("")
    return str(directory / f"model.ckpt-{step}")


def test_the_newest_checkpoint_is_found_without_tensorflow(tmp_path: Path):
    assert latest_checkpoint(str(tmp_path)) is None
    assert latest_checkpoint(str(tmp_path / "absent")) is None
    assert with_checkpoint(tmp_path) == latest_checkpoint(str(tmp_path))


def test_a_checkpoint_without_its_files_is_none(tmp_path: Path):
    with_checkpoint(tmp_path)
    (tmp_path / "model.ckpt-10.index").unlink()
    assert latest_checkpoint(str(tmp_path)) is None


def test_a_verb_without_a_trained_model_is_refused(tmp_path: Path):
    with pytest.raises(ModelDirectoryError, match="predict needs a trained model") as caught:
        require_checkpoint(str(tmp_path), None, "predict")
    assert "train()" in (caught.value.remedy or "")


def test_a_chosen_checkpoint_must_exist(tmp_path: Path):
    prefix = with_checkpoint(tmp_path)
    assert require_checkpoint(str(tmp_path), prefix, "evaluate") == prefix
    with pytest.raises(ModelDirectoryError) as caught:
        require_checkpoint(str(tmp_path), prefix + "0", "evaluate")
    assert caught.value.argument == "checkpoint_path"


def test_another_models_directory_is_refused_by_the_field_that_differs(tmp_path: Path):
    ModelDirectory(str(tmp_path)).sign(STRUCTURE)
    with_checkpoint(tmp_path)
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
    with_checkpoint(tmp_path)
    other = {**STRUCTURE, "optimizer": "SGD"}
    ModelDirectory(str(tmp_path)).check_owner(other, for_training=False)
    with pytest.raises(ModelDirectoryError, match="its optimizer is"):
        ModelDirectory(str(tmp_path)).check_owner(other, for_training=True)
