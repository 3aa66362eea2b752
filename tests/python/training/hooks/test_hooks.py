"""Session hooks: descriptions, TensorFlow's objects, and their work under every strategy of one machine."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.sampling import sampled

from tfdistribute.callbacks import Callback
from tfdistribute.cluster.tf_config import TfConfig
from tfdistribute.descriptions import read
from tfdistribute.errors import (
    ArgumentError,
    CallbackError,
    InputError,
    TrainingError,
    UnsupportedError,
)
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.history import History
from tfdistribute.training.hooks import (
    Hook,
    HookContext,
    as_hooks,
    may_end,
    read_hooks,
    record_interval,
)
from tfdistribute.training.hooks.early_stopping import EarlyStopping, Patience, Watch
from tfdistribute.training.model_directory import latest_checkpoint
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train import train
from tfdistribute.training.train_and_evaluate import train_and_evaluate
from tfdistribute.training.variables import global_step, variable_names

X = np.random.default_rng(3).normal(size=32).astype("float32")
Y = 2 * X

STRATEGIES: dict[str, dict[str, Any] | None] = {
    "none": None,
    "one device": {"kind": "one_device", "device": "CPU:0"},
    "mirrored": {"kind": "mirrored", "devices": 2},
    "central storage": {"kind": "central_storage", "devices": 2},
}
MOMENTS = ["begin", "after_create_session", "before_run", "after_run", "end"]
every_strategy = sampled("strategy", STRATEGIES, check=["none", "mirrored"])


def hook(kind: str, **fields: Any) -> Hook:
    return read(Hook, {"kind": kind, **fields})


def early(**fields: Any) -> EarlyStopping:
    settings = {"monitor": "loss", "data": "training", "mode": "min", "patience_steps": 20}
    described = hook("early_stopping", **{**settings, **fields})
    assert isinstance(described, EarlyStopping)
    return described


def source(num_epochs: int | None = None, values: np.ndarray = Y) -> Input:
    return read(
        Input,
        {
            "kind": "in_memory",
            "columns": [
                {"name": "x", "type": "float", "values": lambda: X},
                {"name": "y", "type": "float", "values": lambda: values},
            ],
            "response": "y",
            "batch_size": 8,
            "shuffle": False,
            "num_epochs": num_epochs,
        },
    )


def model(directory: Path, learning_rate: float = 0.1) -> Model:
    return read(
        Model,
        {
            "kind": "linear_regressor",
            "model_dir": str(directory),
            "feature_columns": [{"kind": "numeric", "key": "x"}],
            "optimizer": {
                "kind": "named",
                "name": "SGD",
                "settings": {"learning_rate": learning_rate},
            },
        },
    )


def settings(strategy: str = "none", **fields: Any) -> RunSettings:
    return read(RunSettings, {"train_distribute": STRATEGIES[strategy], **fields})


def trained(
    directory: Path,
    hooks: Sequence[Any],
    strategy: str = "none",
    steps: int | None = 12,
    learning_rate: float = 0.1,
    **fields: Any,
) -> History:
    return train(
        model(directory, learning_rate),
        settings(strategy, **fields),
        source(),
        steps=steps,
        hooks=hooks,
    )


# Descriptions -----------------------------------------------------------------------------------


def test_mappings_become_hooks_and_tensorflows_objects_stay():
    own = object()
    hooks = read_hooks([{"kind": "stop_at_step", "num_steps": 5.0}, own])
    assert hooks[0] == hook("stop_at_step", num_steps=5)
    assert hooks[1] is own


def test_a_hook_that_only_trains_is_refused_elsewhere():
    with pytest.raises(ArgumentError, match=r"hook_stop_at_step\(\) works while a model trains"):
        as_hooks([hook("stop_at_step", num_steps=5)], HookContext("evaluate"))


def test_the_last_history_saver_sets_the_interval():
    hooks = [hook("history_saver", every_n_step=3), hook("history_saver", every_n_step=5)]
    assert record_interval(hooks, 10) == 5
    assert record_interval([hook("progress_bar")], 10) == 10


def test_only_hooks_that_can_end_a_training_replace_its_steps():
    assert may_end([hook("stop_at_step", num_steps=5)])
    assert may_end([object()])
    assert not may_end([hook("progress_bar"), hook("step_counter", every_n_steps=5)])


# Early stopping, without TensorFlow -------------------------------------------------------------


def test_patience_is_over_when_the_best_value_is_too_old():
    patience = Patience("min", 20, 0.0)
    assert [patience.is_over(10 * n, v) for n, v in enumerate([5, 4, 4.5, 4.2])] == [
        False,
        False,
        False,
        True,
    ]
    assert (patience.step, patience.value) == (10, 4)


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


def test_the_loss_of_training_is_the_mean_since_the_last_look():
    history = History()
    watch = Watch(early(patience_steps=4, every_n_steps=2), HookContext("train", history=history))
    # Means of two: 2, 1, 1.5, 1.2. The single 0.5 is noise.
    losses = [3, 1, 1, 1, 2.5, 0.5, 1.2, 1.2]
    assert [watch(step, loss) for step, loss in enumerate(losses, 1)] == [False] * 7 + [True]
    assert history.stopped_by == "hook_early_stopping(): loss (training) was best at step 4 (1)"


def test_steps_before_min_steps_do_not_count():
    watch = Watch(early(patience_steps=2, every_n_steps=1, min_steps=10), HookContext("train"))
    # The best value of all, before step 10, must not count against the later ones.
    assert not any(watch(step, 0.0) for step in range(1, 10))
    assert not watch(10, 5.0)
    assert not watch(11, 4.0)


def test_looks_can_be_seconds_apart():
    now = [0.0]
    watch = Watch(
        early(patience_steps=1, every_secs=10), HookContext("train"), clock=lambda: now[0]
    )
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
        ({"chief": ("a:1",), "worker": ("b:1",)}, {"every_secs": 5}),
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


# Hooks at work ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("tensorflow")
@every_strategy
def test_early_stopping_ends_training_with_a_checkpoint_and_nothing_else_in_it(
    tmp_path: Path, strategy: str
):
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
    stopping = early(patience_steps=1, every_secs=0.2)
    history = trained(tmp_path, [stopping], strategy, steps=100_000, learning_rate=0.0)
    assert history.stopped_by is not None
    assert global_step(str(tmp_path)) < 100_000


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
        EvalSpec(source(num_epochs=1), throttle_secs=0),
    )
    # Evaluated at 10 (the best there is), 20, 30; the evaluation of step 30 is seen at once or one step later.
    assert 30 <= global_step(str(tmp_path)) <= 31
    assert [int(metrics["global_step"]) for metrics in history.evaluations][:3] == [10, 20, 30]
    assert history.stopped_by is not None
    assert "average_loss (evaluation)" in history.stopped_by


@pytest.mark.usefixtures("tensorflow")
def test_a_training_that_improves_is_not_stopped(tmp_path: Path):
    history = trained(tmp_path, [early(patience_steps=5, every_n_steps=4)], steps=20)
    assert history.stopped_by is None
    assert global_step(str(tmp_path)) == 20


@pytest.mark.usefixtures("tensorflow")
def test_stop_at_step_ends_an_input_without_end(tmp_path: Path):
    history = trained(tmp_path, [hook("stop_at_step", num_steps=7)], steps=None)
    assert global_step(str(tmp_path)) == 7
    assert history.stopped_by == "hook_stop_at_step()"


@pytest.mark.usefixtures("tensorflow")
def test_an_input_without_end_is_refused_where_no_hook_can_end_it(tmp_path: Path):
    with pytest.raises(InputError, match="never end"):
        trained(tmp_path, [hook("progress_bar")], steps=None)


@pytest.mark.usefixtures("tensorflow")
@every_strategy
def test_functions_are_called_on_this_thread_with_the_values_they_asked_for(
    tmp_path: Path, strategy: str
):
    called: list[str] = []
    losses: list[float] = []
    threads: set[threading.Thread] = set()

    def note(moment: str) -> Callable[..., Any]:
        def function(*arguments: Any) -> Any:
            called.append(moment)
            threads.add(threading.current_thread())
            if moment == "before_run":
                return {"loss": "loss", "weights": "linear/linear_model/x/weights"}
            if moment == "after_run":
                losses.append(float(arguments[1]["results"]["loss"]))
                assert arguments[1]["results"]["weights"].shape == (1, 1)
            return None

        return function

    described = hook("session_run", **{moment: note(moment) for moment in MOMENTS})
    history = trained(
        tmp_path, [described, hook("history_saver", every_n_step=1)], strategy, steps=3
    )
    assert called == [*MOMENTS[:2], *(["before_run", "after_run"] * 3), "end"]
    assert threads == {threading.current_thread()}
    # The reference is TensorFlow's own record of the training.
    assert losses == history.losses
    assert len(losses) == 3


@pytest.mark.usefixtures("tensorflow")
@sampled(
    ("moment", "strategy"),
    [(moment, strategy) for moment in MOMENTS for strategy in ("none", "mirrored")],
    check=[("begin", "none"), ("before_run", "mirrored"), ("after_run", "none"), ("end", "none")],
)
def test_an_error_in_a_function_ends_training_and_is_raised(
    tmp_path: Path, moment: str, strategy: str
):
    calls = [0]

    def fail(*arguments: Any) -> dict[str, Any]:
        calls[0] += 1
        wait = 7 if moment in ("before_run", "after_run") else 1
        return {"error": "the sky fell"} if calls[0] == wait else {"value": None}

    described = hook("session_run", **{moment: Callback(fail, ("...",))})
    with pytest.raises(CallbackError, match="the sky fell"):
        trained(tmp_path, [described], strategy, save_checkpoints_steps=5)
    if moment in ("before_run", "after_run"):
        # What was saved before stays, and training continues from there.
        assert global_step(str(tmp_path)) == 5
    trained(tmp_path, [], strategy, steps=1)


@pytest.mark.usefixtures("tensorflow")
def test_a_function_can_end_training(tmp_path: Path):
    def after_run(context: Any, values: Any) -> None:
        if values["results"]["step"] >= 4:
            context.request_stop()

    described = hook(
        "session_run", before_run=lambda context: {"step": "global_step"}, after_run=after_run
    )
    history = trained(tmp_path, [described], steps=50)
    assert history.stopped_by == "session_run_hook()"
    assert global_step(str(tmp_path)) in (4, 5)


@pytest.mark.usefixtures("tensorflow")
def test_an_unknown_tensor_is_named_with_those_that_sound_like_it(tmp_path: Path):
    shown = hook("logging_tensor", tensors={"l": "los"}, show=print, every_n_iter=1)
    with pytest.raises(ArgumentError, match='`tensors` names "los"') as caught:
        trained(tmp_path, [shown])
    assert "loss" in (caught.value.remedy or "")


@pytest.mark.usefixtures("tensorflow")
@every_strategy
def test_tensors_are_shown_every_few_steps_and_at_the_end(tmp_path: Path, strategy: str):
    shown: list[tuple[int, dict[str, Any]]] = []

    def show(step: int, values: dict[str, Any]) -> None:
        shown.append((step, values))

    described = hook(
        "logging_tensor",
        tensors={"loss": "loss", "weights": "linear/linear_model/x/weights"},
        show=show,
        every_n_iter=5,
        at_end=True,
    )
    # The input ends training: a tensor of the input cannot be computed any more when the hook ends.
    history = train(
        model(tmp_path),
        settings(strategy),
        source(num_epochs=2),
        hooks=[described, hook("history_saver", every_n_step=1)],
    )
    assert [step for step, _ in shown] == [1, 6, 8]
    by_step = dict(zip(history.steps, history.losses, strict=True))
    assert [values["loss"] for _, values in shown] == [by_step[step] for step in (1, 6, 8)]


@pytest.mark.usefixtures("tensorflow")
def test_seconds_pass_between_two_shows(tmp_path: Path):
    shown: list[int] = []
    described = hook(
        "logging_tensor",
        tensors={"loss": "loss"},
        show=lambda step, values: shown.append(step),
        every_n_secs=3600,
    )
    trained(tmp_path, [described])
    assert shown == [1]


@pytest.mark.usefixtures("tensorflow")
def test_the_history_saver_sets_the_record(tmp_path: Path):
    history = trained(tmp_path, [hook("history_saver", every_n_step=3)], steps=9)
    assert history.steps == [1, 3, 6, 9]


@pytest.mark.usefixtures("tensorflow")
@every_strategy
def test_checkpoints_elsewhere_do_not_take_the_place_of_the_models_own(
    tmp_path: Path, strategy: str
):
    elsewhere = tmp_path / "elsewhere"
    saver = hook("checkpoint_saver", checkpoint_dir=str(elsewhere), save_steps=4)
    trained(tmp_path / "model", [saver], strategy, steps=10)
    saved = sorted(path.name for path in elsewhere.glob("*.index"))
    assert saved == [f"model.ckpt-{step}.index" for step in (0, 10, 4, 8)]
    assert global_step(str(tmp_path / "model")) == 10
    restored = evaluate(
        model(tmp_path / "model"),
        settings(),
        source(num_epochs=1),
        checkpoint_path=str(elsewhere / "model.ckpt-10"),
    )
    assert restored == evaluate(model(tmp_path / "model"), settings(), source(num_epochs=1))


@pytest.mark.usefixtures("tensorflow")
def test_checkpoints_in_model_dir_are_those_of_the_hook_only(tmp_path: Path):
    saver = hook("checkpoint_saver", save_steps=4)
    trained(tmp_path, [saver], steps=10, save_checkpoints_steps=3)
    saved = sorted(path.name for path in tmp_path.glob("*.index"))
    assert saved == [f"model.ckpt-{step}.index" for step in (0, 10, 4, 8)]
    assert latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-10")


@pytest.mark.usefixtures("tensorflow")
@sampled("strategy", ["none", "mirrored"], check=["mirrored"])
def test_summaries_and_speed_are_written_where_asked(
    tmp_path: Path, tensorflow: Any, strategy: str
):
    logs = tmp_path / "logs"
    hooks = [
        hook("summary_saver", save_steps=2, output_dir=str(logs)),
        hook("step_counter", every_n_steps=2, output_dir=str(logs)),
    ]
    trained(tmp_path / "model", hooks, strategy, steps=8)
    tags: dict[str, list[int]] = {}
    for path in logs.glob("events.*"):
        for event in tensorflow.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                tags.setdefault(value.tag, []).append(event.step)
    assert len(tags["loss"]) >= 4
    assert len(tags["global_step/sec"]) >= 2


@pytest.mark.usefixtures("tensorflow")
@pytest.mark.parametrize("fail", [True, False])
@sampled("strategy", ["none", "mirrored"], check=["mirrored"])
def test_a_loss_that_is_not_a_number_fails_or_ends_training(
    tmp_path: Path, strategy: str, fail: bool
):
    broken = Y.copy()
    broken[20] = np.nan  # in the third batch of eight

    def run() -> History:
        return train(
            model(tmp_path),
            settings(strategy),
            source(values=broken),
            steps=10,
            hooks=[hook("nan_tensor", fail_on_nan_loss=fail)],
        )

    if fail:
        with pytest.raises(TrainingError, match=r'"loss" became NaN'):
            run()
    else:
        assert run().stopped_by == "hook_nan_tensor(): a value became NaN"
    # Nothing that holds NaN was saved.
    assert global_step(str(tmp_path)) == 0


@pytest.mark.usefixtures("tensorflow")
def test_waiting_for_a_step_that_no_other_task_reaches_is_an_error_at_once(tmp_path: Path):
    with pytest.raises(TrainingError, match="waits for step 100, and no other task trains"):
        trained(tmp_path, [hook("global_step_waiter", wait_until_step=100)])
    trained(tmp_path, [], steps=5)
    trained(tmp_path, [hook("global_step_waiter", wait_until_step=5)], steps=1)
    assert global_step(str(tmp_path)) == 6


@pytest.mark.usefixtures("tensorflow")
def test_evaluations_take_hooks_too(tmp_path: Path):
    trained(tmp_path, [], steps=2)
    calls: list[int] = []
    described = hook("session_run", after_run=lambda context, values: calls.append(1))
    evaluate(model(tmp_path), settings(), source(num_epochs=1), hooks=[described])
    assert len(calls) == 4
