"""Places of a model's parts: operations, variables, slots and gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from support import model_parts
from support.callbacks import as_model_fn
from support.checkpoints import assert_alike, assert_identical, variables
from support.custom_models import described, mean_square, settings, source
from support.model_parts import Placement
from support.sampling import sampled

import tfdistribute
from tfdistribute.training.train import train

v1 = tf.compat.v1
legacy = tf.keras.optimizers.legacy

pytestmark = pytest.mark.usefixtures("tensorflow")


def trained(function: Any, directory: Path, strategy: str = "none", steps: int = 4, **more: Any):
    """Train one step per run; return the variables and where the last step ran."""
    where = Placement()
    chosen = settings(strategy, steps_per_run=1, **more)
    train(described(function, directory), chosen, source(), steps=steps, hooks=[where])
    return variables(directory), where


def on_named_devices(names: tuple[str, ...]) -> Any:
    def forward(x: Any) -> Any:
        for name, stage in zip(names, model_parts.dense_stages(), strict=True):
            with tf.device(name):
                x = stage(x)
        return x

    return forward


def with_tape(forward: Any, x: Any, labels: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = mean_square(labels, forward(x))
    optimizer, ours = legacy.Adam(), v1.trainable_variables()
    applied = optimizer.apply_gradients(zip(tape.gradient(loss, ours), ours, strict=True))
    return {"loss": loss, "train_op": applied}


def with_v1(forward: Any, x: Any, labels: Any) -> Any:
    loss = mean_square(labels, forward(x))
    step = v1.train.get_or_create_global_step()
    return {"loss": loss, "train_op": v1.train.AdamOptimizer().minimize(loss, step)}


WAYS = {"an optimizer of Keras": None, "a tape": with_tape, "an optimizer of TensorFlow 1": with_v1}
NAMED = ("CPU:1", "CPU:0", "CPU:2")


def assert_named(where: Placement, devices: tuple[str, ...] = NAMED) -> None:
    """Every variable, slot and product lies on the device of its layer."""
    found = where.of_variables()
    for layer, device in zip(("dense", "dense_1", "dense_2"), devices, strict=True):
        ours = [found[name] for name in found if f"/{layer}/" in f"/{name}"]
        # A kernel and a bias, and two slots of each.
        assert len(ours) >= 6, layer
        assert set(ours) == {device}, layer
    assert where.of_products(backward=False) == dict.fromkeys(devices, 1)
    # The first layer needs no gradient of its input.
    assert where.of_products(backward=True) == dict(zip(devices, (1, 2, 2), strict=True))


@sampled("way", WAYS, check=["an optimizer of Keras", "a tape"])
@sampled("strategy", ["none", "one device"], check=["none", "one device"])
def test_everything_of_a_layer_is_on_the_device_that_the_model_names(
    tmp_path: Path, strategy: str, way: str
):
    function = model_parts.model_fn(on_named_devices(NAMED), train=WAYS[way])
    found, where = trained(function, tmp_path / "named", strategy)
    assert_named(where)
    together = model_parts.model_fn(on_named_devices(("CPU:0",) * 3), train=WAYS[way])
    assert_identical(found, trained(together, tmp_path / "one")[0])


@pytest.mark.parametrize("of_r", [False, True])
def test_a_mirrored_model_names_devices_for_all_of_its_replicas(tmp_path: Path, of_r: bool):
    function = model_parts.model_fn(on_named_devices(("CPU:1", "CPU:0", "CPU:2")))
    alone = trained(function, tmp_path / "one")[0]
    given = as_model_fn(function) if of_r else function
    found, where = trained(given, tmp_path / "mirrored", "mirrored")
    assert_alike(found, alone)
    assert where.of_products(backward=True) == {"CPU:1": 2, "CPU:0": 4, "CPU:2": 4}


@pytest.mark.parametrize("of_r", [False, True])
def test_each_replica_has_logical_devices_of_its_own(tmp_path: Path, of_r: bool):
    function = model_parts.placed()
    alone = trained(function, tmp_path / "one")[0]
    given = as_model_fn(function) if of_r else function
    found, where = trained(given, tmp_path / "mirrored", "mirrored in parts")
    assert_alike(found, alone)
    devices = where.of_variables()
    first = {name for name in devices if "dense_2" not in name}
    assert {devices[name] for name in first} == {"CPU:0", "CPU:2"}
    assert {devices[name] for name in devices.keys() - first} == {"CPU:1", "CPU:3"}
    assert where.of_products(backward=True) == {"CPU:0": 3, "CPU:2": 3, "CPU:1": 2, "CPU:3": 2}


def test_the_devices_of_the_first_layers_do_not_take_part_where_none_is_named(tmp_path: Path):
    function = model_parts.model_fn(lambda x: model_parts.dense_stages()[2](x))
    history = train(described(function, tmp_path), settings("model parallel"), source(), steps=2)
    assert [note for note in history.notes if "Nothing of the model" in note] == [
        "Nothing of the model is on CPU:1. Place layers there with pipeline() or logical_device()."
    ]


def test_a_model_in_parts_gets_no_note(tmp_path: Path):
    chosen = settings("model parallel")
    history = train(described(model_parts.placed(), tmp_path), chosen, source(), steps=2)
    assert history.notes == []


def test_on_one_device_every_logical_device_is_that_one(tmp_path: Path):
    counted: list[int] = []

    def forward(x: Any) -> Any:
        counted.append(tfdistribute.logical_devices())
        with tfdistribute.logical_device(7):
            return model_parts.dense_stages()[2](x)

    trained(model_parts.model_fn(forward), tmp_path, steps=1)
    assert counted == [1]


def of_tape(**options: Any) -> Any:
    """Gradients of parts of a function, by a tape that has seen some of it, on two devices or on one."""

    def forward(x: Any) -> Any:
        return x

    def train_op(unused: Any, x: Any, labels: Any) -> Any:
        del unused
        with tf.device(options["second"]):
            first = v1.get_variable("first", [4, 3])
            second = v1.get_variable("second", [3, 1])
        with tf.device("CPU:0"):
            before = x @ first
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(before)
            with tf.device(options["second"]):
                output = tf.nn.softplus(before) @ second
            loss = mean_square(labels, output)
        found = tape.gradient(loss, [first, second, before])
        options["found"].append([each is None for each in found])
        step = v1.train.get_or_create_global_step()
        loss = loss + tf.reduce_mean(found[2] ** 2)
        return {
            "loss": loss,
            "train_op": v1.train.GradientDescentOptimizer(0.1).apply_gradients(
                [(found[1], second)], step
            ),
        }

    return model_parts.model_fn(forward, train=train_op)


def test_a_tape_knows_what_it_has_recorded_and_no_more(tmp_path: Path):
    found: list[list[bool]] = []
    losses = []
    for second in ("CPU:0", "CPU:1"):
        function = of_tape(second=second, found=found)
        trained(function, tmp_path / second.replace(":", ""), steps=3)
        losses.append(variables(tmp_path / second.replace(":", "")))
    # Nothing that the tape has recorded depends on the first variable.
    assert found == [[True, False, False]] * 2
    assert_identical(*losses)
