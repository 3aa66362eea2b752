"""The length, the temperature and the rows of a tabular training."""

from __future__ import annotations

import importlib
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from support.inputs import Factor, in_memory
from support.models import model
from support.strategies import settings
from support.tabular import (
    CITIES,
    CITY,
    PRICE,
    RANDOM,
    ROWS,
    SEED,
    SMALL,
    X,
    judged,
    learned,
    prices,
    regressor,
    rows,
    write_table,
)

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input
from tfdistribute.inputs.held_rows import split
from tfdistribute.run_config import RunSettings
from tfdistribute.storage.buckets import arrow_module
from tfdistribute.training import concatenate, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.history import History
from tfdistribute.training.model_directory import SIGNATURE
from tfdistribute.training.tabular import choice, parts
from tfdistribute.training.tabular.linear import scores
from tfdistribute.training.train import train

verb = importlib.import_module("tfdistribute.training.train")


def test_one_row_is_too_few_to_choose_an_end(tensorflow: Any, tmp_path: Path) -> None:
    one = in_memory({"x": np.ones(1, "float32"), "y": np.ones(1, "float32")}, "y", batch_size=1)
    with pytest.raises(InputError, match="has one row") as caught:
        train(model("tabular_regressor", tmp_path), RunSettings(), one)
    assert "epochs = 20" in str(caught.value.remedy)


def choose(
    described: Any,
    monkeypatch: pytest.MonkeyPatch,
    losses: Any,
    noise: float = 0.0,
    others: tuple[str, ...] = (),
    response: Any = PRICE,
) -> tuple[Any, list[list[int]]]:
    """Choose by layers whose losses are given in squares of the spread, and return the steps at which they are judged.

    ``noise`` is the share by which the losses of rows differ.
    """
    following, trained = enumerate(losses), list[list[int]]()

    def train_to(training: Any) -> History:
        trained.append(judged(training))
        return History()

    def logits_of(candidate: Any, _: Any, source: Input) -> Any:
        truth = candidate.standardized(source.facts().values_of("y"))
        cycle, loss = next(following)
        # Each cycle is better for other rows.
        squares = loss * (1 + noise * (-1.0) ** (np.arange(len(truth)) + cycle))
        return (truth + np.sqrt(squares))[:, np.newaxis]

    monkeypatch.setattr(parts, "_read_variables", lambda _: {})
    described = replace(described, parts=(*others, "layers"), clip=False)
    chosen, start = choice.choose_end(described, SEED, rows(response), train_to, logits_of)
    assert start is not None and start.step == chosen.table.end
    return chosen.table, trained


def test_a_worse_cycle_ends_the_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, trained = choose(regressor(tmp_path), monkeypatch, [3.0, 4.0, 1.0])
    spread = np.var(PRICE.astype(np.float64))
    np.testing.assert_allclose(np.array(table.losses) / spread, [3, 4])
    # As many epochs on 80 percent of the rows.
    whole: Any = regressor(tmp_path).complete_from_input(rows().facts())
    assert table.steps == math.ceil(0.8 * whole.table.steps)
    ends = engine.tabular.ends_of_cycles(table.steps)
    assert trained == [ends[:2]]
    assert table.end == ends[0]


@pytest.mark.parametrize(
    ("losses", "noise", "judged_cycles"),
    [
        ((4.0, 3.9), 0.0, 2),
        ((4.0, 3.0, 2.5), 0.0, 3),
        # By chance, 40 rows may differ by more than a tenth.
        ((4.0, 3.6), 0.9, 2),
        ((4.0, 3.6), 0.03, 3),
        # Nothing is left to learn.
        ((1e-8,), 0.0, 1),
    ],
)
def test_the_choice_ends_after_a_cycle_that_is_hardly_better(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    losses: tuple[float, ...],
    noise: float,
    judged_cycles: int,
) -> None:
    _, trained = choose(regressor(tmp_path), monkeypatch, (*losses, 9.0), noise)
    assert len(trained[0]) == judged_cycles


def test_layers_that_the_model_does_not_need_learn_for_one_cycle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, trained = choose(regressor(tmp_path), monkeypatch, [1e4, 1e-2], others=("linear",))
    assert len(trained[0]) == 1
    assert table.weights == {"linear": 1.0}


def test_layers_of_quantiles_count_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = regressor(tmp_path, quantiles=[0.5])
    response = np.random.default_rng(1).permutation(PRICE)
    table, trained = choose(
        described, monkeypatch, [1e4, 1.0, 1e-2], others=("linear",), response=response
    )
    assert len(trained[0]) == 3
    assert table.weights == {"layers": 1.0}


def test_a_cycle_counts_by_what_the_model_gains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Beside a linear model of a response that nothing explains, layers have little weight.
    response = np.random.default_rng(1).permutation(PRICE)
    losses, cycles = (8.0, 7.0, 1e-9), list[int]()
    for others in ((), ("linear",)):
        _, trained = choose(
            regressor(tmp_path), monkeypatch, losses, others=others, response=response
        )
        cycles.append(len(trained[0]))
    assert cycles == [3, 2]


@pytest.mark.parametrize(
    ("count", "batch_size", "epochs", "members"),
    [
        (100, 100, 128, 2),
        (4_001, 256, 128, 2),
        (8_192, 256, 64, 2),
        (2**15, 256, 16, 1),
        (2**17, 512, 8, 1),
        (300_000, 1024, 8, 1),
    ],
)
def test_large_tables_train_fewer_networks_for_fewer_epochs_in_larger_batches(
    tmp_path: Path, count: int, batch_size: int, epochs: int, members: int
) -> None:
    described = model("tabular_regressor", tmp_path)
    columns = {"x": np.arange(count, dtype="float32"), "y": np.zeros(count, "float32")}
    table = described.complete_from_input(in_memory(columns).facts()).table
    assert table.batch_size == batch_size
    assert table.ensemble == members
    steps = math.ceil(count / batch_size) * epochs
    assert table.steps == steps


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_files_train_the_model_of_a_data_frame(tensorflow: Any, tmp_path: Path, kind: str) -> None:
    gone = np.arange(ROWS) % 11 == 3
    days = np.datetime64("2020-01-01") + np.arange(ROWS)
    table = arrow_module("pyarrow").table(
        {
            "x": [None if each else float(x) for each, x in zip(gone, X, strict=True)],
            "count": [None if each else int(city) for each, city in zip(gone, CITY, strict=True)],
            "city": [None if each else CITIES[n] for each, n in zip(gone, CITY, strict=True)],
            "far": [None if each else bool(x > 0) for each, x in zip(gone, X, strict=True)],
            "day": [None if each else day.item() for each, day in zip(gone, days, strict=True)],
            "y": PRICE,
        }
    )
    files = read(
        Input, {"kind": kind, "paths": [write_table(table, kind, tmp_path)], "response": "y"}
    )
    # As R sends a data frame with missing values to a tabular model.
    cities, flags = sorted([*CITIES, ""]), ["FALSE", "TRUE", ""]
    codes = np.array([cities.index(CITIES[each]) for each in CITY])
    here = rows(
        z=None,
        x=np.where(gone, np.nan, X).astype("float32"),
        count=np.where(gone, np.nan, CITY).astype("float32"),
        city=Factor(np.where(gone, cities.index(""), codes), cities),
        far=Factor(np.where(gone, 2, X > 0), flags),
        day=np.where(gone, np.datetime64("NaT"), days),
    )
    found = []
    for name, source in (("here", here), ("files", files)):
        described = regressor(tmp_path / name, epochs=4)
        train(described, SEED, source)
        found += [prices(described, here), prices(described, files)]
        assert evaluate(described, RunSettings(), files)["average_loss"] > 0
    for each in found[1:]:
        np.testing.assert_allclose(each, found[0], rtol=1e-5)


def test_a_time_limit_ends_the_choice_after_its_first_part(tensorflow: Any, tmp_path: Path) -> None:
    described = regressor(tmp_path, time_limit_s=1e-9)
    chosen, start = choice.choose_end(described, SEED, rows(), judged, None)
    assert start is not None and start.step == chosen.table.end
    assert chosen.table.weights == {"linear": 1.0}
    assert chosen.table.losses == ()


def test_the_validation_part_has_the_same_share_of_each_class() -> None:
    classes = np.repeat(["a", "b", "c"], [150, 49, 1])
    trained, held = split(200, 0.2, 7, classes)
    assert sorted([*trained, *held]) == list(range(200))
    # The only row of a class trains.
    assert [np.sum(classes[held] == each) for each in "abc"] == [30, 10, 0]
    assert split(200, 0.2, 7, classes)[1].tolist() == held.tolist()
    assert split(200, 0.2, 8, classes)[1].tolist() != held.tolist()
    assert len(split(2, 0.1, 1)[1]) == 1


@pytest.mark.parametrize("classes", [2, 3])
def test_the_temperature_has_the_least_loss_on_the_validation_rows(
    tensorflow: Any, tmp_path: Path, classes: int
) -> None:
    # Labels that the features do not explain, of which a model without regularization is too sure.
    labels = RANDOM.integers(0, classes, ROWS).astype("int32")
    fields = {**SMALL, "dropout": 0, "weight_decay": 0, "parts": ["layers"]}
    described = model("tabular_classifier", tmp_path / "found", **fields)
    history = train(described, SEED, rows(labels))
    table = learned(tmp_path / "found")
    assert table.temperature is not None and table.temperature > 1
    assert f"temperature of its logits is {table.temperature:.3g}" in history.notes[0]
    # Softened probabilities are those of the same model at temperature 1.
    soft, sure = (
        np.log(concatenate(predict(each, RunSettings(), rows(labels)))["probabilities"])
        for each in (described, at_temperature(described, 1.0))
    )
    centered = [each - each.mean(axis=1, keepdims=True) for each in (soft, sure)]
    np.testing.assert_allclose(centered[0] * table.temperature, centered[1], rtol=1e-3, atol=1e-4)


def at_temperature(described: Any, temperature: float | None) -> Any:
    """Return the trained model in a copy of its directory, with another temperature."""
    copied = f"{described.model_dir}-at-{temperature}"
    shutil.copytree(described.model_dir, copied)
    noted = Path(copied, SIGNATURE)
    signed = json.loads(noted.read_text(encoding="utf-8"))
    signed["model"]["learned"]["temperature"] = temperature
    noted.write_text(json.dumps(signed), encoding="utf-8")
    return replace(described, model_dir=copied)


def test_a_time_limit_shortens_a_training_whose_end_is_not_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(choice.time, "monotonic", lambda: now[0])
    trained: list[int] = []

    def slow(training: Any) -> None:
        # It starts in 2 seconds, and a step takes an eighth of one.
        (judgment,) = training.train.hooks
        before = 0
        now[0] += 2
        for step in judgment.ends:
            now[0] += (step - before) / 8
            before = step
            if judgment.judge(None, ""):
                break
        trained.append(before)

    def chosen(limit_s: float | None, **fields: Any) -> Any:
        described = regressor(tmp_path, time_limit_s=limit_s, **fields)
        return choice.choose_end(described, SEED, rows(), slow, evaluate)[0].table

    whole = 20 * math.ceil(ROWS / SMALL["batch_size"])
    # Half a second is timed: from step 1 to step 8. The two starts take 2 seconds each.
    table = chosen(10, epochs=20)
    assert trained == [8]
    assert table.steps == table.end == 8 * (10 - 2.125 - 7 / 8 - 2.125) == 39
    # A limit below the time of the starts leaves the steps that were timed.
    assert chosen(1, epochs=20).end == 2
    assert chosen(100, epochs=20).end == chosen(None, epochs=20).end == whole
    assert chosen(10, validation=0).end == 39
    short = regressor(tmp_path, epochs=20, time_limit_s=10)
    found, start = choice.choose_end(short, SEED, rows(), slow, evaluate)
    note = choice.training_note(found, start is not None)
    assert "39 steps of 64 rows, as many as `time_limit_s` allows." in note


@pytest.mark.parametrize(
    ("kind", "fields", "strategy"),
    [
        ("tabular_regressor", {"ensemble": 2}, "mirrored"),
        ("tabular_regressor", {"quantiles": [0.1, 0.9]}, "none"),
        ("tabular_regressor", {"loss": "poisson"}, "none"),
        ("tabular_classifier", {}, "none"),
    ],
)
def test_the_session_that_trains_predicts_the_rows_that_judge(
    tensorflow: Any, tmp_path: Path, kind: str, fields: dict[str, Any], strategy: str
) -> None:
    response = PRICE if kind == "tabular_regressor" else Factor(CITY % 3, CITIES[:3])
    described = model(kind, tmp_path / "m", parts=["layers"], dropout=0.5, **SMALL, **fields)
    made = parts.Choice.choose
    seen: list[tuple[Any, Any]] = []

    def choose(own: Any) -> Any:
        def run(trials: Any, candidate: Any, source: Input, judgment: Any) -> History:
            def judge(logits: Any, directory: str) -> bool:
                judged_model = replace(candidate, model_dir=directory)
                with tensorflow.Graph().as_default():
                    expected = verb._logits(judged_model, trials.settings, own._held)
                seen.append((scores(candidate, logits), expected))
                return judgment.judge(logits, directory) or len(seen) == 2

            return original(trials, candidate, source, replace(judgment, judge=judge))

        with mock.patch.object(parts.Trials, "run", run):
            return made(own)

    original = parts.Trials.run
    with mock.patch.object(parts.Choice, "choose", choose):
        train(described, settings(strategy, seed=3), rows(response))
    assert len(seen) == 2
    for found, expected in seen:
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert np.ptp(seen[1][0]) > 0
