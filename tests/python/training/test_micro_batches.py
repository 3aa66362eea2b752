"""Gradient accumulation and mixed precision through the verbs, compared with whole batches in 32 bits."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import checkpoints, custom_models, equality_models, keras_models, models, strategies
from support.checkpoints import assert_alike
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.errors import ModelError, RunConfigError, StrategyError, UnsupportedError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings, build_run_config
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

pytestmark = pytest.mark.usefixtures("tensorflow")

STEPS = 12
legacy = tf.keras.optimizers.legacy

NUMBERS = [{"kind": "numeric", "key": "width"}, {"kind": "numeric", "key": "height"}]
BUCKETS = {"kind": "bucketized", "source_column": NUMBERS[0], "boundaries": [-1.0, 0.0, 1.0]}
CANNED = {
    "kind": "dnn_linear_combined_regressor",
    "linear_feature_columns": [BUCKETS],
    "dnn_feature_columns": [
        *NUMBERS,
        {"kind": "embedding", "categorical_column": BUCKETS, "dimension": 2},
    ],
    "dnn_hidden_units": [8, 4],
    "linear_optimizer": models.sgd(0.05),
    # The norm of all rows of the table together.
    "dnn_optimizer": models.optimizer("Adagrad", learning_rate=0.05, clipnorm=0.05),
}


def canned(directory: Path, **fields: Any) -> Model:
    return models.model(model_dir=directory, **{**CANNED, **fields})


def summed(directory: Path) -> Model:
    return canned(directory, loss_reduction="sum")


def custom(directory: Path) -> Model:
    return custom_models.described(equality_models.clipped_momentum, directory)


@functools.cache
def one_of_keras_3() -> Any:
    return pytest.importorskip("support.keras3_models").built("dense")


def keras_3(directory: Path) -> Model:
    k3 = pytest.importorskip("support.keras3_models")
    return k3.described(directory, one_of_keras_3())


KINDS: dict[str, Any] = {
    "canned": canned,
    "canned sum": summed,
    "custom": custom,
    "keras": keras_models.described,
    "keras 3": keras_3,
}


def source(kind: str, epochs: int | None = None) -> Input:
    if kind == "custom":
        return custom_models.source(epochs)
    if kind == "keras 3":
        return pytest.importorskip("support.keras3_models").source(epochs=epochs)
    return keras_models.source(epochs=epochs)


def trained(
    kind: str, directory: Path, strategy: str = "none", steps: int = STEPS, **fields: Any
) -> tuple[Model, dict[str, Any], Any]:
    description = KINDS[kind](directory)
    settings = strategies.settings(strategy, **{"seed": 5, "steps_per_run": 1, **fields})
    history = train(description, settings, source(kind), steps=steps)
    return description, checkpoints.variables(directory), history


# Central storage refuses the clipping of these canned models.
PAIRS = [
    (kind, strategy)
    for kind in KINDS
    for strategy in strategies.KINDS
    if not (kind.startswith("canned") and strategy == "central storage")
]
CHECKED = [
    ("canned", "mirrored"),
    ("canned sum", "none"),
    ("custom", "central storage"),
    ("keras", "mirrored"),
    ("keras 3", "mirrored"),
]


@sampled(("kind", "strategy"), PAIRS, check=CHECKED)
def test_micro_batches_change_no_number(tmp_path: Path, runs: list[int], kind: str, strategy: str):
    if kind == "keras 3" and strategy == "mirrored in parts":
        pytest.skip("Keras 3 names no logical device")
    _, whole, one = trained(kind, tmp_path / "whole", strategy)
    _, parts, four = trained(
        kind, tmp_path / "parts", strategy, micro_batches=4, steps_per_run="auto"
    )
    assert parts["global_step"] == STEPS
    assert_alike(parts, whole, rtol=1e-6, atol=1e-6)
    losses = dict(zip(one.steps, one.losses, strict=True))
    assert four.losses[-1] == pytest.approx(losses[STEPS], rel=2e-6)
    assert max(runs) > 1


@pytest.mark.parametrize("setting", ["clipnorm", "clipvalue", "global_clipnorm"])
def test_central_storage_refuses_optimizers_that_clip(tmp_path: Path, setting: str):
    optimizer = models.optimizer("Adagrad", learning_rate=0.05, **{setting: 0.05})
    with pytest.raises(StrategyError, match=f"says: `{setting}` is not supported") as caught:
        train(
            canned(tmp_path, dnn_optimizer=optimizer),
            strategies.settings("central storage"),
            source("canned"),
            steps=1,
        )
    assert caught.value.remedy == "Use strategy_mirrored(), which clips as one device does."


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_keeps_losses_and_checkpoints(tmp_path: Path, kind: str):
    _, _, plain = trained(kind, tmp_path / "float32")
    mixed = "mixed_bfloat16"
    description, variables, history = trained(kind, tmp_path / "mixed", precision=mixed)
    # The loss of a sum grows fortyfold here, and the differences with it. That of Keras 3 falls to a twentieth: it is
    # the square of a difference of larger numbers, which are rounded to 1/256.
    rtol = 2e-2 if kind in ("canned sum", "keras 3") else 1e-2
    np.testing.assert_allclose(history.losses, plain.losses, rtol=rtol)
    assert {each.dtype.name for each in variables.values()} <= {"float32", "int64"}
    # Each goes on with the checkpoint of the one before.
    for precision in ("float32", "mixed_float16", "mixed_bfloat16"):
        trained(kind, tmp_path / "mixed", precision=precision, steps=1)
    found = checkpoints.variables(tmp_path / "mixed")
    assert found.keys() == variables.keys()
    assert found["global_step"] == STEPS + 3
    settings = [strategies.settings(precision=each) for each in ("float32", mixed)]
    ours, theirs = (evaluate(description, each, source(kind, 1)) for each in settings)
    assert theirs["loss"] == pytest.approx(ours["loss"], rel=1e-2)


@pytest.mark.full
@pytest.mark.parametrize("strategy", ["none", "mirrored"])
def test_the_scaled_loss_of_float16_changes_no_number(tmp_path: Path, strategy: str):
    _, whole, _ = trained("canned", tmp_path / "whole", strategy)
    _, scaled, history = trained(
        "canned", tmp_path / "scaled", strategy, precision="mixed_float16", micro_batches=2
    )
    assert_alike(scaled, whole, rtol=1e-6, atol=1e-6)
    if not engine.devices.gpu_count():
        assert any("computes in float32" in note for note in history.notes)


def test_the_precision_reaches_sessions_beside_the_users_settings():
    session = {"graph_options": {"optimizer_options": {"opt_level": "L0"}}}
    config = build_run_config(RunSettings(session_config=session, precision="mixed_bfloat16"))
    rewrites = config.session_config.graph_options.rewrite_options
    assert rewrites.auto_mixed_precision_onednn_bfloat16 == 1
    assert config.session_config.graph_options.optimizer_options.opt_level == -1
    assert config.session_config.allow_soft_placement


@pytest.mark.parametrize(
    ("precision", "gpus", "flags", "text"),
    [
        ("float32", 0, "", None),
        ("mixed_bfloat16", 1, "avx512_bf16", "on CPUs only"),
        ("mixed_bfloat16", 0, "avx2", "no instructions for bfloat16"),
        ("mixed_bfloat16", 0, "avx2 amx_bf16", None),
        ("mixed_float16", 0, "avx2", "on GPUs only"),
        ("mixed_float16", 1, "avx2", None),
    ],
)
def test_a_precision_that_the_machine_lacks_is_noted(
    monkeypatch: pytest.MonkeyPatch, precision: str, gpus: int, flags: str, text: str | None
):
    monkeypatch.setattr(engine.devices, "gpu_count", lambda: gpus)
    monkeypatch.setattr(engine.devices.Path, "read_text", lambda *_, **__: f"flags\t: {flags}\n")
    note = engine.devices.note_on_precision(precision)
    assert note is text if text is None else text in str(note)


def refused(model: Model, kind: str, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        train(model, RunSettings(micro_batches=2), source(kind), steps=1)


def test_models_whose_loss_may_not_follow_from_parts_are_refused(tmp_path: Path):
    function = equality_models.keras_layers
    model = custom_models.described(function, tmp_path, loss_reduction="sum")
    refused(model, "custom", ModelError, '`loss_reduction` is "sum"')
    sum_loss = tf.keras.losses.MeanSquaredError(reduction="sum")
    model = keras_models.described(tmp_path, lambda: keras_models.built(loss=sum_loss))
    refused(model, "keras", ModelError, 'MeanSquaredError of the output "price" is a sum')
    column = tf.feature_column.numeric_column("width")
    existing = tf.estimator.LinearRegressor([column], model_dir=str(tmp_path / "existing"))
    wrapped = models.model("wrapped", tmp_path, estimator=existing)
    refused(wrapped, "canned", UnsupportedError, "existing Estimator")


def test_a_model_that_exchanges_values_before_its_loss_is_refused(tmp_path: Path):
    model = custom_models.described(equality_models.all_reduce_in_model, tmp_path)
    settings = strategies.settings("mirrored", micro_batches=2)
    with pytest.raises(ModelError, match="exchanges values between devices"):
        train(model, settings, source("custom"), steps=1)


@pytest.mark.parametrize(("field", "value"), [("micro_batches", 2), ("precision", "mixed_float16")])
def test_estimators_of_others_cannot_have_our_settings(field: str, value: Any):
    with pytest.raises(RunConfigError, match=f"`{field}` is .*which TensorFlow's own RunConfig"):
        build_run_config(read(RunSettings, {field: value}))
