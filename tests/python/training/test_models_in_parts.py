"""Models in parts under every strategy that has logical devices, against one device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import model_parts
from support.callbacks import as_model_fn
from support.checkpoints import assert_identical, variables
from support.custom_models import X, described, settings, source
from support.model_parts import Placement
from support.sampling import sampled

from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.predict import concatenate, predict
from tfdistribute.training.train import train

pytestmark = pytest.mark.usefixtures("tensorflow")

STEPS = 30


def trained(
    function: Any, directory: Path, strategy: str = "none", steps: int = STEPS, **fields: Any
) -> dict[str, Any]:
    chosen = settings(strategy, **{"steps_per_run": 1, **fields})
    train(described(function, directory), chosen, source(), steps=steps)
    return variables(directory)


def difference(found: dict[str, Any], expected: dict[str, Any]) -> float:
    """Return the largest difference of all variables, relative to the largest value of each."""
    assert found.keys() == expected.keys()
    return max(
        float(np.max(np.abs(found[name] - value)) / max(float(np.abs(value).max()), 1e-12))
        for name, value in expected.items()
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The variables of one device, by kind of layers."""
    known: dict[str, dict[str, Any]] = {}

    def of(layers: str) -> dict[str, Any]:
        if layers not in known:
            directory = tmp_path_factory.mktemp("alone")
            known[layers] = trained(model_parts.placed(stages_of(layers)), directory)
        return known[layers]

    return of


def stages_of(layers: str) -> Any:
    return lambda: model_parts.dense_stages(layers=layers)


@sampled("layers", ["v1", "keras"], check=["v1"])
def test_placing_layers_changes_no_bit(alone: Any, tmp_path: Path, layers: str):
    function = model_parts.placed(stages_of(layers))
    found = trained(function, tmp_path, "model parallel over 3")
    assert_identical(found, alone(layers))


CASES = [
    ("v1", "model parallel over 3", 1, 1),
    ("v1", "model parallel over 3", 4, "auto"),
    ("v1", "model parallel", 5, 1),
    ("v1", "none", 4, 1),
    ("v1", "mirrored in parts", 1, 1),
    ("v1", "mirrored in parts", 3, "auto"),
    ("keras", "model parallel", 4, 1),
    ("keras", "mirrored in parts", 4, "auto"),
]


@sampled(
    ("layers", "strategy", "micro_batches", "steps_per_run"),
    CASES,
    check=[CASES[1], CASES[2], CASES[7]],
)
def test_a_pipeline_trains_to_the_numbers_of_one_device(
    alone: Any,
    runs: list[int],
    tmp_path: Path,
    layers: str,
    strategy: str,
    micro_batches: int,
    steps_per_run: int | str,
):
    function = model_parts.in_pipeline(stages_of(layers), micro_batches)
    found = trained(function, tmp_path, strategy, steps_per_run=steps_per_run)
    assert (max(runs, default=0) > 1) == (steps_per_run == "auto")
    assert difference(found, alone(layers)) < 1e-6


@pytest.mark.smoke
def test_all_of_a_stage_is_on_its_device(tmp_path: Path):
    where = Placement()
    function = described(model_parts.in_pipeline(micro_batches=4), tmp_path)
    chosen = settings("model parallel over 3", steps_per_run=1)
    train(function, chosen, source(), steps=2, hooks=[where])
    devices = where.of_variables()
    assert len(devices) >= 18
    for layer, device in (("dense", "CPU:0"), ("dense_1", "CPU:1"), ("dense_2", "CPU:2")):
        ours = {devices[name] for name in devices if f"/{layer}/" in f"/{name}"}
        assert ours == {device}, layer
    assert where.of_products(backward=False) == dict.fromkeys(("CPU:0", "CPU:1", "CPU:2"), 4)
    # The first stage needs no gradient of its input.
    assert where.of_products(backward=True) == {"CPU:0": 4, "CPU:1": 8, "CPU:2": 8}


def test_a_checkpoint_goes_on_on_one_device_and_back(tmp_path: Path):
    piped, together = model_parts.in_pipeline(micro_batches=4), model_parts.placed()
    ways = [(piped, "mirrored in parts"), (together, "none")]
    for directory, order in (("a", ways), ("b", ways[::-1])):
        for function, strategy in order:
            trained(function, tmp_path / directory, strategy, steps=STEPS // 2)
    assert difference(variables(tmp_path / "a"), variables(tmp_path / "b")) < 1e-6


def test_a_model_in_parts_evaluates_predicts_and_is_exported_on_one_device(tmp_path: Path):
    function = described(model_parts.in_pipeline(micro_batches=4), tmp_path)
    train(function, settings("model parallel"), source(), steps=2)
    once = source(epochs=1)
    loss = evaluate(function, settings(), once)["loss"]
    parts = {"kind": "model_parallel", "devices": 2}
    assert evaluate(function, settings(eval_distribute=parts), once)["loss"] == pytest.approx(
        loss, rel=1e-6
    )
    # Without devices the pipeline is the same function on one.
    ours = concatenate(predict(function, settings(), once))["y"]
    described_with_devices = predict(function, settings("model parallel"), once)
    assert_identical({"y": concatenate(described_with_devices)["y"]}, {"y": ours})
    path = export_savedmodel(
        function, settings("model parallel"), str(tmp_path / "export"), request=once
    )
    with tf.init_scope():
        served = tf.saved_model.load(path).signatures["serving_default"](x=tf.constant(X))
    np.testing.assert_allclose(served["y"].numpy(), ours, rtol=1e-5, atol=1e-6)


def test_each_stage_of_r_is_called_once_per_device_and_verb(tmp_path: Path):
    calls: list[int] = []

    def counted() -> list[Any]:
        def count(number: int, stage: Any) -> Any:
            return lambda x: stage(x) if calls.append(number) is None else None

        return [count(index, each) for index, each in enumerate(model_parts.dense_stages())]

    function = described(as_model_fn(model_parts.in_pipeline(counted, 4)), tmp_path)
    train(function, settings("mirrored in parts"), source(), steps=1)
    assert sorted(calls) == [0, 0, 1, 1, 2, 2]
    calls.clear()
    evaluate(function, settings(), source(epochs=1))
    assert calls == [0, 1, 2]
