"""Many steps per run: identical weights and losses for any model and input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import equality_models as models
from support.inputs import Factor, in_memory
from support.many_steps import MODELS, STEPS, custom, source, trained
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.errors import CallbackError
from tfdistribute.inputs import Input
from tfdistribute.training.history import History

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


def assert_equal(one: tuple[dict[str, Any], History], other: tuple[dict[str, Any], History]):
    values, expected = other[0], one[0]
    assert set(values) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(values[name], value, err_msg=name)
    assert (other[1].steps, other[1].losses) == (one[1].steps, one[1].losses)
    assert other[1].notes == []


@sampled(
    "model",
    MODELS,
    check=["words and dropout", "embedding", "two optimizers", "keras"],
    versions=["words and dropout", "keras"],
)
def test_weights_and_losses_are_those_of_step_by_step_to_the_bit(
    tmp_path: Path, runs: list[int], model: str
):
    alone = trained(model, tmp_path / "a", 1)
    assert runs == []
    # The input ends in the middle of a run, with a smaller batch.
    many = trained(model, tmp_path / "b", 7)
    assert sum(runs) > STEPS / 2
    assert_equal(alone, many)
    assert many[0]["global_step"] == STEPS
    assert many[1].steps == list(range(1, STEPS + 1))


ROWS = 44
LEVEL = {"kind": "categorical_with_identity", "key": "level", "num_buckets": 5}
WIDE_AND_DEEP = {
    "kind": "dnn_linear_combined_regressor",
    "linear_feature_columns": [
        {"kind": "crossed", "keys": ["word", LEVEL], "hash_bucket_size": 50},
        {"kind": "categorical_with_hash_bucket", "key": "word", "hash_bucket_size": 20},
    ],
    "dnn_feature_columns": [{"kind": "embedding", "categorical_column": LEVEL, "dimension": 3}],
    "dnn_hidden_units": [4],
}


# TensorFlow takes an empty string for a missing value: some rows then have no cross and no hash. A batch of one row is
# where a layer and what is added to it, computed by one operation, are rounded differently.
@pytest.mark.parametrize(("word", "batch_size"), [("red", 8), ("", 8), ("red", 1)])
def test_crosses_hashes_and_embeddings_are_those_of_step_by_step_to_the_bit(
    tmp_path: Path, runs: list[int], word: str, batch_size: int
):
    numbers = np.random.default_rng(7)
    words = Factor(numbers.integers(0, 3, ROWS), np.array([word, "green", "blue"], object))
    columns = {"word": words, "level": numbers.integers(0, 5, ROWS).astype(np.int32)}
    label = numbers.normal(size=ROWS).astype(np.float32)
    data = in_memory({**columns, "y": label}, batch_size=batch_size, epochs=3)
    alone = trained(WIDE_AND_DEEP, tmp_path / "a", 1, data=data)
    many = trained(WIDE_AND_DEEP, tmp_path / "b", 7, data=data)
    assert sum(runs) > STEPS / 2
    assert_equal(alone, many)


@sampled(
    ("model", "strategy"),
    [
        ("keras", "one device"),
        ("words and dropout", "mirrored"),
        ("keras", "mirrored"),
        ("batch norm", "central storage"),
    ],
    check=[("words and dropout", "mirrored"), ("batch norm", "central storage")],
    smoke=[("batch norm", "central storage")],
)
def test_under_a_strategy_weights_are_those_of_step_by_step(
    tmp_path: Path, runs: list[int], model: str, strategy: str
):
    # 44 rows are not a multiple of 8, so the number of steps ends training.
    data = {"data": source(None), "steps": 12}
    alone = trained(model, tmp_path / "a", 1, strategy, **data)
    many = trained(model, tmp_path / "b", "auto", strategy, **data)
    assert sum(runs) >= 4
    for name, value in alone[0].items():
        np.testing.assert_allclose(many[0][name], value, rtol=1e-6, atol=1e-7, err_msg=name)
    np.testing.assert_allclose(many[1].losses, alone[1].losses, rtol=1e-6)
    assert many[1].steps == alone[1].steps


def with_old_variable(features: Any, labels: Any, mode: str) -> Any:
    weight = v1.get_variable("w", [models.FEATURES, 1], use_resource=False)
    loss = tf.reduce_mean((tf.matmul(features["x"], weight) - labels) ** 2)
    step = v1.train.get_or_create_global_step()
    train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def with_shuffle(features: Any, labels: Any, mode: str) -> Any:
    return models.dense_with_sgd({"x": tf.random.shuffle(features["x"])}, labels, mode)


def with_hidden_dropout(features: Any, labels: Any, mode: str) -> Any:
    x = tf.cond(
        tf.reduce_sum(labels) > 0,
        lambda: features["x"] * tf.random.uniform([models.FEATURES]),
        lambda: features["x"],
    )
    return models.dense_with_sgd({"x": x}, labels, mode)


def with_two_counts(features: Any, labels: Any, mode: str) -> Any:
    spec = models.dense_with_sgd(features, labels, mode)
    step = v1.train.get_or_create_global_step()
    with tf.control_dependencies([spec.train_op]):
        return spec._replace(train_op=step.assign_add(1).op)


@pytest.mark.parametrize(
    ("model_fn", "reason"),
    [
        (with_old_variable, "VariableV2 'w' holds a variable of the old kind (use_resource=False)"),
        (
            with_shuffle,
            "RandomShuffle 'RandomShuffle' draws random numbers that a loop cannot continue",
        ),
        (with_hidden_dropout, "of the function"),
        (with_two_counts, "the global step does not count the steps one by one"),
    ],
)
def test_a_graph_that_cannot_be_repeated_is_named_and_trains_step_by_step(
    tmp_path: Path, runs: list[int], model_fn: Any, reason: str
):
    alone, _ = trained(custom(model_fn), tmp_path / "a", 1)
    values, history = trained(custom(model_fn), tmp_path / "b", 5)
    assert runs == []
    assert len(history.notes) == 1
    assert reason in history.notes[0]
    for name, value in alone.items():
        np.testing.assert_array_equal(values[name], value, err_msg=name)


def generator(answers: Sequence[Any]) -> Input:
    remaining: Iterator[Any] = iter(answers)

    def next_batch() -> Any:
        answer = next(remaining, None)
        if isinstance(answer, Exception):
            raise answer
        return answer

    functions = {"begin": lambda: False, "next_batch": next_batch}
    return read(Input, {"kind": "generator", "response": "y", **functions})


def drawn(rows: int) -> dict[str, Any]:
    x = np.random.default_rng(rows).normal(size=(rows, models.FEATURES)).astype("float32")
    columns = [
        {"name": "x", "type": "float", "values": x, "shape": [models.FEATURES]},
        {"name": "y", "type": "float", "values": x[:, :1], "shape": [1]},
    ]
    return {"columns": columns}


def test_functions_that_give_batches_are_served_within_a_run(tmp_path: Path, runs: list[int]):
    given = [drawn(8), drawn(8), drawn(8), drawn(6), drawn(5), drawn(3)]
    model = custom(models.dense_with_sgd)
    alone = trained(model, tmp_path / "a", 1, data=generator(given))
    many = trained(model, tmp_path / "b", 100, data=generator(given))
    assert runs == [99]
    assert_equal(alone, many)
    assert len(many[1].steps) == len(given)


def test_an_error_of_the_input_comes_out_of_a_run_as_it_is(tmp_path: Path, runs: list[int]):
    answers = [drawn(8)] * 6 + [CallbackError("The seventh batch is missing.", "Look for it.")]
    with pytest.raises(CallbackError, match="The seventh batch is missing"):
        trained(custom(models.dense_with_sgd), tmp_path, 100, data=generator(answers))
    assert runs == [99]


@pytest.mark.parametrize(
    ("multiplications", "pools", "pool"),
    [(5e6, [], 1), (0, [], None), (5e6, [{"num_threads": 3}], None)],
    ids=["small", "large", "own threads"],
)
def test_small_steps_follow_each_other_on_one_thread(
    tmp_path: Path,
    runs: list[int],
    monkeypatch: pytest.MonkeyPatch,
    multiplications: float,
    pools: list[Any],
    pool: int | None,
):
    monkeypatch.setattr(engine.step.compiled, "MOST_MULTIPLICATIONS", multiplications)
    used: list[Any] = []
    prepare = engine.step.loop.StepLoop.prepare

    def note(self: Any, session: Any) -> None:
        used.append(self._options)
        prepare(self, session)

    monkeypatch.setattr(engine.step.loop.StepLoop, "prepare", note)
    settings = {"session_inter_op_thread_pool": pools} if pools else {}
    trained(custom(models.dense_with_sgd), tmp_path, 7, session_config=settings)
    assert [each and each.inter_op_thread_pool for each in used] == [pool]
