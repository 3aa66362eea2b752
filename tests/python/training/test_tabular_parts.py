"""Parts of tabular models: their losses, their weighted mean, and what they learn, against NumPy's own functions."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models import model
from support.tabular import CITIES, CITY, PRICE, ROWS, SEED, SMALL, X, learned, regressor, rows

from tfdistribute.errors import ArgumentError, UnsupportedError
from tfdistribute.models.canned import table
from tfdistribute.models.canned.validation import Judges, log_probabilities, mixture, row_losses
from tfdistribute.run_config import RunSettings
from tfdistribute.training import as_keras_model, concatenate, export_savedmodel, predict
from tfdistribute.training.model_directory import SIGNATURE, global_step
from tfdistribute.training.tabular import parts, trees
from tfdistribute.training.tabular.linear import Design, fit
from tfdistribute.training.train import train
from tfdistribute.training.variables import variable_value

RANDOM = np.random.default_rng(8)
WEIGHTS = {"linear": 0.2, "layers": 0.5, "trees": 0.3}
KINDS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "numbers": ("predictions", PRICE, {"clip": False}),
    "counts": ("predictions", np.round(np.exp(X)), {"clip": False, "loss": "poisson"}),
    "two classes": ("logits", (X > 0).astype("int32"), {}),
    "three classes": ("logits", np.digitize(X, [-0.5, 0.5]).astype("int32"), {}),
}


def with_weights(described: Any, weights: dict[str, float]) -> Any:
    """Return the trained model in a copy of its directory, with other weights."""
    copied = f"{described.model_dir}-{'-'.join(weights)}"
    shutil.copytree(described.model_dir, copied)
    signed = json.loads(Path(copied, SIGNATURE).read_text(encoding="utf-8"))
    signed["model"]["learned"] |= {"weights": weights, "temperature": None}
    Path(copied, SIGNATURE).write_text(json.dumps(signed), encoding="utf-8")
    return replace(described, model_dir=copied)


@pytest.fixture
def mean_of_all(tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(parts, "mixture", lambda *_, **__: WEIGHTS)
    monkeypatch.setattr(table, "_MOST_EPOCHS", 12)

    def make(kind: str) -> Any:
        output, response, fields = KINDS[kind]
        name = "tabular_regressor" if output == "predictions" else "tabular_classifier"
        described = model(name, tmp_path / "model", **SMALL, **fields)
        train(described, SEED, rows(response))
        return described

    return make


def outputs(described: Any, kind: str) -> Any:
    found = concatenate(predict(described, RunSettings(), rows()))[KINDS[kind][0]]
    return np.log(found) if kind == "counts" else found


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_the_weighted_mean_of_its_parts(mean_of_all: Any, kind: str) -> None:
    described = mean_of_all(kind)
    alone = {part: outputs(with_weights(described, {part: 1.0}), kind) for part in WEIGHTS}
    mean = np.sum([weight * alone[part] for part, weight in WEIGHTS.items()], axis=0)
    found = outputs(with_weights(described, WEIGHTS), kind)
    np.testing.assert_allclose(found, mean, rtol=1e-4, atol=1e-4)
    assert all(np.ptp(each) > 0 for each in alone.values())


def test_a_model_with_trees_is_exported_but_not_to_keras(
    tensorflow: Any, tmp_path: Path, mean_of_all: Any
) -> None:
    described = mean_of_all("numbers")
    exported = export_savedmodel(described, RunSettings(), str(tmp_path / "export"))
    serve = tensorflow.saved_model.load(exported).signatures["predict"]
    example = tensorflow.train.Example()
    example.features.feature["x"].float_list.value.append(float(X[0]))
    example.features.feature["city"].bytes_list.value.append(CITIES[CITY[0]].encode())
    answer = serve(examples=tensorflow.constant([example.SerializeToString()]))
    np.testing.assert_allclose(
        answer["predictions"][0], outputs(described, "numbers")[0], rtol=1e-5
    )
    with pytest.raises(UnsupportedError, match="has boosted trees") as caught:
        as_keras_model(described)
    assert 'tabular_regressor(parts = c("linear", "layers"))' in str(caught.value.remedy)


def test_layers_learn_again_and_the_other_parts_stay(tmp_path: Path, mean_of_all: Any) -> None:
    described = mean_of_all("numbers")
    end = global_step(described.model_dir)
    names = ["tabular/trees/threshold", "tabular/linear_weights", "tabular/weight_1"]
    before = [variable_value(described.model_dir, name) for name in names]
    train(replace(described, epochs=1), SEED, rows())
    after = [variable_value(described.model_dir, name) for name in names]
    assert [np.array_equal(*each) for each in zip(before, after, strict=True)] == [1, 1, 0]
    assert global_step(described.model_dir) == end + 4


@pytest.mark.parametrize("part", ["linear", "trees"])
def test_a_model_without_layers_learns_again(tensorflow: Any, tmp_path: Path, part: str) -> None:
    described = regressor(tmp_path, parts=[part])
    train(described, SEED, rows())
    first = global_step(str(tmp_path))
    history = train(described, SEED, rows(np.flip(PRICE)))
    assert global_step(str(tmp_path)) == history.steps[-1] > first
    assert "learned again from all rows, without layers" in history.notes[0]
    # It is the model that the other rows teach. So few rows teach other numbers of trees other predictions.
    found, wanted = outputs(described, "numbers")[:, 0], np.flip(PRICE)
    if part == "linear":
        other = regressor(tmp_path / "other", parts=[part], validation=0.2)
        train(other, SEED, rows(np.flip(PRICE)))
        wanted = outputs(other, "numbers")[:, 0]
    assert np.corrcoef(found, wanted)[0, 1] > 0.9


def test_without_ydf_a_model_has_no_trees(
    tensorflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ydf", None)
    history = train(regressor(tmp_path, parts=["linear", "trees"]), SEED, rows())
    assert learned(tmp_path).weights == {"linear": 1.0}
    assert "run install_tfdistribute(trees = TRUE)" in history.notes[0]
    assert not trees.has_library()


def test_parts_have_names(tmp_path: Path) -> None:
    for wrong in (["layers", "trunk"], ["layers", "layers"]):
        with pytest.raises(ArgumentError, match="`parts` must be some of"):
            regressor(tmp_path, parts=wrong)
    with pytest.raises(ArgumentError, match="has no other part"):
        regressor(tmp_path, parts=["trees"], epochs=3)


class _Numbers:
    row_loss = ("squared_error", None)

    def predicted(self, logits: Any) -> Any:
        return logits


def test_weights_have_the_least_loss_and_leave_out_what_gains_by_chance() -> None:
    truth = RANDOM.normal(size=2000)
    errors = RANDOM.normal(size=(3, 2000))
    judges = Judges(_Numbers(), truth, None)
    alone = {name: (truth + each)[:, None] for name, each in zip("abc", errors, strict=True)}
    # Of independent errors, all have the same weight, and of the same errors, one has all.
    found = mixture(judges, alone, 3)
    assert sorted(found) == list("abc")
    assert max(abs(weight - 1 / 3) for weight in found.values()) < 0.1
    assert mixture(judges, {"a": alone["a"], "b": alone["a"] + 1e-3}, 2) == {"a": 1.0}
    assert mixture(judges, alone, 1).values() == {1.0} or len(mixture(judges, alone, 1)) == 1


def test_losses_of_rows() -> None:
    logits, classes = RANDOM.normal(size=(6, 3)), np.array([0, 1, 2, 2, 1, 0])
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    wanted = -np.log(shares[np.arange(6), classes])
    np.testing.assert_allclose(row_losses("log_loss", log_probabilities(logits), classes), wanted)
    two = log_probabilities(logits[:, :1])
    np.testing.assert_allclose(np.exp(two[:, 1]), 1 / (1 + np.exp(-logits[:, 0])))
    truth, predictions = np.array([0.0, 3.0]), np.array([[2.0], [5.0]])
    np.testing.assert_allclose(row_losses("squared_error", predictions, truth), [4, 4])
    np.testing.assert_allclose(row_losses("poisson", predictions, truth), [2, 5 - 3 * np.log(5)])
    both = np.array([[1.0, 2.0], [2.0, 4.0]])
    found = row_losses("quantile", both, truth, [0.25, 0.5])
    np.testing.assert_allclose(found, [(0.75 * 1 + 0.5 * 2) / 2, (0.25 * 1 + 0.5 * 1) / 2])
    # Responses of two columns.
    found = row_losses("squared_error", both, np.array([[0.0, 0.0], [2.0, 3.0]]))
    np.testing.assert_allclose(found, [(1 + 4) / 2, 1 / 2])


def test_the_linear_part_is_ridge_regression_with_weights() -> None:
    described = model("tabular_regressor").complete_from_input(rows().facts())
    assert described.table is not None
    design = Design.of(described.table, described.table.matrix(rows().facts()))
    weights, response, penalty = RANDOM.uniform(1, 3, ROWS), RANDOM.normal(size=ROWS), 0.03
    found = fit(described, design, response, weights, penalty).weights[:, 0]
    # The same model by equations, with columns of zeros and ones.
    labels = np.arange(12) + design.count - 13
    indicators = (design.places == labels).astype(float)
    matrix = np.concatenate([np.ones((ROWS, 1)), design.numbers, indicators], axis=1)
    shares = weights / weights.sum()
    normal = 2 * (matrix.T * shares) @ matrix + penalty * np.eye(matrix.shape[1])
    normal[0, 0] -= penalty
    wanted = np.linalg.solve(normal, 2 * (matrix.T * shares) @ response)
    np.testing.assert_allclose(matrix @ found[:-1], matrix @ wanted, atol=0.01)
    assert found[-1] == 0


def test_hooks_that_do_not_act_are_told(tensorflow: Any, tmp_path: Path) -> None:
    hook = tensorflow.compat.v1.train.SessionRunHook()
    found = train(regressor(tmp_path, parts=("linear",)), SEED, rows(), hooks=[hook])
    assert any("Hooks do not act" in text for text in found.notes)


def test_trees_alone_are_refused_where_there_are_none(tensorflow: Any, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match='`parts` is "trees"'):
        train(regressor(tmp_path, parts=("trees",), quantiles=(0.1, 0.9)), SEED, rows())
