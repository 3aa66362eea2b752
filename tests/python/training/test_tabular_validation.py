"""Rows that choose the end of a tabular training in place of a share of its own rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs import in_memory
from support.models import model
from support.strategies import settings
from support.tabular import judged

from tfdistribute import engine
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.inputs import Input
from tfdistribute.models.canned import table
from tfdistribute.models.canned.table import Table
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.history import History
from tfdistribute.training.model_directory import ModelDirectory
from tfdistribute.training.tabular import choice, parts
from tfdistribute.training.train import train
from tfdistribute.training.variables import variable_value

ROWS = 96
RANDOM = np.random.default_rng(6)
X = RANDOM.normal(size=(2 * ROWS, 2)).astype("float32")
Y = (10 + X[:, 0] * X[:, 1] + 0.1 * RANDOM.normal(size=2 * ROWS)).astype("float32")
SEED = RunSettings(seed=3)


def rows(part: slice, **columns: Any) -> Input:
    return in_memory({"a": X[part, 0], "b": X[part, 1], "y": Y[part], **columns})


TRAINING, VALIDATION = rows(slice(None, ROWS)), rows(slice(ROWS, None))


def regressor(directory: Path, **fields: Any) -> Any:
    small = {"hidden_units": [8], "batch_size": ROWS, "dropout": 0.0, "ensemble": 1}
    return model("tabular_regressor", directory, **{**small, **fields})


def learned(directory: Path) -> Table:
    structure = ModelDirectory(str(directory)).structure
    found = regressor(directory).complete_from_signature(structure)
    assert found.table is not None
    return found.table


def test_the_rows_of_a_validation_choose_and_all_others_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[Any] = []
    sources: list[Any] = []

    def train_to(training: Any, **_: Any) -> History:
        trained.append(training.train.input.facts().rows)
        judged(training)
        return History()

    def logits_of(model: Any, _settings: Any, source: Input) -> Any:
        sources.append(source.facts().rows)
        truth = model.standardized(source.facts().values_of("y"))
        return (truth + [0.2, 0.3][len(sources) - 1])[:, np.newaxis]

    monkeypatch.setattr(parts, "_read_variables", lambda _: {})
    described = regressor(tmp_path, parts=["layers"], clip=False)
    validation = VALIDATION.subset(np.arange(90))
    chosen, start = choice.choose_end(
        described, SEED, TRAINING, train_to, logits_of, validation=validation
    )
    assert trained == [ROWS]
    assert sources == [90, 90]
    assert start is not None
    assert start.step == engine.tabular.ends_of_cycles(chosen.table.steps)[0]


@pytest.mark.versions
def test_two_devices_choose_the_same_end_and_train_the_same_weights(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rounding grows with the steps and with the rate.
    monkeypatch.setattr(table, "_MOST_EPOCHS", 15)
    found = []
    for name, config in (("one", SEED), ("two", settings("mirrored", seed=3))):
        history = train(
            regressor(tmp_path / name, learning_rate=0.02, parts=["layers"]),
            *(config, TRAINING),
            validation=VALIDATION,
        )
        assert "on 96 validation rows is" in history.notes[0]
        found.append(learned(tmp_path / name))
    assert found[0].end == found[1].end
    np.testing.assert_allclose(found[1].losses, found[0].losses, rtol=1e-3)
    # The model itself trained as the one that was judged.
    loss = evaluate(regressor(tmp_path / "one"), RunSettings(), VALIDATION)["average_loss"]
    assert loss == pytest.approx(min(found[0].losses), rel=1e-4)
    weights = [variable_value(str(tmp_path / each), "tabular/weight_1") for each in ("one", "two")]
    np.testing.assert_allclose(weights[1], weights[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("fields", [{"epochs": 3}, {"validation": 0}])
def test_a_model_that_chooses_no_end_takes_no_validation(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    with pytest.raises(ArgumentError, match="this is a model with `"):
        train(regressor(tmp_path, **fields), SEED, TRAINING, validation=VALIDATION)


def test_a_validation_has_the_columns_of_the_training(tensorflow: Any, tmp_path: Path) -> None:
    other = in_memory({"a": X[:9, 0], "y": Y[:9]})
    with pytest.raises(InputError, match=r'The feature "b", .* is not in the input'):
        train(regressor(tmp_path), SEED, TRAINING, validation=other)
