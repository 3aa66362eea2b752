"""Passes over a training step: the same weights with and without each of them, and how to find a wrong one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from support import custom_models, many_steps, model_parts
from support.callbacks import as_model_fn
from support.checkpoints import assert_alike, assert_identical, variables
from support.cluster_job import job
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.engine.step.passes import ALL, PASSES, VARIABLE, is_on, list_switched_off
from tfdistribute.engine.step.program import StepProgram
from tfdistribute.errors import ArgumentError

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


def absolute(features: Any, labels: Any, mode: str) -> Any:
    """Make a model whose gradients are sums of multiples of 1/64, which do not depend on their order."""
    kernel = v1.get_variable("kernel", [custom_models.X.shape[1], 1])
    x = tf.round(8 * features["x"]) / 8
    return many_steps.descent(mode, tf.reduce_mean(tf.abs(x @ kernel - labels)))


def looped(name: str, **fields: Any) -> Callable[[Path], dict[str, Any]]:
    return lambda directory: many_steps.trained(name, directory, 7, **fields)[0]


def custom(
    model_fn: Any, strategy: str = "none", **fields: Any
) -> Callable[[Path], dict[str, Any]]:
    def train(directory: Path) -> dict[str, Any]:
        model = many_steps.custom(model_fn)
        return many_steps.trained(model, directory, 7, strategy, **fields)[0]

    return train


def on_two_workers(directory: Path) -> dict[str, Any]:
    options = {
        "models": ["custom"],
        "config": {"strategy": {"kind": "multi_worker", "communication": "shared_memory"}},
        "max_steps": 24,
    }
    with job(directory, options) as running:
        running.start_all()
        assert set(running.wait("chief-0", "worker-0").values()) == {0}, running.logs()
        return variables(running.model_dir("custom"))


# What uses each pass: a training that returns its variables, and a function of the pass that it calls.
CASES: dict[str, tuple[Callable[[Path], dict[str, Any]], str]] = {
    "category_codes": (looped("words and dropout"), "estimator.category_codes._in_chunks"),
    "resident_rows": (looped("keras"), "step.resident_rows.RowReader.gather"),
    "accumulate": (custom(absolute, micro_batches=2), "step.accumulate.AccumulatedStep.accumulate"),
    "place_gradients": (
        custom(as_model_fn(model_parts.placed()), "model parallel"),
        "step.place_gradients._device_to_follow",
    ),
    "all_reduce": (on_two_workers, "step.all_reduce.share"),
    "shared_random": (looped("words and dropout"), "step.shared_random._replace"),
    "loop": (looped("batch norm", compile=False), "step.loop.StepLoop.run"),
    "compile": (looped("batch norm"), "step.compiled.CompiledLoop.run"),
}


def counted(monkeypatch: pytest.MonkeyPatch, path: str) -> list[None]:
    """Record the calls of a function of the engine."""
    *names, last = path.split(".")
    owner: Any = functools.reduce(getattr, names, engine)
    function, calls = getattr(owner, last), list[None]()

    def noted(*args: Any, **kwargs: Any) -> Any:
        calls.append(None)
        return function(*args, **kwargs)

    monkeypatch.setattr(owner, last, noted)
    return calls


def test_every_pass_has_a_case_here_in_order() -> None:
    names = [each.name for each in PASSES]
    assert list(CASES) == names, (
        "give each pass a case in CASES of this file, in the order of PASSES"
    )


# Two workers show in test_training.py that their sums are right, also with other versions.
IN_ONE_PROCESS = [each for each in CASES if each != "all_reduce"]


@pytest.mark.jobs
@sampled("name", CASES, check=IN_ONE_PROCESS, versions=IN_ONE_PROCESS)
def test_weights_are_the_same_to_the_bit_without_a_pass(
    monkeypatch: pytest.MonkeyPatch, runs: list[int], tmp_path: Path, name: str
) -> None:
    train, function = CASES[name]
    if name == "compile":
        # "auto" compiles.
        monkeypatch.setattr(engine.step.compiled, "WORTH_STEPS", 1)
    calls = counted(monkeypatch, function)
    expected = train(tmp_path / "with")
    used = len(calls)
    monkeypatch.setenv(VARIABLE, f"-{name}")
    found = train(tmp_path / "without")
    if name == "compile":
        assert_alike(found, expected, 1e-6, 1e-6)
    else:
        assert_identical(found, expected)
    # The processes of two workers call it, not this one: see the next test.
    assert (used > 0) == (name != "all_reduce"), f"the case never called the function of {name}"
    assert len(calls) == used, f"{name} was called although it was switched off"


def test_without_all_reduce_a_worker_offers_no_memory_and_compresses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "-all_reduce")
    sums = engine.step.all_reduce.AllReduce(0, 2, True, True)
    assert (sums.socket, sums.domain) == (None, None)
    with tf.Graph().as_default() as graph:
        loss = tf.constant(1.0)
        assert sums.run(StepProgram(loss.op, loss), []) is None
        assert [each.type for each in graph.get_operations()] == ["Const"]


def doubled_by_accumulate(monkeypatch: pytest.MonkeyPatch) -> None:
    value = engine.step.micro_batches.AccumulatedValue
    add = value.add

    def wrong(self: Any, total: Any, new: Any, *others: Any) -> Any:
        return add(self, total, 2 * new if self.is_gradient else new, *others)

    monkeypatch.setattr(value, "add", wrong)


def doubled_by_shared_random(monkeypatch: pytest.MonkeyPatch) -> None:
    share = engine.step.shared_random.share

    def wrong(operations: Any) -> Any:
        for update in [each for each in operations if "GradientDescent" in each.type]:
            # The last input is the gradient.
            place = len(update.inputs) - 1
            with update.graph.as_default():
                engine.graph.edit.set_input(update, place, 2 * update.inputs[place])
        return share(operations)

    monkeypatch.setattr(engine.step.shared_random, "share", wrong)


# Only a loop needs the pass, so a training without a loop is right, too.
TWO_CULPRITS = (doubled_by_shared_random, ["shared_random", "loop"])


@sampled(
    ("double", "culprits"),
    [(doubled_by_accumulate, ["accumulate"]), TWO_CULPRITS],
    check=[TWO_CULPRITS],
)
def test_a_wrong_pass_is_found_by_switching_off_one_after_another(
    monkeypatch: pytest.MonkeyPatch,
    runs: list[int],
    tmp_path: Path,
    double: Callable[[pytest.MonkeyPatch], None],
    culprits: list[str],
) -> None:
    double(monkeypatch)

    def weights(passes: str) -> list[Any]:
        monkeypatch.setenv(VARIABLE, passes)
        directory = tmp_path / f"without{passes}"
        return custom(absolute, micro_batches=2)(directory)["kernel"].tolist()

    right = weights(f"-{ALL}")
    assert weights("") != right
    assert [each.name for each in PASSES if weights(f"-{each.name}") == right] == culprits


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("-loop", ["loop"]),
        (" -loop, -accumulate,", ["accumulate", "loop"]),
        ("-all", list(CASES)),
    ],
)
def test_passes_are_switched_off_by_name(
    monkeypatch: pytest.MonkeyPatch, text: str, names: list[str]
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    assert list_switched_off() == names
    assert [each for each in CASES if not is_on(each)] == names


@pytest.mark.parametrize("text", ["-lop", "loop", "+loop", "-loop -accumulate"])
def test_an_unknown_pass_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ArgumentError, match="must list passes to switch off") as caught:
        looped("keras")(tmp_path)
    assert caught.value.value == text
    assert "category_codes, resident_rows, accumulate" in str(caught.value.remedy)
