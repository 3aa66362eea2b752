"""What the tasks of a cluster compare before the first step: every field of every description."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from support.cluster_job import job
from support.cluster_task import NUMBERS, SGD, source
from support.sampling import sampled

import tfdistribute.training  # All descriptions are known.
from tfdistribute.descriptions import Description, read
from tfdistribute.descriptions import fields as description_fields
from tfdistribute.descriptions.comparison import Exceptions, entries_of, first_difference
from tfdistribute.descriptions.constraints import MayDiffer
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.multi_worker import assignment
from tfdistribute.training.multi_worker.assignment import TaskAssignment
from tfdistribute.training.specs import TrainSpec

del tfdistribute


def descendants(of: type) -> Iterator[type]:
    for each in of.__subclasses__():
        yield each
        yield from descendants(each)


def compared_classes() -> list[type]:
    """All descriptions of this package, and what a task is given."""
    known = {
        each for each in descendants(Description) if each.__module__.startswith("tfdistribute.")
    }
    return [TaskAssignment, *sorted(known, key=lambda each: each.__qualname__)]


def fields_of(of: type) -> list[str]:
    return [field.name for field in dataclasses.fields(cast("Any", of))]


def with_values(of: type, **values: Any) -> Any:
    """Make a description without checks."""
    made = object.__new__(of)
    for name in fields_of(of):
        object.__setattr__(made, name, values.get(name, "the same"))
    return made


@pytest.mark.parametrize("of", compared_classes(), ids=lambda of: of.__name__)
def test_every_field_is_compared_or_has_a_reason_why_not(
    of: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of, "content", lambda self: {}, raising=False)
    exceptions = Exceptions(between_tasks=True)
    plain = entries_of(with_values(of), "", exceptions)
    for name in fields_of(of):
        other = entries_of(with_values(of, **{name: "another"}), "", exceptions)
        reason = getattr(of, "may_differ", None)
        fact = description_fields.fields_of(of)[name].fact(MayDiffer)
        reason = fact.reason if fact else reason
        assert (first_difference(plain, other) is None) == (reason is not None), name
        assert reason is None or reason.endswith("."), name


# Entries of a training --------------------------------------------------------------------------


def entries(
    model: dict[str, Any] | None = None,
    data: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
    hooks: tuple[Any, ...] = (),
) -> dict[str, Any]:
    plain = {"kind": "linear_regressor", "feature_columns": NUMBERS, "optimizer": SGD}
    made = read(Model, {"model_dir": "models/m", **plain, **(model or {})})
    spec = TrainSpec(read(Input, {**source(None), **(data or {})}), 10, hooks)
    settings = read(RunSettings, config or {})
    assignment = TaskAssignment("train", made, settings, spec, member=cast("Any", None))
    return assignment.entries(made)


def rate(value: Any) -> dict[str, Any]:
    return {"optimizer": {**SGD, "settings": {"learning_rate": value}}}


def decay(rate: float) -> dict[str, Any]:
    return {"schedule": "exponential_decay", "initial_learning_rate": 0.1, "decay_rate": rate}


def column(index: int, **values: Any) -> dict[str, Any]:
    columns = list(source(None)["columns"])
    return {"columns": [*columns[:index], {**columns[index], **values}, *columns[index + 1 :]]}


def stop_at(step: int) -> dict[str, Any]:
    return {"kind": "stop_at_step", "last_step": step}


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        (
            {"model": rate(0.1)},
            {"model": rate(0.2)},
            "object$optimizer$settings$learning_rate",
        ),
        (
            {"model": rate(decay(0.5))},
            {"model": rate(decay(0.9))},
            "object$optimizer$settings$learning_rate$decay_rate",
        ),
        (
            {"model": {"optimizer": {**SGD, "settings": {"clipnorm": 1.0}}}},
            {"model": {"optimizer": {**SGD, "settings": {"clipnorm": 2.0}}}},
            "object$optimizer$settings$clipnorm",
        ),
        (
            {"model": {"optimizer": {**SGD, "settings": {"l2_penalty": 0.1}}}},
            {"model": {}},
            "object$optimizer$settings$l2_penalty",
        ),
        ({"data": {"seed": 3}}, {"data": {"seed": 4}}, "input$seed"),
        ({"data": {"batch_size": 12}}, {"data": {"batch_size": 24}}, "input$batch_size"),
        ({"data": {"shuffle": False}}, {"data": {}}, "input$shuffle"),
        ({}, {"data": column(0, values=lambda: np.ones(96, "float32"))}, "input$values"),
        ({}, {"data": column(0, name="z")}, "input$features$a$name"),
        (
            {"config": {"seed": 1}},
            {"config": {"seed": 2}},
            "config$seed",
        ),
        ({"config": {"precision": "mixed_bfloat16"}}, {}, "config$precision"),
        ({"config": {"micro_batches": 2}}, {}, "config$micro_batches"),
        (
            {"config": {"session_config": {"graph_options": {"build_cost_model": 1}}}},
            {},
            "config$graph_options$build_cost_model",
        ),
        ({"hooks": (stop_at(5),)}, {"hooks": (stop_at(6),)}, "hooks[1]$last_step"),
    ],
)
def test_a_difference_that_decides_the_weights_is_named_by_its_field(
    one: dict[str, Any], other: dict[str, Any], path: str
) -> None:
    found = first_difference(entries(**one), entries(**other))
    assert found is not None
    assert found[0] == path


@pytest.mark.parametrize(
    "other",
    [
        {"model": {"model_dir": "/mnt/of/another/host/m"}},
        {"config": {"save_summary_steps": 7, "log_step_count_steps": 7, "keep_checkpoint_max": 1}},
        {
            "config": {
                "session_config": {"device_count": {"GPU": 1}, "intra_op_parallelism_threads": 3}
            }
        },
        {"config": {"steps_per_run": 3}},
        {"config": {"cluster": {"kind": "local", "workers": 3}}},
        {"config": {"strategy": {"kind": "multi_worker", "timeout_s": 5}}},
        {"hooks": ({"kind": "progress_bar"}, {"kind": "session_run", "end": lambda *a: None})},
    ],
)
def test_what_does_not_decide_the_weights_may_differ(other: dict[str, Any]) -> None:
    strategy = {"strategy": {"kind": "multi_worker"}}
    config = {**strategy, **other.get("config", {})}
    assert (
        first_difference(entries(config=strategy), entries(**{**other, "config": config})) is None
    )


def csv(directory: Path, *texts: str) -> dict[str, Any]:
    directory.mkdir()
    for number, text in enumerate(texts):
        (directory / f"part-{number}.csv").write_text(text)
    return {"kind": "csv", "paths": [str(directory / "*.csv")], "response": "y"}


def of_files(input_: dict[str, Any]) -> dict[str, Any]:
    spec = TrainSpec(read(Input, input_))
    return entries_of(spec, "", assignment._EXCEPTIONS)


def test_files_are_compared_by_their_sizes_wherever_they_are(tmp_path: Path) -> None:
    row = "a,y\n1,2\n"
    one = of_files(csv(tmp_path / "one", row, row))
    assert first_difference(one, of_files(csv(tmp_path / "two", row, row))) is None
    longer = of_files(csv(tmp_path / "three", row, "a,y\n1,20\n"))
    found = first_difference(one, longer)
    assert found is not None
    assert found == ("$input$files[2]$bytes", 8, 9)
    # As two tasks that list files in the order of their locales.
    turned = read(
        Input,
        {
            **csv(tmp_path / "four"),
            "paths": [
                str(tmp_path / "one" / "part-1.csv"),
                str(tmp_path / "one" / "part-0.csv"),
            ],
        },
    )
    found = first_difference(one, entries_of(TrainSpec(turned), "", assignment._EXCEPTIONS))
    assert found is not None
    assert found[0] == "$input$files[1]$name"


def test_a_vocabulary_file_is_compared_by_its_content(tmp_path: Path) -> None:
    def of_words(name: str, words: str) -> dict[str, Any]:
        (tmp_path / name).write_text(words)
        column = {"kind": "categorical_with_vocabulary_file", "key": "a"}
        column["vocabulary_file"] = str(tmp_path / name)
        return entries({"feature_columns": [column]})

    one = of_words("one", "a\nb\n")
    assert first_difference(one, of_words("two", "a\nb\n")) is None
    found = first_difference(one, of_words("three", "b\na\n"))
    assert found is not None
    assert found[0] == "object$feature_columns[1]$file"


@pytest.mark.parametrize("rows", [10**6])
def test_a_checksum_of_a_million_rows_takes_well_under_a_second(rows: int) -> None:
    columns = [
        {"name": f"x{number}", "type": "float", "values": lambda: np.ones(rows, "float32")}
        for number in range(8)
    ]
    labels = [f"label {number}" for number in range(1000)]
    codes = {"codes": np.arange(rows, dtype="int32") % 1000, "labels": labels}
    columns.append({"name": "s", "type": "string", "values": lambda: codes})
    data = cast("Any", read(Input, {"kind": "in_memory", "columns": columns}))
    began = time.process_time()
    data.packed.checksum()
    assert time.process_time() - began < 1


# Real tasks -------------------------------------------------------------------------------------


DIFFERENCES: list[tuple[dict[str, Any], str | None, str | None]] = [
    ({"learning_rate": 0.5}, "learning_rate", "object$optimizer$settings$learning_rate"),
    ({"input": {"seed": 4}}, "seed", "input$seed"),
    # Other data with the same number of rows.
    ({"nan_row": 5}, "label_range", "input$label_range"),
    ({}, None, None),
]


@pytest.mark.jobs
@sampled(("of_worker", "argument", "path"), DIFFERENCES, check=DIFFERENCES[2:3])
def test_tasks_train_only_what_is_the_same(
    tmp_path: Path, of_worker: dict[str, Any], argument: str | None, path: str | None
) -> None:
    options = {
        "models": ["linear"],
        "max_steps": 4,
        "config": {"strategy": {"kind": "multi_worker"}},
        "input": {"seed": 3},
        "learning_rate": 0.05,
    }
    with job(tmp_path, options) as running:
        running.start("chief")
        running.start("worker", TEST_OPTIONS=json.dumps(of_worker))
        ended = running.wait("chief-0", "worker-0", timeout_s=120)
        if argument is None:
            assert ended == {"chief-0": 0, "worker-0": 0}, running.logs()
            return
        for name in ended:
            error = running.error(name, "linear")
            assert (error["kind"], error["argument"]) == ("cluster", argument)
            assert "worker 0 (on " in error["problem"]
            assert f"do not agree on `{path}`" in error["problem"]
            # Before the first step.
            assert running.events(name, "step") == []


# Models that hold objects of TensorFlow ----------------------------------------------------------


def of_model(model: dict[str, Any]) -> dict[str, Any]:
    return entries_of(read(Model, {"model_dir": "m", **model}), "object", assignment._EXCEPTIONS)


def test_an_existing_estimator_is_compared_by_what_it_was_made_from(tensorflow: Any) -> None:
    tf = tensorflow

    def wrapped(rate: float) -> dict[str, Any]:
        column = tf.feature_column.numeric_column("x")
        made = tf.estimator.DNNRegressor(
            [4], [column], optimizer=tf.keras.optimizers.legacy.Adam(rate), model_dir="m"
        )
        return of_model({"kind": "wrapped", "estimator": made})

    assert first_difference(wrapped(0.1), wrapped(0.1)) is None
    found = first_difference(wrapped(0.1), wrapped(0.2))
    assert found is not None
    assert found[0].endswith("learning_rate")


def test_a_keras_model_is_compared_by_its_layers_and_its_optimizer(tensorflow: Any) -> None:
    tf = tensorflow

    def built(units: int, rate: float) -> dict[str, Any]:
        def build() -> Any:
            made = tf.keras.Sequential([tf.keras.layers.Dense(units, input_shape=(2,))])
            made.compile(tf.keras.optimizers.legacy.SGD(rate), "mse")
            return made

        return of_model({"kind": "keras", "function": build})

    assert first_difference(built(1, 0.1), built(1, 0.1)) is None
    one, other = built(1, 0.1), built(1, 0.2)
    assert one["object$optimizer$learning_rate"] != other["object$optimizer$learning_rate"]
    found = first_difference(one, built(2, 0.1))
    assert found is not None
    assert "units" in found[0]


def test_the_checkpoint_of_a_warm_start_is_compared_by_its_content(tmp_path: Path) -> None:
    def started(name: str, content: bytes) -> dict[str, Any]:
        directory = tmp_path / name
        directory.mkdir()
        (directory / "model.ckpt-5.index").write_bytes(content)
        (directory / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-5"\n')
        start = {"ckpt_to_initialize_from": str(directory)}
        return entries({"warm_start_from": start})

    one = started("one", b"a")
    assert first_difference(one, started("two", b"a")) is None
    found = first_difference(one, started("three", b"b"))
    assert found is not None
    assert found[0] == "object$warm_start_from$checkpoint"
