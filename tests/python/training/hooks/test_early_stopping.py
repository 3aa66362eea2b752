"""Early stopping, with and without TensorFlow."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.hooks import hook, model, source, trained
from support.sampling import sampled
from support.strategies import every_strategy, settings

from tfdistribute.cluster.tf_config import TfConfig
from tfdistribute.errors import (
    ArgumentError,
    UnsupportedError,
)
from tfdistribute.training.history import History
from tfdistribute.training.hooks import (
    HookContext,
)
from tfdistribute.training.hooks.early_stopping import (
    EarlyStopping,
    Patience,
    Watch,
    notes_on_evaluations,
)
from tfdistribute.training.model_directory import global_step
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train_and_evaluate import train_and_evaluate
from tfdistribute.training.variables import variable_names, variable_value


def early(**fields: Any) -> EarlyStopping:
    settings = {"monitor": "loss", "data": "training", "mode": "min", "patience_steps": 20}
    described = hook("early_stopping", **{**settings, **fields})
    assert isinstance(described, EarlyStopping)
    return described


def test_patience_is_over_when_the_best_value_is_too_old():
    patience = Patience("min", 20, 0.0)
    assert [patience.is_over(10 * n, v) for n, v in enumerate([5, 4, 4.5, 4.2])] == [
        False,
        False,
        False,
        True,
    ]
    assert (patience.step, patience.value) == (10, 4)


@pytest.mark.parametrize(
    ("monitor", "mode", "data"),
    [
        ("loss", "min", "training"),
        ("auc_precision_recall", "max", "evaluation"),
        ("binary_accuracy", "max", "evaluation"),
        ("AUC", "max", "evaluation"),
        ("recall/positive_threshold_0.5", "max", "evaluation"),
        ("caucasian_error", "min", "evaluation"),
        ("total_recalled", "min", "evaluation"),
    ],
)
def test_the_metric_decides_which_values_are_better_and_where_they_come_from(
    monitor: str, mode: str, data: str
) -> None:
    described = EarlyStopping(monitor)
    assert (described.mode, described.data) == (mode, data)
    assert EarlyStopping("loss", data="evaluation").data == "evaluation"


def test_more_is_better_where_the_mode_says_so():
    patience = Patience("max", 10, 0.0)
    assert not patience.is_over(0, 0.5)
    assert not patience.is_over(10, 0.6)
    assert patience.is_over(20, 0.6)


def test_an_improvement_must_exceed_min_delta():
    patience = Patience("min", 10, 0.5)
    assert not patience.is_over(0, 4.0)
    assert patience.is_over(10, 3.5)
    assert not patience.is_over(20, 3.4)


def test_a_metric_that_is_never_a_number_ends_training():
    patience = Patience("min", 10, 0.0)
    assert not patience.is_over(0, math.nan)
    assert patience.is_over(10, math.nan)


EVERY_STEP = {"save_checkpoints_steps": 5}


@pytest.mark.parametrize(
    ("fields", "throttle_s", "last_step", "expected"),
    [
        (EVERY_STEP, 600, 400, "at most every 600 seconds: give `throttle_secs = 0`"),
        ({}, 0, None, "at most every 600 seconds, with the checkpoints: give `save_checkpoints"),
        ({"save_checkpoints_steps": 50}, 0, 400, "every 50 steps, with the checkpoints: "),
        ({"save_checkpoints_steps": 15}, 0, 15, "every 15 steps, with the checkpoints: "),
        (EVERY_STEP, 0, 400, None),
        (EVERY_STEP, 30, None, None),
        ({"save_checkpoints_secs": 10}, 0, 400, None),
    ],
)
def test_evaluations_that_may_be_too_few_are_noted_at_the_start(
    fields, throttle_s, last_step, expected
):
    hooks = [early(monitor="average_loss", data="evaluation"), early(), object()]
    history = History(last_step=last_step)
    notes = notes_on_evaluations(hooks, throttle_s, settings("none", **fields), history, 0)
    assert len(notes) == (expected is not None)
    assert all(expected in note for note in notes)


def test_the_loss_of_training_is_the_mean_since_the_last_look():
    history = History()
    watch = Watch(early(patience_steps=4, every_n_steps=2), HookContext("train", history=history))
    # Means of two: 2, 1, 1.5, 1.2. The single 0.5 is noise.
    losses = [3, 1, 1, 1, 2.5, 0.5, 1.2, 1.2]
    assert [watch(step, loss) for step, loss in enumerate(losses, 1)] == [False] * 7 + [True]
    assert history.stopped_by == "hook_early_stopping(): loss (training) was best at step 4 (1)"


def test_steps_before_min_steps_do_not_count():
    watch = Watch(early(patience_steps=2, every_n_steps=1, min_steps=10), HookContext("train"))
    # The best value overall, before step 10, must not count against later ones.
    assert not any(watch(step, 0.0) for step in range(1, 10))
    assert not watch(10, 5.0)
    assert not watch(11, 4.0)


def test_looks_can_be_seconds_apart():
    now = [0.0]
    watch = Watch(early(patience_steps=1, every_s=10), HookContext("train"), clock=lambda: now[0])
    assert not watch(1, 1.0)
    now[0] = 10.0
    assert not watch(2, 1.0)
    assert not watch(3, 9.0)
    now[0] = 20.0
    assert watch(4, 9.0)


def test_evaluations_are_watched_where_they_are_made():
    history = History()
    run = HookContext("train_and_evaluate", history=history)
    watch = Watch(early(monitor="accuracy", data="evaluation", mode="max", patience_steps=20), run)
    assert not watch(1, 0.0)
    stops: list[bool] = []
    for step, accuracy in [(10, 0.5), (20, 0.7), (30, 0.7), (40, 0.6)]:
        history.note_evaluation({"accuracy": accuracy, "global_step": step})
        stops.append(watch(step + 1, 0.0))
    assert stops == [False, False, False, True]


def test_an_unknown_metric_is_named_with_those_that_there_are():
    history = History()
    watch = Watch(
        early(monitor="rmse", data="evaluation"), HookContext("train_and_evaluate", history=history)
    )
    history.note_evaluation({"accuracy": 0.5, "loss": 1, "global_step": 10})
    with pytest.raises(ArgumentError, match="not a metric") as caught:
        watch(10, 0.0)
    assert caught.value.remedy == "Use one of accuracy, loss."


def test_evaluations_are_refused_where_nothing_evaluates():
    with pytest.raises(ArgumentError, match=r"train\(\) does not evaluate"):
        early(data="evaluation").check(HookContext("train"))


@pytest.mark.parametrize(
    ("cluster", "fields"),
    [
        ({"chief": ("a:1",), "worker": ("b:1",)}, {"data": "evaluation"}),
        ({"chief": ("a:1",), "worker": ("b:1",)}, {"every_s": 5}),
        ({"chief": ("a:1",), "ps": ("b:1",)}, {}),
    ],
)
def test_tasks_that_would_end_at_different_steps_are_refused(cluster: Any, fields: dict[str, Any]):
    run = HookContext("train_and_evaluate", tf_config=TfConfig(cluster, "chief", 0))
    with pytest.raises(UnsupportedError, match="different steps"):
        early(**fields).check(run)


def test_workers_in_sync_may_stop_by_their_common_loss():
    run = HookContext(
        "train_and_evaluate", tf_config=TfConfig({"worker": ("a:1", "b:1")}, "worker", 0)
    )
    early(every_n_steps=10).check(run)


@pytest.mark.usefixtures("tensorflow")
@every_strategy
def test_early_stopping_ends_with_a_checkpoint_of_the_model_only(tmp_path: Path, strategy: str):
    # Without a learning rate nothing improves: the four batches have the same mean at steps 4, 8, ..., 24.
    stopping = early(patience_steps=20, every_n_steps=4)
    history = trained(tmp_path, [stopping], strategy, steps=200, learning_rate=0.0)
    assert global_step(str(tmp_path)) == 24
    assert history.steps[-1] == 24
    assert history.stopped_by is not None
    assert history.stopped_by.startswith(
        "hook_early_stopping(): loss (training) was best at step 4"
    )
    assert variable_names(str(tmp_path)) == [
        "global_step",
        "linear/linear_model/bias_weights",
        "linear/linear_model/x/weights",
    ]


@pytest.mark.usefixtures("tensorflow")
@sampled("strategy", ["none", "mirrored"], check=["mirrored"])
def test_early_stopping_goes_by_seconds_too(tmp_path: Path, strategy: str):
    stopping = early(patience_steps=1, every_s=0.2)
    # A compiled loop takes 100,000 steps in an eighth of a second.
    steps = 10_000_000
    history = trained(tmp_path, [stopping], strategy, steps=steps, learning_rate=0.0)
    assert history.stopped_by is not None
    assert global_step(str(tmp_path)) < steps


@pytest.mark.usefixtures("tensorflow")
@sampled("strategy", ["none", "mirrored"], check=["mirrored"])
def test_early_stopping_by_an_evaluation_metric_ends_train_and_evaluate(
    tmp_path: Path, strategy: str
):
    stopping = early(monitor="average_loss", data="evaluation", patience_steps=20)
    history = train_and_evaluate(
        model(tmp_path, learning_rate=0.0),
        settings(strategy, save_checkpoints_steps=10),
        TrainSpec(source(), max_steps=500, hooks=(stopping,)),
        EvalSpec(source(epochs=1), throttle_secs=0),
    )
    # Evaluated at 10 (the best), 20 and 30; the evaluation of step 30 is seen at once or one step later.
    assert 30 <= global_step(str(tmp_path)) <= 31
    assert [int(metrics["global_step"]) for metrics in history.evaluations][:3] == [10, 20, 30]
    assert history.stopped_by is not None
    assert "average_loss (evaluation)" in history.stopped_by


@pytest.mark.usefixtures("tensorflow")
def test_a_training_notes_that_its_evaluations_may_be_too_few(tmp_path: Path):
    stopping = early(monitor="average_loss", data="evaluation", patience_steps=20)
    history = train_and_evaluate(
        model(tmp_path),
        settings("none", save_checkpoints_steps=5),
        TrainSpec(source(), max_steps=5, hooks=(stopping,)),
        EvalSpec(source(epochs=1), throttle_secs=0),
    )
    assert [note for note in history.notes if "monitors evaluations, which come every 5" in note]


@pytest.mark.usefixtures("tensorflow")
def test_a_training_that_improves_is_not_stopped(tmp_path: Path):
    history = trained(tmp_path, [early(patience_steps=5, every_n_steps=4)], steps=20)
    assert history.stopped_by is None
    assert global_step(str(tmp_path)) == 20


@pytest.mark.usefixtures("tensorflow")
@sampled("strategy", ["none", "mirrored"], check=["mirrored"])
def test_the_best_weights_of_a_training_are_its_last_checkpoint(tmp_path: Path, strategy: str):
    # With this learning rate, the loss grows: the first check, at step 4, is the best.
    stopping = early(patience_steps=8, every_n_steps=4, restore_best_weights=True)
    trainings = {
        directory: trained(
            tmp_path / directory,
            hooks,
            strategy,
            steps=steps,
            learning_rate=1.2,
            save_checkpoints_steps=3,
        )
        for directory, hooks, steps in (("restored", [stopping], 200), ("short", [], 4))
    }
    assert str(trainings["restored"].stopped_by).endswith(", and its weights are restored")
    assert global_step(str(tmp_path / "restored")) == 4
    restored, short = (
        variable_value(str(tmp_path / directory), "linear/linear_model/x/weights")
        for directory in trainings
    )
    np.testing.assert_array_equal(restored, short)
    assert not list((tmp_path / "restored").glob("best*"))


@pytest.mark.usefixtures("tensorflow")
def test_the_checkpoint_of_the_best_evaluation_is_restored(tmp_path: Path):
    stopping = early(
        monitor="average_loss", data="evaluation", patience_steps=20, restore_best_weights=True
    )
    train_and_evaluate(
        model(tmp_path, learning_rate=1.2),
        settings("none", save_checkpoints_steps=10, keep_checkpoint_max=1),
        TrainSpec(source(), max_steps=500, hooks=(stopping,)),
        EvalSpec(source(epochs=1), throttle_secs=0),
    )
    assert global_step(str(tmp_path)) == 10


def test_best_weights_are_not_restored_in_a_cluster():
    run = HookContext("train", tf_config=TfConfig({"worker": ("a:1", "b:1")}, "worker", 0))
    with pytest.raises(UnsupportedError, match="restore_best_weights"):
        early(every_n_steps=10, restore_best_weights=True).check(run)
