"""Session hooks that write checkpoints, summaries and the speed."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from tfdistribute.engine.hooks import fetches, step_requirements


class SaveElsewhere(tf.estimator.SessionRunHook):
    """Write checkpoints to a directory other than the model's.

    Estimator would use a ``CheckpointSaverHook`` in place of its own, and a shared saver deletes its old checkpoints.
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def begin(self) -> None:
        self._hook = self._make(tf.compat.v1.train.Saver(save_relative_paths=True))
        self._hook.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._hook.after_create_session(session, coord)

    def before_run(self, run_context: Any) -> Any:
        return self._hook.before_run(run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._hook.after_run(run_context, run_values)

    def required_steps(self, loss: Any) -> step_requirements.StepRequirements:
        return step_requirements.requirements_of(self._hook, loss)

    def end(self, session: Any) -> None:
        self._hook.end(session)


class SaveSummaries(tf.estimator.SummarySaverHook):
    def __init__(self, summary_op: Any, **settings: Any) -> None:
        # TensorFlow requires one before there is a graph; begin() finds the real one.
        super().__init__(summary_op="", **settings)
        self._wanted = summary_op

    def begin(self) -> None:
        graph = tf.compat.v1.get_default_graph()
        if self._wanted is None:
            self._summary_op = tf.compat.v1.summary.merge_all()
        elif isinstance(self._wanted, (list, tuple)):
            self._summary_op = [fetches.find(each, graph, "summary_op") for each in self._wanted]
        else:
            self._summary_op = fetches.find(self._wanted, graph, "summary_op")
        super().begin()

    required_steps = step_requirements.by_coming_step

    def _get_summary_op(self) -> Any:
        # A graph may have no summaries at all.
        return None if self._summary_op is None else super()._get_summary_op()


def checkpoints(
    config: Any, scaffold: Any, make: Callable[..., Any] = tf.estimator.CheckpointSaverHook
) -> list[Any]:
    secs, steps = config.save_checkpoints_secs, config.save_checkpoints_steps
    if not (secs or steps):
        return []
    return [
        make(
            config.model_dir,
            save_secs=secs,
            save_steps=steps,
            scaffold=scaffold,
            save_graph_def=config.checkpoint_save_graph_def,
        )
    ]


def summaries(scaffold: Any, save_at: int | str, **where: Any) -> Any:
    """Make the hook that writes all summaries of a graph; for "auto" see ``SparserTimer``."""
    steps = 1 if save_at == "auto" else save_at
    hook = tf.estimator.SummarySaverHook(save_steps=steps, scaffold=scaffold, **where)
    if save_at == "auto":
        hook._timer = SparserTimer()
    return hook


def speed(save_at: int | str, **where: Any) -> Any:
    steps = 1 if save_at == "auto" else save_at
    hook = tf.estimator.StepCounterHook(every_n_steps=steps, **where)
    if save_at == "auto":
        hook._timer = SparserTimer()
    return hook


def expect_runs(hooks: Iterable[Any], steps: int) -> None:
    for hook in hooks:
        if isinstance(hook, (tf.estimator.CheckpointSaverHook, tf.estimator.StepCounterHook)):
            hook._set_steps_per_run(steps)


class SparserTimer(tf.estimator.SecondOrStepTimer):
    """Timer that triggers at the first step, then every second, and less often the longer a training lasts."""

    def __init__(self, every_secs: float = 1.0, share: float = 0.01) -> None:
        super().__init__(every_secs=every_secs)
        self._least_s, self._share = every_secs, share
        self._begun = time.time()

    def should_trigger_for_step(self, step: int) -> bool:
        self._every_secs = max(self._least_s, self._share * (time.time() - self._begun))
        return super().should_trigger_for_step(step)
