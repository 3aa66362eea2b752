"""Hooks: descriptions, and effects on training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.hooks import Y, hook, model, source, trained
from support.sampling import sampled
from support.strategies import every_strategy, settings

from tfdistribute import engine
from tfdistribute.checkpoints.newest import newest_checkpoint
from tfdistribute.cluster.tf_config import TfConfig
from tfdistribute.errors import (
    ArgumentError,
    InputError,
    TrainingError,
)
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.history import History
from tfdistribute.training.hooks import (
    HookContext,
    as_hooks,
    may_end,
    read_hooks,
    record_interval,
)
from tfdistribute.training.model_directory import global_step
from tfdistribute.training.train import train


def test_mappings_become_hooks_and_tensorflows_objects_stay():
    own = object()
    hooks = read_hooks([{"kind": "stop_at_step", "num_steps": 5.0}, own])
    assert hooks[0] == hook("stop_at_step", num_steps=5)
    assert hooks[1] is own


def test_a_hook_that_only_trains_is_refused_elsewhere():
    with pytest.raises(ArgumentError, match=r"hook_stop_at_step\(\) works while a model trains"):
        as_hooks([hook("stop_at_step", num_steps=5)], HookContext("evaluate"))


def test_the_last_history_saver_sets_the_interval():
    hooks = [hook("history_saver", every_n_steps=3), hook("history_saver", every_n_steps=5)]
    assert record_interval(hooks) == 5
    assert record_interval([hook("progress_bar")]) == 10


def test_only_hooks_that_can_end_a_training_replace_its_steps():
    assert may_end([hook("stop_at_step", num_steps=5)])
    assert may_end([object()])
    assert not may_end([hook("progress_bar"), hook("step_counter", every_n_steps=5)])


@pytest.mark.smoke
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
def test_an_unknown_tensor_is_named_with_those_that_sound_like_it(tmp_path: Path):
    shown = hook("logging_tensor", tensors={"l": "los"}, show=print, every_n_steps=1)
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
        every_n_steps=5,
        at_end=True,
    )
    # The input ends training, so the hook cannot evaluate tensors of the input at the end.
    history = train(
        model(tmp_path),
        settings(strategy),
        source(epochs=2),
        hooks=[described, hook("history_saver", every_n_steps=1)],
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
        every_s=3600,
    )
    trained(tmp_path, [described])
    assert shown == [1]


@pytest.mark.usefixtures("tensorflow")
def test_the_history_saver_sets_the_record(tmp_path: Path):
    history = trained(tmp_path, [hook("history_saver", every_n_steps=3)], steps=9)
    assert history.steps == [1, 3, 6, 9]


@pytest.mark.usefixtures("tensorflow")
@every_strategy
def test_checkpoints_elsewhere_do_not_take_the_place_of_the_models_own(
    tmp_path: Path, strategy: str
):
    elsewhere = tmp_path / "elsewhere"
    saver = hook("checkpoint_saver", checkpoint_dir=str(elsewhere), every_n_steps=4)
    trained(tmp_path / "model", [saver], strategy, steps=10)
    saved = sorted(path.name for path in elsewhere.glob("*.index"))
    assert saved == [f"model.ckpt-{step}.index" for step in (0, 10, 4, 8)]
    assert global_step(str(tmp_path / "model")) == 10
    restored = evaluate(
        model(tmp_path / "model"),
        settings(),
        source(epochs=1),
        checkpoint_path=str(elsewhere / "model.ckpt-10"),
    )
    assert restored == evaluate(model(tmp_path / "model"), settings(), source(epochs=1))


@pytest.mark.usefixtures("tensorflow")
def test_checkpoints_in_model_dir_are_those_of_the_hook_only(tmp_path: Path):
    saver = hook("checkpoint_saver", every_n_steps=4)
    trained(tmp_path, [saver], steps=10, save_checkpoints_steps=3)
    saved = sorted(path.name for path in tmp_path.glob("*.index"))
    assert saved == [f"model.ckpt-{step}.index" for step in (0, 10, 4, 8)]
    assert newest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-10")


@pytest.mark.usefixtures("tensorflow")
@sampled("strategy", ["none", "mirrored"], check=["mirrored"])
def test_summaries_and_speed_are_written_where_asked(
    tmp_path: Path, tensorflow: Any, strategy: str
):
    logs = tmp_path / "logs"
    hooks = [
        hook("summary_saver", every_n_steps=2, output_dir=str(logs)),
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


WRITERS: dict[str, dict[str, Any]] = {
    "checkpoint_saver": {"every_n_steps": 2, "checkpoint_dir": "s3://other/backup"},
    "summary_saver": {"every_n_steps": 2, "output_dir": "gs://other/logs"},
    "step_counter": {"every_n_steps": 2, "output_dir": "s3://other/logs"},
    "profiler": {"steps": [1, 2], "output_dir": "s3://other/logs"},
}


@pytest.mark.usefixtures("tensorflow")
@pytest.mark.parametrize("kind", WRITERS)
def test_a_directory_in_a_bucket_is_refused_before_the_first_step(tmp_path: Path, kind: str):
    with pytest.raises(ArgumentError, match="_dir` .*://other/.* on remote storage") as error:
        trained(tmp_path, [hook(kind, **WRITERS[kind])], steps=4)
    assert str(error.value.argument).endswith("_dir")
    assert newest_checkpoint(str(tmp_path)) is None


def profiled(directory: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[int]:
    """Train for 12 steps with a profile of the steps 4 to 6; return the steps before its start and its stop."""
    profiler, seen = engine.tf.profiler.experimental, list[int]()
    made = engine.hooks.ProfileSteps(4, 6, str(directory / "profile"))

    def noting(real: Any) -> Any:
        return lambda *values, **others: (seen.append(made._step), real(*values, **others))

    for name in ("start", "stop"):
        monkeypatch.setattr(profiler, name, noting(getattr(profiler, name)))
    monkeypatch.setattr(engine.hooks, "ProfileSteps", lambda *_: made)
    trained(directory, [hook("profiler", steps=(4, 6))], **settings)
    return seen


@pytest.mark.usefixtures("tensorflow")
@pytest.mark.parametrize("strategy", ["none", "mirrored"])
def test_only_the_steps_that_were_asked_for_are_profiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
):
    assert profiled(tmp_path, monkeypatch, strategy=strategy) == [3, 6]
    (profile,) = tmp_path.glob("profile/plugins/profile/*/*.xplane.pb")
    assert b"SessionRun" in profile.read_bytes()


@pytest.mark.usefixtures("tensorflow")
def test_a_training_that_ends_within_the_profile_writes_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert profiled(tmp_path, monkeypatch, steps=5) == [3, 5]
    assert list(tmp_path.glob("profile/plugins/profile/*/*.xplane.pb"))


@pytest.mark.usefixtures("tensorflow")
def test_a_profile_begins_although_a_training_failed_within_one(tmp_path: Path):
    class Fails(engine.tf.estimator.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            raise TrainingError("It failed.", None)

    profile = hook("profiler", steps=(1, 6))
    with pytest.raises(TrainingError, match="It failed"):
        trained(tmp_path / "a", [profile, Fails()])
    trained(tmp_path / "b", [profile])
    assert list(tmp_path.glob("b/profile/plugins/profile/*/*.xplane.pb"))


@pytest.mark.usefixtures("tensorflow")
def test_a_run_of_many_steps_ends_where_a_profile_begins_and_ends():
    skippable = engine.hooks.ProfileSteps(4, 6, "").required_steps(None).skippable_steps
    assert [skippable(step) for step in range(7)] == [2, 1, 0, 2, 1, 0, np.inf]


def test_each_task_profiles_into_its_own_directory(tmp_path: Path):
    cluster = {"chief": ("a:1",), "worker": ("b:1",)}
    config = TfConfig(cluster, "worker", 0)
    (made,) = as_hooks(
        [hook("profiler", steps=(1, 2))], HookContext("train", str(tmp_path), None, config)
    )
    assert made._directory == str(tmp_path / "profile" / "worker-0")


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
    # No checkpoint contains NaN.
    assert global_step(str(tmp_path)) == 0


@pytest.mark.usefixtures("tensorflow")
def test_waiting_for_a_step_without_other_tasks_is_an_error(tmp_path: Path):
    with pytest.raises(TrainingError, match="waits for step 100, and no other task trains"):
        trained(tmp_path, [hook("global_step_waiter", wait_until_step=100)])
    trained(tmp_path, [], steps=5)
    trained(tmp_path, [hook("global_step_waiter", wait_until_step=5)], steps=1)
    assert global_step(str(tmp_path)) == 6
