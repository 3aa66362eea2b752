"""Numbers with an offset: no number of the data is rounded to 32 bits before a mean is subtracted.

Rows with an offset must give the results of the same rows without it. Offset and rows add up exactly in 64 bits, so
only the computed means and standard deviations differ, by about 1e-7 of a spread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.inputs import in_memory
from support.models import model, optimizer
from support.onnx_runtime import computed, needs_onnx
from support.sampling import sampled

from tfdistribute.descriptions import read
from tfdistribute.inputs import Input
from tfdistribute.run_config import RunSettings
from tfdistribute.training import (
    as_keras_model,
    concatenate,
    evaluate,
    export_savedmodel,
    predict,
    train,
)

ROWS = 96
OFFSETS = (0.0, 1e6, 1e9, 1.7e9)
_RANDOM = np.random.default_rng(8)
# Numbers of 10 bits after the point.
X = np.round(_RANDOM.uniform(size=ROWS) * 2**10) / 2**10
Y = 3 * X + np.round(_RANDOM.normal(size=ROWS) * 2**8) / 2**10
# A tenth of the rows has a fill value, far from the others.
FILLED = np.where(np.arange(ROWS) % 10, X, -(2.0**14))
WEIGHTS = np.resize([1.0, 2.0, 3.0, 4.0], ROWS)
SEED = RunSettings(seed=3)
CLOSE: dict[str, Any] = {"rtol": 0, "atol": 2e-5}

ADAM = optimizer("Adam", learning_rate=0.1)


def _column(offset: float) -> dict[str, Any]:
    center, scale = float((X + offset).mean()), float((X + offset).std())
    return {"kind": "numeric", "key": "x", "center": [center], "scale": [scale]}


def _layers(offset: float, prefix: str = "") -> dict[str, Any]:
    fields = {
        "feature_columns": [_column(offset)],
        "hidden_units": [4],
        "optimizer": ADAM,
    }
    return {prefix + name: each for name, each in fields.items()}


def _linear(offset: float, prefix: str = "") -> dict[str, Any]:
    return {f"{prefix}feature_columns": [_column(offset)], f"{prefix}optimizer": ADAM}


def _wide_and_deep(offset: float) -> dict[str, Any]:
    return {**_linear(offset, "linear_"), **_layers(offset, "dnn_")}


SMALL: dict[str, Any] = {"hidden_units": [8], "batch_size": 48, "ensemble": 2}
# Kinds of models, and their fields for an offset of the feature.
MODELS: dict[str, Callable[[float], dict[str, Any]]] = {
    "linear_regressor": _linear,
    "dnn_regressor": _layers,
    "dnn_linear_combined_regressor": _wide_and_deep,
    "baseline_regressor": lambda _: {"optimizer": ADAM},
    "tabular_regressor": lambda _: {**SMALL, "epochs": 8},
    "linear_classifier": _linear,
    "dnn_classifier": _layers,
    "dnn_linear_combined_classifier": _wide_and_deep,
    "tabular_classifier": lambda _: {**SMALL, "epochs": 8},
}
# Of tabular models; one chooses its parts, and one has fill values among its numbers. Over hundreds of steps, layers
# turn a difference of 1e-7 into 1e-3, so layers here take few.
FURTHER: dict[str, dict[str, Any]] = {
    "filled": {},
    "quantiles": {"quantiles": [0.1, 0.9]},
    "chosen": {"epochs": None, "parts": ["linear"]},
}


def _x(name: str) -> Any:
    return FILLED if name == "filled" else X


def _columns(name: str, of_x: float, of_y: float, **more: Any) -> dict[str, Any]:
    response = (Y.mean() < Y).astype(float) if "classifier" in name else Y + of_y
    return {"x": _x(name) + of_x, "y": response, **more}


def _in_memory(_folder: Path, columns: dict[str, Any], **fields: Any) -> Input:
    return in_memory(columns, **fields)


def _parquet(folder: Path, columns: dict[str, Any], **fields: Any) -> Input:
    path = folder / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    return read(Input, {"kind": "parquet", "paths": str(path), "response": "y", **fields})


def _csv(folder: Path, columns: dict[str, Any], **fields: Any) -> Input:
    path = folder / "rows.csv"
    rows = zip(*(each.tolist() for each in columns.values()), strict=True)
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return read(Input, {"kind": "csv", "paths": str(path), "response": "y", **fields})


SOURCES: dict[str, Callable[..., Input]] = {
    "memory": _in_memory,
    "parquet": _parquet,
    "csv": _csv,
}


Train = Callable[..., Any]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Train:
    """Train models of rows with offsets, each of them once."""
    return functools.cache(functools.partial(_trained, tmp_path_factory))


def _trained(
    folders: pytest.TempPathFactory, name: str, of_x: float, of_y: float, source: str = "memory"
) -> Any:
    kind = name if name in MODELS else "tabular_regressor"
    folder = folders.mktemp(name)
    fields = {**MODELS[kind](of_x), **FURTHER.get(name, {})}
    if kind.endswith("regressor"):
        fields["standardize_response"] = True
    described = model(kind, folder / "model", **fields)
    epochs = {} if kind.startswith("tabular") else {"epochs": 8, "batch_size": 48}
    columns = _columns(name, of_x, of_y)
    train(described, SEED, SOURCES[source](folder, columns, shuffle=False, **epochs))
    return described


def _predicted(described: Any, source: Input) -> dict[str, Any]:
    found = concatenate(predict(described, RunSettings(), source))
    return {name: each for name, each in found.items() if each.dtype.kind == "f"}


def _plain(outputs: dict[str, Any], described: Any, of_y: float) -> dict[str, Any]:
    """Return predictions without the offset of the response."""
    shift = of_y if "regressor" in described.kind else 0.0
    return {name: np.asarray(each, np.float64) - shift for name, each in outputs.items()}


def _expected(name: str, trained: Train) -> dict[str, Any]:
    described = trained(name, 0.0, 0.0)
    found = _predicted(described, in_memory(_columns(name, 0.0, 0.0)))
    assert all(np.ptp(each) > 0.1 or "baseline" in name for each in found.values())
    return found


def _check(found: dict[str, Any], expected: dict[str, Any], minimum: int = 1) -> None:
    common = found.keys() & expected.keys()
    assert len(common) >= minimum
    for name in common:
        np.testing.assert_allclose(found[name], expected[name], **CLOSE, err_msg=name)


def _cases() -> Iterator[tuple[str, float, float]]:
    for name in [*MODELS, *FURTHER]:
        for offset in OFFSETS[1:]:
            if not name.startswith("baseline"):
                yield name, offset, 0.0
            if not name.endswith("classifier"):
                yield name, 0.0, offset


# One large offset of each: the feature, and the response.
SAMPLE = [
    ("tabular_regressor", 1.7e9, 0.0),
    ("linear_regressor", 0.0, 1.7e9),
    ("dnn_classifier", 1e6, 0.0),
    ("filled", 1e6, 0.0),
]
every_offset = sampled(("name", "of_x", "of_y"), _cases(), check=SAMPLE)


@every_offset
def test_predictions_keep_the_digits_of_every_source(
    tensorflow: Any, trained: Train, tmp_path: Path, name: str, of_x: float, of_y: float
) -> None:
    described, expected = trained(name, of_x, of_y), _expected(name, trained)
    columns = _columns(name, of_x, of_y)
    for make in SOURCES.values():
        found = _predicted(described, make(tmp_path, columns))
        _check(_plain(found, described, of_y), expected)


@every_offset
def test_evaluations_keep_the_digits_of_every_source(
    tensorflow: Any, trained: Train, tmp_path: Path, name: str, of_x: float, of_y: float
) -> None:
    described, plain = trained(name, of_x, of_y), trained(name, 0.0, 0.0)
    wanted = evaluate(plain, RunSettings(), in_memory(_columns(name, 0.0, 0.0)))
    columns = _columns(name, of_x, of_y)
    for make in SOURCES.values():
        found = evaluate(described, RunSettings(), make(tmp_path, columns))
        shifted = {"label/mean", "prediction/mean"} if "regressor" in described.kind else set()
        for metric, value in wanted.items():
            expected = value + of_y * (metric in shifted)
            assert found[metric] == pytest.approx(expected, rel=1e-13, abs=2e-5), metric


@every_offset
def test_conversions_keep_the_digits(
    tensorflow: Any, trained: Train, tmp_path: Path, name: str, of_x: float, of_y: float
) -> None:
    described, expected = trained(name, of_x, of_y), _expected(name, trained)
    columns = {"x": _x(name) + of_x}
    keras_model = as_keras_model(described)
    names = list(keras_model.input)
    inputs = {
        each: tensorflow.constant(columns["x"][:, None], keras_model.input[each].dtype)
        for each in names
    }
    outputs = {each: value.numpy() for each, value in keras_model(inputs).items()}
    _check(_plain(outputs, described, of_y), expected)
    if name.startswith("baseline"):
        # Its requests are examples, and hold no numbers.
        return
    path = export_savedmodel(
        described,
        RunSettings(),
        str(tmp_path / "saved"),
        request=in_memory(columns, response=None),
    )
    serve = tensorflow.saved_model.load(path).signatures["predict"]
    (spec,) = serve.structured_input_signature[1].values()
    served = serve(x=tensorflow.constant(columns["x"], spec.dtype))
    found = {each: value.numpy() for each, value in served.items()}
    _check(_plain(found, described, of_y), expected)


@needs_onnx
@every_offset
def test_onnx_keeps_the_digits(
    tensorflow: Any, trained: Train, tmp_path: Path, name: str, of_x: float, of_y: float
) -> None:
    described, expected = trained(name, of_x, of_y), _expected(name, trained)
    path = export_savedmodel(described, RunSettings(), str(tmp_path / "onnx"), format="onnx")
    found = computed(path, {"x": (_x(name) + of_x)[:, None]})
    _check(_plain(found, described, of_y), expected)


@sampled(
    ("name", "source"),
    [
        (name, source)
        for name in ("tabular_regressor", "tabular_classifier", "chosen")
        for source in ("parquet", "csv")
    ],
    check=[("tabular_regressor", "csv")],
)
def test_trainings_keep_the_digits_of_files(
    tensorflow: Any, trained: Train, name: str, source: str
) -> None:
    of_y = 0.0 if "classifier" in name else 1.7e9
    described = trained(name, 1.7e9, of_y, source)
    found = _predicted(described, in_memory(_columns(name, 1.7e9, of_y)))
    _check(_plain(found, described, of_y), _expected(name, trained))


@sampled("offset", OFFSETS, check=[1.7e9])
def test_weights_with_an_offset_weigh_the_metrics(
    tensorflow: Any, tmp_path: Path, offset: float
) -> None:
    weights, of_y = WEIGHTS + offset, 1.7e9
    described = model(
        "linear_regressor",
        tmp_path / "model",
        **_linear(0.0),
        weight_column="w",
        standardize_response=True,
    )
    columns = _columns("", 0.0, of_y, w=weights)
    train(described, SEED, in_memory(columns, epochs=1, shuffle=False))
    for make in SOURCES.values():
        predicted = _predicted(described, make(tmp_path, columns))["predictions"][:, 0]
        found = evaluate(described, RunSettings(), make(tmp_path, columns))
        loss = np.average((predicted - columns["y"]) ** 2, weights=weights)
        assert found["average_loss"] == pytest.approx(loss, rel=1e-6)
        assert found["label/mean"] == pytest.approx(
            np.average(columns["y"], weights=weights), rel=1e-14, abs=1e-6
        )
