"""Tabular models, which learn their columns and the length of their training from the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.inputs import Factor, from_function, in_memory
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
    learned,
    prices,
    regressor,
    rows,
)

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.models.canned.table import Category, Number, Table
from tfdistribute.models.feature_columns import new_labels
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, export_savedmodel, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.model_directory import global_step
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train import train
from tfdistribute.training.train_and_evaluate import train_and_evaluate
from tfdistribute.training.variables import variable_names


@pytest.mark.versions
def test_rows_are_enough_for_a_regressor(tensorflow: Any, tmp_path: Path) -> None:
    described = regressor(tmp_path)
    history = train(described, SEED, rows())
    table = learned(tmp_path)
    assert global_step(str(tmp_path)) == table.end
    assert history.notes[0].startswith("The model is ")
    # The line through these rows is almost right, so the layers end after one cycle.
    assert len(table.losses) == 1
    assert sum(table.weights.values()) == pytest.approx(1)
    predicted = prices(described)
    residuals = predicted - PRICE
    assert np.sqrt(np.mean(residuals**2)) < 0.3 * PRICE.std()
    # Predictions stay within the responses of the training.
    far = prices(described, rows(x=100 * X))
    assert PRICE.min() <= far.min() <= far.max() <= PRICE.max()
    assert "stay between" in history.notes[0]
    free = regressor(tmp_path, clip=False)
    assert prices(free, rows(x=100 * X)).max() > PRICE.max()
    metrics = evaluate(described, RunSettings(), rows())
    assert metrics["average_loss"] == pytest.approx(np.mean(residuals**2), rel=1e-3)


@pytest.mark.parametrize("names", [None, ["no", "perhaps", "yes"], ["no", "yes"]])
def test_rows_are_enough_for_a_classifier(
    tensorflow: Any, tmp_path: Path, names: list[str] | None
) -> None:
    classes = np.digitize(X, [-0.5, 0.5]).astype("int32")
    if names is not None:
        classes = np.minimum(classes, len(names) - 1)
    response = classes if names is None else Factor(classes, names)
    described = model("tabular_classifier", tmp_path, epochs=40, **SMALL)
    train(described, SEED, rows(response))
    metrics = evaluate(described, RunSettings(), rows(response))
    assert metrics["accuracy"] > 0.9
    # Fewer classes in other rows change nothing.
    few = rows(np.zeros(ROWS, "int32") if names is None else Factor(0 * classes, names))
    assert evaluate(described, RunSettings(), few)["accuracy"] > 0.1
    labels = concatenate(predict(described, RunSettings(), rows(response)))["classes"]
    assert str(labels[0][0]) in ([str(each) for each in range(3)] if names is None else names)


def test_the_same_seed_trains_the_same_weights(tensorflow: Any, tmp_path: Path) -> None:
    # All of dropout, weight decay, embeddings and steps in a loop.
    directories = [tmp_path / each for each in ("one", "two", "three")]
    for directory in directories:
        train(regressor(directory, epochs=40), SEED, rows())
    found = [prices(regressor(directory)) for directory in directories]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_two_devices_train_the_same_weights_without_dropout(
    tensorflow: Any, tmp_path: Path
) -> None:
    one, two = (regressor(tmp_path / each, epochs=2, dropout=0) for each in ("one", "two"))
    train(one, SEED, rows())
    train(two, settings("mirrored", seed=3), rows())
    np.testing.assert_allclose(prices(two), prices(one), rtol=1e-4)


@pytest.mark.parametrize("part", ["linear", "layers", "trees"])
def test_a_part_alone_is_a_model(tensorflow: Any, tmp_path: Path, part: str) -> None:
    described = regressor(tmp_path, parts=[part])
    history = train(described, SEED, rows())
    table = learned(tmp_path)
    assert table.weights == {part: 1.0}
    assert table.validation is not None
    assert table.validation.losses == {part: table.validation.loss}
    assert "(weight 1), because its root mean squared error on 40 validation" in history.notes[0]
    assert global_step(str(tmp_path)) == table.end == history.steps[-1]
    names = variable_names(str(tmp_path))
    found = {"layers": "weight_1", "linear": "linear_bias", "trees": "trees/roots"}
    for name, variable in found.items():
        assert (f"tabular/{variable}" in names) == (name == part)
    residuals = prices(described) - PRICE
    assert np.sqrt(np.mean(residuals**2)) < 0.6 * PRICE.std()


def test_numbers_are_described_by_their_known_values() -> None:
    values = np.array([1, 2, 3, 4, 100, np.nan], "float32")
    number = Number.of(ColumnFacts("x", "float"), values)
    assert (number.median, number.scale, number.incomplete) == (3, 2, True)
    assert (number.mean, number.spread) == (22, pytest.approx(values[:5].std()))
    # Constant columns and columns without a value.
    assert Number.of(ColumnFacts("x", "float"), np.full(3, 7.0)).scale == 1
    assert Number.of(ColumnFacts("x", "float"), np.full(3, np.nan)).spread == 1
    days = Number.of(ColumnFacts("x", "date"), np.arange(30.0))
    assert days.periods == (7.0,)


def test_a_table_survives_as_text() -> None:
    number = Number("x", 1.5, 2.0, 1.0, 0.5, True, (7.0,))
    table = Table(
        (number,), (Category("c", ("a", "b")),), (0.0, 9.5), 256, 4, 100, 50, (2.0, 1.0), 1.5
    )
    assert Table.from_text(table.as_text()) == table


@pytest.mark.parametrize(
    "columns",
    [
        {"x": None, "z": None},
        {"z": None, "city": None},
        {"z": np.full(ROWS, np.nan, "float32")},
        {"z": np.full(ROWS, 7, "int32")},
        {"city": Factor(np.arange(ROWS), [f"level {each}" for each in range(ROWS)])},
        {"z": (1e6 + np.arange(ROWS)).astype("float32")},
        {"x": None, "z": None, "city": Factor(np.zeros(ROWS, int), ["only"])},
    ],
    ids=[
        *("only factors", "one number", "all missing", "constant", "levels for each row", "far"),
        "one level",
    ],
)
def test_unusual_columns_train(tensorflow: Any, tmp_path: Path, columns: dict[str, Any]) -> None:
    described = regressor(tmp_path, epochs=2)
    train(described, SEED, rows(**columns))
    assert np.all(np.isfinite(prices(described, rows(**columns))))


def test_5000_levels(tensorflow: Any, tmp_path: Path) -> None:
    many = Factor(np.arange(10_001) % 5000, [f"level {each}" for each in range(5000)])
    source = in_memory({"level": many, "y": (np.arange(10_001) % 2).astype("float32")})
    described = regressor(tmp_path, epochs=1, batch_size=512)
    train(described, SEED, source)
    assert learned(tmp_path).ensemble == 1
    assert np.all(np.isfinite(prices(described, source)))


def test_50_rows_and_a_class_that_the_validation_part_lacks(
    tensorflow: Any, tmp_path: Path
) -> None:
    few = np.arange(50)
    response = Factor(np.where(few == 7, 2, few % 2), ["a", "b", "rare"])
    source = in_memory({"x": X[:50], "y": response})
    described = model("tabular_classifier", tmp_path, **SMALL)
    train(described, SEED, source)
    found = concatenate(predict(described, RunSettings(), source))["probabilities"]
    assert found.shape == (50, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    assert learned(tmp_path).losses


def test_rows_of_weight_0_teach_every_member_nothing(tensorflow: Any, tmp_path: Path) -> None:
    weights = np.repeat([1, 0], [150, 50]).astype("float32")
    # The same responses in another order, so that their scale is the same.
    other = np.concatenate([PRICE[:150], PRICE[150:][::-1]])
    found = []
    for name, response in (("one", PRICE), ("two", other)):
        described = regressor(tmp_path / name, epochs=4, ensemble=3, weight_column="w")
        train(described, SEED, rows(response, w=weights))
        found.append(prices(described, rows(w=weights)))
    np.testing.assert_array_equal(found[0], found[1])


def test_heads_average_the_probabilities_of_members(tensorflow: Any) -> None:
    logits = RANDOM.normal(size=(4, 5, 3)).astype("float32")
    with tensorflow.Graph().as_default(), tensorflow.compat.v1.Session() as session:
        several = engine.heads.MeanMultiClassHead(n_classes=3)
        classes = session.run(tensorflow.nn.softmax(several.mean_logits(logits)))
        binary = engine.heads.MeanBinaryHead().mean_logits(logits[..., :1])
        share = session.run(tensorflow.sigmoid(binary))
    each = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(classes, each.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(share, (1 / (1 + np.exp(-logits[..., :1]))).mean(axis=0), rtol=1e-5)


def test_counts_are_predicted_by_a_poisson_model(tensorflow: Any, tmp_path: Path) -> None:
    counts = RANDOM.poisson(50 * np.exp(0.5 * X)).astype("float32")
    described = regressor(tmp_path, epochs=60, loss="poisson")
    train(described, SEED, rows(counts))
    predicted = prices(described)
    assert predicted.min() > 0
    assert np.corrcoef(np.log(predicted), X)[0, 1] > 0.95
    metrics = evaluate(described, RunSettings(), rows(counts))
    expected = np.mean(predicted - counts * np.log(predicted))
    assert metrics["average_loss"] == pytest.approx(expected, rel=1e-3)
    with pytest.raises(InputError, match=r"the response has the value -1, which is no count"):
        train(regressor(tmp_path / "other", loss="poisson"), SEED, rows(counts * 0 - 1))


def test_quantiles_are_ordered_and_hold_their_share(tensorflow: Any, tmp_path: Path) -> None:
    shares = np.array([0.1, 0.5, 0.9])
    described = regressor(tmp_path, epochs=60, quantiles=shares.tolist())
    train(described, SEED, rows())
    found = concatenate(predict(described, RunSettings(), rows()))["predictions"]
    assert np.all(np.diff(found, axis=1) >= 0)
    below = np.mean(PRICE[:, None] <= found, axis=0)
    np.testing.assert_allclose(below, shares, atol=0.15)
    above = PRICE[:, None] - found
    expected = np.mean(np.maximum(above * shares, above * (shares - 1)))
    metrics = evaluate(described, RunSettings(), rows())
    assert metrics["average_loss"] == pytest.approx(expected, rel=1e-3)
    with pytest.raises(ArgumentError, match="increasing numbers above 0 and below 1"):
        regressor(tmp_path, quantiles=[0.9, 0.1])


def test_a_new_label_is_missing_or_an_error(tensorflow: Any, tmp_path: Path) -> None:
    train(regressor(tmp_path, epochs=2), SEED, rows())
    other = rows(city=Factor(CITY, ["elsewhere", *CITIES[1:]]))
    gone = prices(regressor(tmp_path), rows(city=Factor(CITY, ["", *CITIES[1:]])))
    new_labels.take()
    for new_levels, noted in (("warn", {"city": ["elsewhere"]}), ("ignore", None)):
        described = regressor(tmp_path, new_levels=new_levels)
        np.testing.assert_array_equal(prices(described, other), gone)
        found = new_labels.take()
        assert (found and found["labels"]) == noted
    with pytest.raises(InputError, match='"elsewhere"'):
        prices(regressor(tmp_path, new_levels="error"), other)


def test_an_export_equals_the_predictions(tensorflow: Any, tmp_path: Path) -> None:
    described = regressor(tmp_path / "model", epochs=2)
    train(described, SEED, rows())
    exported = export_savedmodel(described, RunSettings(), str(tmp_path / "export"))
    example = tensorflow.train.Example()
    # The number z is missing, as in the first row.
    example.features.feature["x"].float_list.value.append(float(X[0]))
    example.features.feature["city"].bytes_list.value.append(CITIES[CITY[0]].encode())
    serve = tensorflow.saved_model.load(exported).signatures["predict"]
    answer = serve(examples=tensorflow.constant([example.SerializeToString()]))
    np.testing.assert_allclose(answer["predictions"][0], prices(described)[:1], rtol=1e-5)


def test_what_a_tabular_model_cannot_do_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="chooses the end of its training"):
        train(regressor(tmp_path), SEED, rows(), steps=10)
    with pytest.raises(ArgumentError, match="chooses the end of its training"):
        train(regressor(tmp_path), SEED, rows(), max_steps=10)
    specs = TrainSpec(rows(), 10), EvalSpec(rows())
    with pytest.raises(ArgumentError, match="does not train tabular models"):
        train_and_evaluate(regressor(tmp_path), SEED, *specs)
    with pytest.raises(InputError, match="learns its columns from a table"):
        train(regressor(tmp_path), SEED, from_function(lambda: None))
    with pytest.raises(InputError, match="`pair` has 2 values per row"):
        train(regressor(tmp_path), SEED, rows(pair=np.zeros((ROWS, 2), "float32")))
    with pytest.raises(InputError, match="holds strings, but a regressor predicts numbers"):
        train(regressor(tmp_path), SEED, rows(Factor(CITY, CITIES)))
    with pytest.raises(
        ArgumentError, match="`validation` must be a number of at least 0 and below 1"
    ):
        regressor(tmp_path, validation=1)
