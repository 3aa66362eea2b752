"""Many steps in one ``session.run``, for the training of any Estimator."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine.hooks import savers, step_requirements
from tfdistribute.engine.hooks.step_requirements import Needs
from tfdistribute.engine.many_steps import loop, random_state
from tfdistribute.engine.many_steps.consensus import NEVER, Alone, Together
from tfdistribute.engine.many_steps.loop import NotRepeatableError, Step, StepLoop

v1 = tf.compat.v1
StepsPerRun = int | str

# About twenty runs a second: Ctrl-C and the progress display wait for the end of a run.
RUN_S = 0.05
# A loop is made when a training has lasted as long as making it takes, so that a short one never pays for it.
WORTH_AFTER_S = 0.3


class ManySteps:
    """Lets an Estimator take many steps in one ``session.run``.

    Between two steps that are taken as TensorFlow takes them, and that every hook sees, steps are taken in a loop
    inside the graph. Weights are the same to the bit, and hooks see the steps that they act at.

    Args:
        steps_per_run: Steps of one run, or "auto" to let time decide.
        summaries_at: Steps between two summaries; None for none; "auto" to let time decide.
        speed_at: The same for records of the speed.
        note: Told, in one sentence, why a training takes one step per run after all.
    """

    def __init__(
        self,
        steps_per_run: StepsPerRun,
        summaries_at: int | str | None,
        speed_at: int | str | None,
        note: Callable[[str], Any],
    ) -> None:
        self._steps_per_run: StepsPerRun = steps_per_run
        self._summaries_at = summaries_at
        self._speed_at = speed_at
        self._note = note

    @contextlib.contextmanager
    def in_place(self, estimator: Any) -> Iterator[None]:
        """Let an Estimator train like this inside the block.

        Args:
            estimator: A ``tf.estimator.Estimator``.
        """

        def training(
            train: Any,
            spec: Any,
            worker_hooks: list[Any],
            hooks: Sequence[Any],
            step: Any,
            listeners: Any,
        ) -> Any:
            others = [*worker_hooks, *hooks, *spec.training_hooks, *spec.training_chief_hooks]
            chief_hooks = [*spec.training_chief_hooks, *self._usual_hooks(estimator, spec, others)]
            last: list[Any] = []
            if self._steps_per_run != 1:
                # TensorFlow adds the hooks that it makes to the same list.
                last = [
                    StepRuns(self._steps_per_run, spec, (chief_hooks, worker_hooks), self._note)
                ]
            spec = spec._replace(
                training_chief_hooks=chief_hooks, training_hooks=[*spec.training_hooks, *last]
            )
            with _without_intervals(estimator._config):
                return train(spec, worker_hooks, hooks, step, listeners)

        with estimator.train_with(training):
            yield

    def _usual_hooks(self, estimator: Any, spec: Any, others: Sequence[Any]) -> list[Any]:
        """Make the hooks that TensorFlow would make out of our sight."""
        directory, config = estimator.model_dir, estimator._config
        made: list[Any] = []
        saves = config.save_checkpoints_secs or config.save_checkpoints_steps
        if saves and not any(isinstance(hook, v1.train.CheckpointSaverHook) for hook in others):
            saver = v1.train.CheckpointSaverHook(
                directory,
                save_secs=config.save_checkpoints_secs,
                save_steps=config.save_checkpoints_steps,
                scaffold=spec.scaffold,
                save_graph_def=config.checkpoint_save_graph_def,
            )
            made.append(saver)
        if self._speed_at:
            made.append(savers.speed(directory, self._speed_at))
        if self._summaries_at:
            made.append(savers.summaries(directory, spec.scaffold, self._summaries_at))
        return made


@contextlib.contextmanager
def _without_intervals(config: Any) -> Iterator[None]:
    """Let TensorFlow make none of the usual hooks; its log is shown to nobody."""
    names = ("_save_summary_steps", "_log_step_count_steps")
    kept = {name: getattr(config, name) for name in names}
    vars(config).update(dict.fromkeys(names))
    try:
        yield
    finally:
        vars(config).update(kept)


class StepRuns(tf.estimator.SessionRunHook):
    """Takes steps in a loop after a step that all hooks have seen. It must be the last of the hooks.

    Args:
        steps_per_run: Steps of one run, with the one that all hooks see; or "auto".
        spec: The ``tf.estimator.EstimatorSpec`` of the training.
        hooks: Lists of all hooks of the session, which may still grow.
        note: Told why it does nothing.
        decision: Who says how many steps a run takes.
    """

    step_needs = step_requirements.nothing_needed

    def __init__(
        self,
        steps_per_run: StepsPerRun,
        spec: Any,
        hooks: Sequence[list[Any]],
        note: Callable[[str], Any],
        decision: Alone | Together | None = None,
    ) -> None:
        self._pace = Pace(steps_per_run)
        self._spec = spec
        self._hooks = hooks
        self._note = note
        self._decision = decision or Alone()
        self._loop: StepLoop | None = None
        self._needs: list[Needs] = []
        self._states: list[Any] = []
        self._possible = False

    def begin(self) -> None:
        """Look at the hooks and at the graph, and prepare its random numbers, while it can grow."""
        self._global_step = v1.train.get_global_step()
        self._decision.prepare()
        hooks = [hook for hooks in self._hooks for hook in hooks]
        by_hook = [(hook, step_requirements.needs(hook, self._spec.loss)) for hook in hooks]
        for hook, needs in by_hook:
            if needs.every_step:
                self._give_up(f"{step_requirements.name(hook)} looks at every step")
                return
        self._needs = [needs for _, needs in by_hook]
        try:
            step = Step(self._spec.train_op, self._spec.loss)
            random_state.check_shareable(step.operations, step.graph)
        except NotRepeatableError as error:
            self._give_up(str(error))
            return
        self._states = random_state.share(step.operations)
        self._possible = True

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Begin with the first random numbers, and count from the step that the session begins with."""
        del coord
        session.run(self._states)
        self._step = int(session.run(self._global_step))
        if self._loop is not None:
            self._loop.prepare(session)

    def before_run(self, run_context: Any) -> None:
        """Begin to measure a step."""
        del run_context
        self._pace.begin_step()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Take steps, where no hook must see one and nobody has asked for the end."""
        del run_values
        if run_context.stop_requested:
            return
        self._step += 1
        self._pace.end_step()
        if not self._decision.is_due():
            return
        session = run_context.session
        steps = self._decision.settle(session, self._possible_steps(session))
        if steps > 0:
            self._take(steps, run_context)
        elif steps == NEVER and self._possible:
            self._give_up("another task does, and its notes say why")

    def _possible_steps(self, session: Any) -> int:
        if not self._possible:
            return NEVER
        free = min(
            (needs.free_steps(self._step) for needs in self._needs), default=step_requirements.ANY
        )
        if free < 1 or not self._pace.is_worth_while():
            return 0
        if self._loop is None and int(session.run(self._global_step)) != self._step:
            self._give_up("the global step does not count the steps one by one")
            return NEVER
        return int(min(free, self._pace.steps()))

    def _take(self, steps: int, run_context: Any) -> None:
        session = run_context.session
        if self._loop is None:
            self._loop = StepLoop(Step(self._spec.train_op, self._spec.loss), self._global_step)
            self._loop.prepare(session)
        self._pace.begin_run()
        try:
            step, losses = self._loop.run(session, steps)
        except tf.errors.OpError:
            # The input has ended, or another task; what was learnt until then stays.
            with contextlib.suppress(tf.errors.OpError, RuntimeError):
                self._pass(*self._loop.interrupted(session, self._step))
            raise
        self._pace.end_run(len(losses))
        self._pass(step, losses)
        if len(losses) and np.isnan(losses[-1]):
            for needs in self._needs:
                if needs.found_nan is not None:
                    needs.found_nan(run_context)

    def _pass(self, step: int, losses: Any) -> None:
        self._step = step
        for needs in self._needs:
            needs.pass_steps(step, losses)

    def _give_up(self, reason: str) -> None:
        self._possible = False
        self._note(f"This training takes one step per run: {reason}.")


class Pace:
    """How many steps are taken in a run.

    Args:
        steps_per_run: Steps, with the one that is taken by itself; or "auto" for as many as take ``RUN_S``.
        clock: Seconds, for tests.
    """

    def __init__(
        self, steps_per_run: StepsPerRun, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._given = steps_per_run
        self._clock = clock
        self._begun = 0.0
        # Seconds of each step that was taken by itself, but the first, which carries TensorFlow's start.
        self._single: list[float] = []
        self._seen = 0
        self._steps = 0
        self._step_s: float | None = None

    def begin_step(self) -> None:
        """Begin to measure a step that is taken by itself."""
        self._begun = self._clock()

    def end_step(self) -> None:
        """End it."""
        self._seen += 1
        if self._seen > 1 and self._steps == 0:
            self._single.append(self._clock() - self._begun)

    def is_worth_while(self) -> bool:
        """Say whether to take more than one step in a run, from now on."""
        if isinstance(self._given, int):
            return self._given > 1
        if self._steps > 0:
            return True
        lasted, steps = sum(self._single), len(self._single)
        return steps > 0 and lasted >= WORTH_AFTER_S and lasted <= steps * RUN_S / 2

    def steps(self) -> int:
        """Say how many steps to take in the next run."""
        if isinstance(self._given, int):
            return min(self._given - 1, loop.MAX_STEPS)
        if self._step_s is None:
            return 1
        return max(1, min(2 * self._steps, int(RUN_S / self._step_s), loop.MAX_STEPS))

    def begin_run(self) -> None:
        """Begin to measure a run."""
        self._begun = self._clock()

    def end_run(self, steps: int) -> None:
        """End it."""
        if self._steps > 0 and steps > 0:
            self._step_s = max((self._clock() - self._begun) / steps, 1e-9)
        # The first run carries the start of the loop, and says nothing.
        self._steps = max(1, steps)
