"""The verbs with a model directory in a bucket."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from support import hooks, strategies
from support.buckets import Store
from support.checkpoints import assert_alike, assert_identical, variables
from support.gcs_store import BUCKET, REFUSED
from support.sampling import sampled

from tfdistribute import history_file, storage
from tfdistribute.bridge import model_files
from tfdistribute.checkpoints.newest import newest_checkpoint, newest_step
from tfdistribute.errors import ArgumentError, BackendError, ModelDirectoryError, ModelError
from tfdistribute.inputs import Csv
from tfdistribute.models import Model
from tfdistribute.training import (
    EvalSpec,
    TrainSpec,
    concatenate,
    evaluate,
    export_savedmodel,
    global_step,
    predict,
    read_history,
    train,
    train_and_evaluate,
    variable_value,
)

SETTINGS = strategies.settings("none", save_checkpoints_steps=10)
LOSSES = history_file.LOSSES
TESTS = Path(__file__).parents[2]


def described(name: str, scheme: str = "gs", **fields: Any) -> Model:
    return hooks.models.line(
        f"{scheme}://{BUCKET}/{name}", optimizer=hooks.models.sgd(0.1), **fields
    )


def local_copy(directory: str, to: Path) -> str:
    for name in storage.files_below(directory):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        storage.copy(f"{directory}/{name}", str(to / name))
    return str(to)


def steps_in(store: Store, name: str) -> list[int]:
    lines = store.read(f"{name}/{LOSSES}").decode().splitlines()
    return [json.loads(line)["step"] for line in lines]


def uploads(store: Store, prefix: str) -> list[str]:
    """List the names of the objects that were written to Google's store, in their order."""
    start = f"POST _upload {BUCKET} "
    names = (each.removeprefix(start) for each in store.requests() if each.startswith(start))
    return [name for name in names if name.startswith(prefix)]


@sampled(
    "served",
    ["s3", "gs", "az"],
    check=["gs", "az"],
    versions=["gs"],
    indirect=True,
    scope="module",
)
def test_every_verb_works_in_a_bucket_and_nothing_is_left_on_this_machine(
    bucket: Store, tmp_path: Path
) -> None:
    model, source = described("verbs", bucket.scheme), hooks.source()
    first = train(model, SETTINGS, source, steps=20)
    assert (first.steps[-1], global_step(model.model_dir)) == (20, 20)
    # It goes on from the step of the bucket.
    counting = hooks.hook("step_counter", every_n_steps=10)
    ends = train(model, SETTINGS, source, steps=10, hooks=[counting]).last_step
    assert (ends, newest_step(model.model_dir)) == (30, 30)
    metrics = evaluate(model, SETTINGS, hooks.source(1))
    assert metrics["global_step"] == 30
    rows = concatenate(predict(model, SETTINGS, hooks.source(1)))
    assert len(rows["predictions"]) == 32
    train_spec, eval_spec = TrainSpec(source, 40), EvalSpec(hooks.source(1), start_delay_secs=0)
    assert train_and_evaluate(model, SETTINGS, train_spec, eval_spec).evaluations
    history = read_history(model.model_dir)
    assert history["training"]["step"] == [1, 10, 20, 21, 30, 31, 40]
    assert [row["global_step"] for row in history["evaluation"]] == [30, 40]
    assert history["global_step"] == 40
    assert list(tmp_path.iterdir()) == []
    here = hooks.model(tmp_path / "here")
    for steps in (20, 10, 10):
        train(here, SETTINGS, source, steps=steps)
    assert_identical(variables(model.model_dir), variables(here.model_dir))
    # A killed process leaves no more than these.
    assert {name.split("/")[1] for name in bucket.names("verbs/tfdistribute")} == {
        "tfdistribute-model.json",
        "tfdistribute-position.json",
        LOSSES,
        history_file.EVALUATIONS,
    }


# Evaluates and predicts with files and a model in a bucket.
OTHER_PROCESS = """
import json, sys
from support import hooks, strategies
from tfdistribute.inputs import Parquet
from tfdistribute.training import concatenate, evaluate, predict

root, settings = sys.argv[1], strategies.settings()
model = hooks.models.line(f"{root}/files/model", optimizer=hooks.models.sgd(0.1))
source = Parquet((f"{root}/files/rows.parquet",), response="y", batch_size=8, shuffle=False, epochs=1)
metrics = evaluate(model, settings, source)
rows = concatenate(predict(model, settings, source))["predictions"]
print(json.dumps([metrics["global_step"], metrics["loss"], rows.ravel().tolist()]))
"""


@sampled("served", ["s3", "az"], check=["s3"], indirect=True, scope="module")
def test_rows_in_a_bucket_are_trained_and_another_process_evaluates_and_predicts(
    bucket: Store, tmp_path: Path
) -> None:
    rows = pa.table({"x": hooks.X, "y": hooks.Y})
    # The file that ends in the middle of the rows is the first one.
    for name, part in (("b", rows.slice(11)), ("a", rows.slice(0, 11))):
        file = io.BytesIO()
        csv.write_csv(part, file)
        bucket.write(f"files/rows-{name}.csv", file.getvalue())
    file = io.BytesIO()
    parquet.write_table(rows, file, row_group_size=8)
    bucket.write("files/rows.parquet", file.getvalue())
    model = described("files/model", bucket.scheme)
    source = Csv(
        (f"{bucket.root}/files/rows-?.csv",),
        response="y",
        batch_size=8,
        shuffle=False,
        epochs=None,
    )
    train(model, SETTINGS, source, steps=10)
    here = hooks.model(tmp_path / "here")
    train(here, SETTINGS, hooks.source(), steps=10)
    assert_alike(variables(model.model_dir), variables(here.model_dir))
    path = os.pathsep.join(str(TESTS / each) for each in (".", "../../inst/python"))
    ended = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS, bucket.root],
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
        env={**os.environ, "PYTHONPATH": path},
    )
    step, loss, predictions = json.loads(ended.stdout)
    assert (step, loss) == (10, pytest.approx(evaluate(here, SETTINGS, hooks.source(1))["loss"]))
    expected = concatenate(predict(here, SETTINGS, hooks.source(1)))["predictions"]
    assert predictions == pytest.approx(expected.ravel().tolist())


def test_a_model_is_exported_to_a_bucket_and_its_last_file_makes_it_complete(
    tensorflow: Any, bucket: Store, tmp_path: Path
) -> None:
    model = described("exported")
    train(model, SETTINGS, hooks.source(), steps=2)
    target = f"gs://{BUCKET}/export"
    bucket.write("export/variables/left.over", b"of an earlier export")
    bucket.write("export/saved_model.pb", b"of an earlier export")
    before = len(uploads(bucket, "export/"))
    assert export_savedmodel(model, SETTINGS, f"{target}/") == target
    written = uploads(bucket, "export/")[before:]
    assert bucket.names("export/") == [
        "export/saved_model.pb",
        "export/variables/variables.data-00000-of-00001",
        "export/variables/variables.index",
    ]
    assert (written[-1], len(written)) == ("export/saved_model.pb", 3)
    copy = local_copy(target, tmp_path.parent / "copied-export")
    assert "serving_default" in tensorflow.saved_model.load(copy).signatures
    with pytest.raises(ModelDirectoryError, match="exists already"):
        export_savedmodel(model, SETTINGS, target, overwrite=False)
    version = export_savedmodel(model, SETTINGS, f"gs://{BUCKET}/versions", versioned=True)
    assert version.removeprefix(f"gs://{BUCKET}/versions/").isdecimal()
    assert list(tmp_path.iterdir()) == []


def test_a_training_begins_with_a_checkpoint_in_a_bucket(bucket: Store) -> None:
    train(described("source"), SETTINGS, hooks.source(), steps=10)
    start = {"ckpt_to_initialize_from": f"gs://{BUCKET}/source"}
    warm = described("warm", warm_start_from=start)
    train(warm, strategies.settings(), hooks.source(), steps=1)
    cold = described("cold")
    train(cold, strategies.settings(), hooks.source(), steps=1)
    name = "linear/linear_model/x/weights"
    values = [variable_value(each.model_dir, name)[0, 0] for each in (cold, warm)]
    assert values[0] < 1 < values[1]
    missing = described("other", warm_start_from={"ckpt_to_initialize_from": f"{start}/no"})
    with pytest.raises(ModelDirectoryError, match="holds no checkpoint"):
        train(missing, SETTINGS, hooks.source(), steps=1)


def test_a_model_in_a_bucket_is_saved_in_one_file(bucket: Store, tmp_path: Path) -> None:
    model = described("saved")
    train(model, SETTINGS, hooks.source(), steps=2)
    path, copy = str(tmp_path / "model.tfd"), str(tmp_path / "copy")
    model_files.save_model(model.model_dir, path, "linear_regressor", {}, {}, {})
    model_files.load_model(path, copy, trusted=False)
    assert_identical(variables(copy), variables(model.model_dir))
    assert (
        read_history(copy)["training"]["loss"] == read_history(model.model_dir)["training"]["loss"]
    )


def test_a_model_file_is_written_to_a_bucket_and_restored_in_one(
    bucket: Store, tmp_path: Path
) -> None:
    model, place = described("original"), f"gs://{BUCKET}/files/model.tfd"
    train(model, SETTINGS, hooks.source(), steps=2)
    model_files.save_model(model.model_dir, place, "linear_regressor", {}, {}, {})
    assert bucket.names("files/") == ["files/model.tfd"]
    with pytest.raises(ArgumentError, match="exists"):
        model_files.save_model(model.model_dir, place, "linear_regressor", {}, {}, {})
    restored = described("restored")
    model_files.load_model(place, restored.model_dir, trusted=False)
    assert_identical(variables(restored.model_dir), variables(model.model_dir))
    # The file that names the checkpoint is the last.
    assert uploads(bucket, "restored/")[-1] == "restored/checkpoint"
    train(restored, SETTINGS, hooks.source(), steps=1)
    assert global_step(restored.model_dir) == 3
    with pytest.raises(ModelDirectoryError, match="exists and is not empty"):
        model_files.load_model(place, restored.model_dir, trusted=False)
    content = bytearray(bucket.read("files/model.tfd"))
    content[len(content) // 2] ^= 1
    bucket.write("files/damaged.tfd", content)
    with pytest.raises(ModelError, match="is not a whole model file"):
        model_files.load_model(f"gs://{BUCKET}/files/damaged.tfd", described("no").model_dir, False)
    with pytest.raises(ArgumentError, match="cannot be read"):
        model_files.load_model(f"gs://{BUCKET}/files/none.tfd", described("no").model_dir, False)
    assert bucket.names("no/") == []
    assert list(tmp_path.iterdir()) == []


def test_access_is_checked_once_before_the_lease_is_taken(bucket: Store) -> None:
    train(described("once"), SETTINGS, hooks.source(), steps=1)
    written = [each.split("/")[-1] for each in uploads(bucket, "once/")]
    checks = [index for index, name in enumerate(written) if name.startswith(".access-")]
    assert checks == [0]
    assert ".lease" in written


def test_losses_are_written_with_checkpoints_and_agree_with_the_newest_after_a_kill(
    bucket: Store,
) -> None:
    model = described("killed")
    train(model, SETTINGS, hooks.source(), steps=20)
    written = uploads(bucket, "killed/")
    ends = [place for place, each in enumerate(written) if each.endswith(f"/{LOSSES}")]
    saves = [place for place, each in enumerate(written) if "ckpt-20.index" in each]
    # One write for each of the two checkpoints, and perhaps one at the end.
    assert len(ends) in (2, 3)
    assert ends[0] < saves[0]
    content = bucket.read(f"killed/{LOSSES}")
    assert steps_in(bucket, "killed") == [1, 10, 20]
    # What was written after the checkpoint of step 20, by a process that was then killed, is trained again.
    more = {"step": 30, "loss": 9.0, "seconds": 9.0, "examples_per_second": None}
    bucket.write(f"killed/{LOSSES}", content + json.dumps(more).encode() + b"\n")
    train(model, SETTINGS, hooks.source(), steps=10)
    training = read_history(model.model_dir)["training"]
    assert training["step"] == [1, 10, 20, 21, 30]
    assert training["loss"][-1] < 9


def test_a_broken_newest_checkpoint_in_a_bucket_is_set_aside(bucket: Store) -> None:
    model = described("broken")
    train(model, SETTINGS, hooks.source(), steps=20)
    bucket.write("broken/model.ckpt-20.data-00000-of-00001", b"short")
    with pytest.warns(
        UserWarning, match=r"model.ckpt-20 .* is broken: evaluate\(\) uses model.ckpt-10"
    ):
        assert evaluate(model, SETTINGS, hooks.source(1))["global_step"] == 10
    with pytest.warns(UserWarning, match="continues from model.ckpt-10"):
        train(model, SETTINGS, hooks.source(), steps=2)
    assert newest_checkpoint(model.model_dir) == f"{model.model_dir}/model.ckpt-12"
    assert "broken/model.ckpt-20.index.broken" in bucket.names("broken/")


def test_the_best_weights_of_a_training_in_a_bucket_are_restored(bucket: Store) -> None:
    model = described("stopped")
    watched = {"monitor": "loss", "data": "training", "mode": "max", "every_n_steps": 1}
    stopping = hooks.hook("early_stopping", patience_steps=2, restore_best_weights=True, **watched)
    train(model, SETTINGS, hooks.source(), steps=20, hooks=[stopping])
    assert newest_step(model.model_dir) == 1
    assert bucket.names("stopped/best-weights") == []


@pytest.mark.parametrize(
    ("place", "reason", "remedy"),
    [
        ("gs://missing/m", "The bucket .missing. does not exist", "Create the bucket"),
        (f"gs://{REFUSED}/m", "Permission .* denied", "GOOGLE_APPLICATION_CREDENTIALS"),
    ],
)
def test_a_bucket_that_cannot_be_used_is_named_before_a_training_starts(
    bucket: Store, tmp_path: Path, place: str, reason: str, remedy: str
) -> None:
    model = hooks.models.line(place)
    with pytest.raises(ModelDirectoryError, match=f"cannot be written: {reason}") as caught:
        train(model, SETTINGS, hooks.source(), steps=2)
    assert (caught.value.argument, caught.value.value) == ("model_dir", place)
    assert remedy in str(caught.value.remedy)
    with pytest.raises(ModelDirectoryError, match=f"cannot be read: {reason}"):
        evaluate(model, SETTINGS, hooks.source(1))
    trained = described("usable")
    train(trained, SETTINGS, hooks.source(), steps=1)
    with pytest.raises(ModelDirectoryError, match="`export_dir_base` .* cannot be written"):
        export_savedmodel(trained, SETTINGS, f"{place}/export")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "text", "remedy"),
    [
        ("moon://bucket/m", '"moon", which nothing installed reads', "s3://"),
    ],
)
def test_a_scheme_that_nothing_reads_is_refused_before_a_training_starts(
    tensorflow: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    text: str,
    remedy: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    model = hooks.models.line(place)
    for verb in (
        lambda: train(model, SETTINGS, hooks.source(), steps=2),
        lambda: evaluate(model, SETTINGS, hooks.source(1)),
        lambda: read_history(place),
    ):
        with pytest.raises(BackendError, match=text) as caught:
            verb()
        assert f'"{place}" has the scheme' in caught.value.problem
        assert remedy in str(caught.value.remedy)
    assert list(tmp_path.iterdir()) == []
