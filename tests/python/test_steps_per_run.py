"""Many steps in one run: the same weights to the bit, the same losses, and hooks that see their steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import equality_models as models  # noqa: E402

from tfdistribute import engine  # noqa: E402
from tfdistribute.descriptions import read  # noqa: E402
from tfdistribute.errors import CallbackError, TrainingError  # noqa: E402
from tfdistribute.inputs import Input  # noqa: E402
from tfdistribute.models import Model  # noqa: E402
from tfdistribute.run_config import RunSettings  # noqa: E402
from tfdistribute.training.history import History  # noqa: E402
from tfdistribute.training.hooks import read_hooks  # noqa: E402
from tfdistribute.training.specs import EvalSpec, TrainSpec  # noqa: E402
from tfdistribute.training.train import train  # noqa: E402
from tfdistribute.training.train_and_evaluate import train_and_evaluate  # noqa: E402

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")

STRATEGIES: dict[str, dict[str, Any] | None] = {
    "none": None,
    "one device": {"kind": "one_device", "device": "CPU:1"},
    "mirrored": {"kind": "mirrored", "devices": 2},
    "central storage": {"kind": "central_storage", "devices": 2},
}

# 44 rows: with batches of 8 the last step of three epochs has 4 rows.
ROWS, BATCH, EPOCHS, STEPS = 44, 8, 3, 17
numbers = np.random.default_rng(5)
X = numbers.normal(size=(ROWS, models.FEATURES)).astype("float32")
Y = (X @ np.array([1.0, -2.0, 0.5, 0.25]) + 0.1).astype("float32").reshape(-1, 1)
WORDS = np.array(["red", "green", "blue"], object)
CODES = numbers.integers(0, 3, ROWS)


def source(num_epochs: int | None = EPOCHS, label: Any = Y, batch_size: int = BATCH) -> Input:
    columns = [
        {"name": "x", "type": "float", "shape": [models.FEATURES], "values": lambda: X},
        {
            "name": "word",
            "type": "string",
            "values": lambda: {"codes": CODES, "labels": WORDS},
            "levels": list(WORDS),
        },
        {"name": "y", "type": "float", "shape": [1], "values": lambda: label},
    ]
    return read(
        Input,
        {
            "kind": "in_memory",
            "columns": columns,
            "response": "y",
            "batch_size": batch_size,
            "num_epochs": num_epochs,
        },
    )


def custom(model_fn: Any) -> dict[str, Any]:
    return {"kind": "custom", "model_fn": model_fn}


VOCABULARY = {
    "kind": "categorical_with_vocabulary_list",
    "key": "word",
    "vocabulary_list": list(WORDS),
}


def keras_with_dropout() -> Any:
    layers = tf.keras.layers
    x = tf.keras.Input((models.FEATURES,), name="x")
    hidden = layers.BatchNormalization()(layers.Dense(4, activation="tanh")(x))
    output = layers.Dense(1)(layers.GaussianNoise(0.1)(layers.Dropout(0.3)(hidden)))
    model = tf.keras.Model(x, output)
    model.compile(tf.keras.optimizers.legacy.Adam(0.01), "mse")
    return model


# Slots, update operations, sparse gradients, tables of words, random numbers.
MODELS: dict[str, dict[str, Any]] = {
    "words and dropout": {
        "kind": "dnn_regressor",
        "hidden_units": [8, 4],
        "feature_columns": [
            {"kind": "numeric", "key": "x", "shape": [models.FEATURES]},
            {"kind": "embedding", "categorical_column": VOCABULARY, "dimension": 2},
        ],
        "dropout": 0.4,
        "optimizer": {"kind": "named", "name": "Adam", "settings": {"learning_rate": 0.01}},
    },
    "sparse": {"kind": "linear_regressor", "feature_columns": [VOCABULARY]},
    "batch norm": custom(models.batch_norm_with_adam),
    "embedding": custom(models.embedding_with_adagrad),
    "two optimizers": custom(models.two_optimizers),
    "loss scale": custom(models.loss_scale),
    "keras": {"kind": "keras", "function": keras_with_dropout},
}


def described(name: str | dict[str, Any], directory: Path) -> Model:
    fields = MODELS[name] if isinstance(name, str) else name
    return read(Model, {**fields, "model_dir": str(directory)})


def settings(steps_per_run: int | str, strategy: str = "none", **fields: Any) -> RunSettings:
    given = {"train_distribute": STRATEGIES[strategy], "tf_random_seed": 3, **fields}
    return read(RunSettings, {**given, "steps_per_run": steps_per_run})


def trained(
    model: str | dict[str, Any],
    directory: Path,
    steps_per_run: int | str,
    strategy: str = "none",
    hooks: Sequence[Any] = (),
    data: Input | None = None,
    steps: int | None = None,
    **fields: Any,
) -> tuple[dict[str, Any], History]:
    """Variables of the newest checkpoint, and the history."""
    history = train(
        described(model, directory),
        settings(steps_per_run, strategy, **fields),
        data or source(),
        hooks=read_hooks([{"kind": "history_saver", "every_n_step": 1}, *hooks]),
        steps=steps,
    )
    checkpoint = tf.train.latest_checkpoint(str(directory))
    names = [name for name, _ in tf.train.list_variables(checkpoint)]
    return {name: tf.train.load_variable(checkpoint, name) for name in names}, history


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps of each run in a loop; "auto" begins with them after two steps."""
    monkeypatch.setattr(engine.step_runs, "WORTH_AFTER_S", 0.0)
    # However slow the machine is.
    monkeypatch.setattr(engine.step_runs, "RUN_S", 1000.0)
    taken: list[int] = []
    run = engine.step_loops.StepLoop.run

    def noted(self: Any, session: Any, steps: int) -> Any:
        taken.append(steps)
        return run(self, session, steps)

    monkeypatch.setattr(engine.step_loops.StepLoop, "run", noted)
    return taken


def assert_equal(one: tuple[dict[str, Any], History], other: tuple[dict[str, Any], History]):
    values, expected = other[0], one[0]
    assert set(values) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(values[name], value, err_msg=name)
    assert (other[1].steps, other[1].losses) == (one[1].steps, one[1].losses)
    assert other[1].notes == []


@pytest.mark.parametrize("model", MODELS)
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


@pytest.mark.parametrize(
    ("model", "strategy"),
    [
        ("keras", "one device"),
        ("words and dropout", "mirrored"),
        ("keras", "mirrored"),
        ("batch norm", "central storage"),
    ],
)
def test_under_a_strategy_weights_are_those_of_step_by_step(
    tmp_path: Path, runs: list[int], model: str, strategy: str
):
    # 44 rows are no multiple of 8, so the number of steps ends it.
    data = {"data": source(None), "steps": 12}
    alone = trained(model, tmp_path / "a", 1, strategy, **data)
    many = trained(model, tmp_path / "b", "auto", strategy, **data)
    assert sum(runs) >= 4
    for name, value in alone[0].items():
        np.testing.assert_allclose(many[0][name], value, rtol=1e-6, atol=1e-7, err_msg=name)
    np.testing.assert_allclose(many[1].losses, alone[1].losses, rtol=1e-6)
    assert many[1].steps == alone[1].steps


def events(directory: Path, tag: str) -> list[int]:
    """The steps at which a value was written for TensorBoard."""
    paths = [str(path) for path in directory.rglob("events*")]
    return sorted(
        event.step
        for path in paths
        for event in v1.train.summary_iterator(path)
        if any(value.tag == tag for value in event.summary.value)
    )


def test_every_hook_sees_the_steps_that_it_acts_at(tmp_path: Path, runs: list[int]):
    def seen(steps_per_run: int) -> dict[str, Any]:
        directory = tmp_path / str(steps_per_run)
        saved: list[int] = []
        shown: list[int] = []
        called: list[Any] = []

        class Saves(tf.estimator.CheckpointSaverListener):
            def after_save(self, session: Any, global_step_value: int) -> None:
                del session
                saved.append(int(global_step_value))

        with tf.Graph().as_default():
            profiler = tf.estimator.ProfilerHook(save_steps=25, output_dir=str(directory / "p"))
        hooks = [
            {
                "kind": "logging_tensor",
                "tensors": {"loss": "loss"},
                "show": lambda step, values: shown.append(step),
                "every_n_iter": 9,
            },
            {"kind": "checkpoint_saver", "save_steps": 11, "checkpoint_dir": str(directory / "c")},
            {"kind": "summary_saver", "save_steps": 6, "output_dir": str(directory / "s")},
            {
                "kind": "session_run",
                "before_run": lambda context: {"step": "global_step"},
                "after_run": lambda context, values: called.append(values["results"].keys()),
                "every_n_steps": 7,
            },
            {
                "kind": "early_stopping",
                "monitor": "loss",
                "data": "training",
                "mode": "max",
                "patience_steps": 20,
                "every_n_steps": 4,
            },
            tf.estimator.LoggingTensorHook(["loss"], every_n_iter=5),
            profiler,
        ]
        history = train(
            described("sparse", directory),
            settings(
                steps_per_run,
                save_checkpoints_steps=13,
                save_summary_steps=8,
                log_step_count_steps=10,
            ),
            source(None),
            hooks=read_hooks(hooks),
            saving_listeners=[Saves()],
        )
        return {
            "saved": saved,
            "elsewhere": sorted(path.name for path in (directory / "c").glob("*.index")),
            "shown": shown,
            "called": len(called),
            "summaries": events(directory, "loss"),
            "speed": events(directory, "global_step/sec"),
            "profiles": sorted(path.name for path in (directory / "p").glob("timeline*")),
            "record": (history.steps, history.losses, history.stopped_by),
        }

    alone, many = seen(1), seen(1000)
    assert alone == many
    assert alone["saved"][:3] == [0, 13, 26]
    assert alone["profiles"]
    assert max(runs) > 1


def test_stopping_saving_and_evaluating_meet_at_the_same_steps(tmp_path: Path, runs: list[int]):
    def evaluated(steps_per_run: int | str) -> Any:
        history = train_and_evaluate(
            described("sparse", tmp_path / str(steps_per_run)),
            settings(steps_per_run, save_checkpoints_steps=10),
            TrainSpec(source(None), max_steps=37),
            EvalSpec(source(1), throttle_s=0),
        )
        return history.steps, history.losses, history.evaluations

    assert evaluated(1) == evaluated("auto")
    assert max(runs) > 1


def test_a_hook_of_unknown_kind_sees_every_step_and_that_is_said(tmp_path: Path, runs: list[int]):
    seen: list[int] = []
    told: list[dict[str, Any]] = []

    class Watching(tf.estimator.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            del run_context, run_values
            seen.append(len(seen))

    history = train(
        described("sparse", tmp_path),
        settings(5),
        source(),
        hooks=[Watching()],
        listener=told.append,
    )
    assert len(seen) == STEPS
    assert runs == []
    expected = "This training takes one step per run: Watching looks at every step."
    assert history.notes == [expected]
    assert {"event": "note", "text": expected} in told


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
        (with_shuffle, "RandomShuffle 'RandomShuffle' draws random numbers in a way of its own"),
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


@pytest.mark.parametrize("fails", [True, False])
def test_a_loss_that_becomes_nan_ends_the_run_at_its_step(
    tmp_path: Path, runs: list[int], fails: bool
):
    label = Y.copy()
    label[30] = np.nan
    data = read(
        Input,
        {
            "kind": "in_memory",
            "columns": [
                {"name": "x", "type": "float", "shape": [models.FEATURES], "values": lambda: X},
                {"name": "y", "type": "float", "shape": [1], "values": lambda: label},
            ],
            "response": "y",
            "batch_size": BATCH,
            "shuffle": False,
        },
    )
    told: list[dict[str, Any]] = []
    hooks = [
        {"kind": "nan_tensor", "fail_on_nan_loss": fails},
        {"kind": "history_saver", "every_n_step": 1},
    ]

    def run() -> History:
        return train(
            described(custom(models.dense_with_sgd), tmp_path),
            settings(100),
            data,
            hooks=read_hooks(hooks),
            listener=told.append,
        )

    if fails:
        with pytest.raises(TrainingError, match="became NaN"):
            run()
    else:
        history = run()
        assert history.stopped_by == "hook_nan_tensor(): a value became NaN"
        # Row 30 is in the fourth batch.
        assert history.steps == [1, 2, 3, 4]
        assert np.isnan(history.losses[-1])
    assert runs == [99]
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-0")


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


# The pace, without a training --------------------------------------------------------------------


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def paced(step_s: float, loop_s: float, runs: int) -> list[int]:
    """The steps of runs, where a step takes step_s by itself and loop_s in a loop."""
    clock = Clock()
    pace = engine.step_runs.Pace("auto", clock)
    taken: list[int] = []
    for _ in range(runs):
        pace.begin_step()
        clock.now += step_s
        pace.end_step()
        if pace.is_worth_while():
            steps = pace.steps()
            pace.begin_run()
            clock.now += steps * loop_s
            pace.end_run(steps)
            taken.append(steps)
        else:
            taken.append(0)
    return taken


def test_a_run_grows_until_it_takes_a_twentieth_of_a_second():
    taken = paced(0.01, 0.001, 60)
    assert taken[:29] == [0] * 29
    begun = [steps for steps in taken if steps > 0]
    assert begun[:5] == [1, 1, 2, 4, 8]
    assert begun[-1] == 50


def test_steps_that_take_long_are_taken_one_by_one():
    assert set(paced(0.2, 0.19, 30)) == {0}


def test_a_short_training_does_not_pay_for_a_loop():
    assert set(paced(0.001, 0.0001, 200)) == {0}


def test_summaries_by_time_become_sparser(monkeypatch: pytest.MonkeyPatch):
    timer = engine.hook_savers.SparserTimer()
    begun = timer._begun
    times: list[float] = []
    for step, second in enumerate(np.arange(0, 1000, 0.5)):
        monkeypatch.setattr("time.time", lambda now=begun + second: now)
        if timer.should_trigger_for_step(step):
            timer.update_last_triggered_step(step)
            times.append(float(second))
    assert times[:4] == [0, 1, 2, 3]
    assert np.diff(times)[-1] >= 9
    assert 200 < len(times) < 400
