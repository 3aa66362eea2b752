"""Many steps per run: hooks act at the right steps, and runs have the right length."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import equality_models as models
from support.checkpoints import summary_steps
from support.many_steps import BATCH, STEPS, X, Y, custom, described, settings, source

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.errors import TrainingError
from tfdistribute.inputs import Input
from tfdistribute.training.history import History
from tfdistribute.training.hooks import read_hooks
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train import train
from tfdistribute.training.train_and_evaluate import train_and_evaluate

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


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
                "every_n_steps": 9,
            },
            {
                "kind": "checkpoint_saver",
                "every_n_steps": 11,
                "checkpoint_dir": str(directory / "c"),
            },
            {"kind": "summary_saver", "every_n_steps": 6, "output_dir": str(directory / "s")},
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
            "summaries": summary_steps(directory, "loss"),
            "more summaries": summary_steps(directory / "s", "loss"),
            "speed": summary_steps(directory, "global_step/sec"),
            "profiles": sorted(
                int(path.stem.split("-")[1]) for path in (directory / "p").glob("timeline*")
            ),
            "record": (history.steps, history.losses, history.stopped_by),
        }

    alone, many = seen(1), seen(1000)
    # TensorFlow's own hooks read the step while a step is running, when it may or may not be counted yet.
    for noted, every in {"summaries": 8, "more summaries": 6, "speed": 10, "profiles": 25}.items():
        for steps in (alone.pop(noted), many.pop(noted)):
            assert steps[0] <= every + 2
            assert steps[-1] > alone["record"][0][-1] - every - 2
            gaps = [after - before for before, after in itertools.pairwise(steps)]
            assert all(abs(gap - every) <= 1 for gap in gaps), (noted, steps)
    assert alone == many
    assert alone["saved"][:3] == [0, 13, 26]
    assert max(runs) > 1


def test_stopping_saving_and_evaluating_meet_at_the_same_steps(tmp_path: Path, runs: list[int]):
    def evaluated(steps_per_run: int | str) -> Any:
        history = train_and_evaluate(
            described("sparse", tmp_path / str(steps_per_run)),
            settings(steps_per_run, save_checkpoints_steps=20),
            TrainSpec(source(None), max_steps=37),
            EvalSpec(source(1), throttle_secs=0),
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


@pytest.mark.parametrize("base", ["SessionRunHook", "GlobalStepWaiterHook"])
def test_a_method_set_on_a_hook_sees_every_step(tmp_path: Path, runs: list[int], base: str):
    seen: list[int] = []
    hook = {
        "SessionRunHook": tf.estimator.SessionRunHook,
        "GlobalStepWaiterHook": lambda: v1.train.GlobalStepWaiterHook(0),
    }[base]()
    hook.before_run = lambda run_context: None
    hook.after_run = lambda run_context, run_values: seen.append(len(seen))
    history = train(described("sparse", tmp_path), settings(5), source(), hooks=[hook])
    assert len(seen) == STEPS
    assert runs == []
    assert history.notes == [f"This training takes one step per run: {base} looks at every step."]


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
        {"kind": "history_saver", "every_n_steps": 1},
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
    # As many full batches are left after the first step.
    assert runs == [4]
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-0")


# Run length, without training ---------------------------------------------------------------------


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def paced(step_s: float, loop_s: float, runs: int) -> list[int]:
    """Steps of the runs if a step takes step_s by itself and loop_s in a loop."""
    clock = Clock()
    pace = engine.step.runs.StepsPerRunTuner("auto", clock)
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
    taken = paced(0.003, 0.001, 150)
    assert taken[:100] == [0] * 100
    begun = [steps for steps in taken if steps > 0]
    assert begun[:5] == [1, 1, 2, 4, 8]
    assert begun[-1] == 50


@pytest.mark.parametrize(("step_s", "seconds"), [(0.011, 0.2), (0.024, 0.46)])
def test_what_is_done_between_two_runs_takes_a_twentieth_of_the_time(step_s: float, seconds: float):
    """As the agreement of many workers does, which share cores."""
    assert paced(step_s, 0.001, 60)[-1] == pytest.approx(seconds / 0.001, rel=0.01)


def test_a_run_takes_several_steps_even_if_they_take_long():
    assert paced(0.02, 0.02, 30)[-3:] == [4, 4, 4]


def test_a_run_that_a_hook_ends_early_does_not_shorten_the_next_ones():
    clock = Clock()
    pace = engine.step.runs.StepsPerRunTuner("auto", clock)
    taken: list[int] = []
    for number in range(40):
        # A hook acts after every third run, and the rows of an epoch end.
        steps = min(pace.steps(), 1 if number % 3 == 2 else 4096)
        pace.begin_run()
        clock.now += 0.001 + steps * 0.001
        pace.end_run(steps)
        taken.append(steps)
    full = [steps for number, steps in enumerate(taken) if number % 3 != 2]
    assert min(full[-10:]) > 40


def test_steps_that_take_long_are_taken_one_by_one():
    assert set(paced(0.2, 0.19, 30)) == {0}


def test_a_short_training_does_not_pay_for_a_loop():
    assert set(paced(0.001, 0.0001, 200)) == {0}


def test_summaries_by_time_become_sparser(monkeypatch: pytest.MonkeyPatch):
    timer = engine.hooks.savers.SparserTimer()
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
