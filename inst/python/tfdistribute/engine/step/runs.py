"""Many steps in one ``session.run``, for the training of any Estimator."""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine import session_config, tpu
from tfdistribute.engine.hooks import savers, step_requirements
from tfdistribute.engine.hooks.step_requirements import StepRequirements
from tfdistribute.engine.step import compiled, last_step, loop, passes, shared_random
from tfdistribute.engine.step.compiled import Compilation, CompiledLoop
from tfdistribute.engine.step.consensus import NEVER, CollectiveConsensus, LocalDecision
from tfdistribute.engine.step.loop import StepLoop
from tfdistribute.engine.step.program import NotRepeatableError, StepProgram
from tfdistribute.engine.step.resident_rows import RowReader

v1 = tf.compat.v1
StepsPerRun = int | str

# Seconds of a run, for which Ctrl-C and the progress display wait.
RUN_S = 0.05
# A run is this many times as long as what is done between two runs, if that is longer than RUN_S, up to a limit.
_RUN_PER_PAUSE = 20
_MOST_RUN_S = 0.5
# Steps of a run at least, once the number has grown.
_LEAST_STEPS = 4
# Number of runs by which the next is chosen: a short one, before a hook acts, says little about a step's time.
_LAST_RUNS = 8
# A loop is built once a training has lasted as long as building takes, so short trainings never pay for it.
WORTH_AFTER_S = 0.3


@contextlib.contextmanager
def many_steps_per_run(
    estimator: Any,
    steps_per_run: StepsPerRun,
    summaries_at: int | str | None,
    speed_at: int | str | None,
    note: Callable[[str], Any],
    compilation: Compilation,
) -> Iterator[None]:
    """Let an Estimator take many steps in one ``session.run`` inside the block.

    Weights are bit-identical, and hooks see every step at which they act. On a TPU, the strategy has a loop of its
    own, and hooks see its last step.

    Args:
        estimator: A ``DistributedEstimator``.
        steps_per_run: Steps of one run, or "auto" to choose them by time.
        summaries_at: Steps between two summaries; None for none; "auto" to choose them by time.
        speed_at: Steps between two records of the speed, likewise.
        note: Called with the reason, as one sentence, if a training takes one step per run after all.
        compilation: Whether the loop is compiled.
    """
    config = estimator._config
    steps_of_tpu = tpu.steps_per_run(config.train_distribute)

    def session(
        train: Any, spec: Any, worker_hooks: list[Any], hooks: Sequence[Any], *others: Any
    ) -> Any:
        all_hooks = [*worker_hooks, *hooks, *spec.training_hooks, *spec.training_chief_hooks]
        chief_hooks = list(spec.training_chief_hooks)
        if not any(isinstance(hook, v1.train.CheckpointSaverHook) for hook in all_hooks):
            chief_hooks += savers.checkpoints(config, spec.scaffold)
        if speed_at:
            chief_hooks.append(savers.speed(speed_at, output_dir=config.model_dir))
        if summaries_at:
            chief_hooks.append(
                savers.summaries(spec.scaffold, summaries_at, output_dir=config.model_dir)
            )
        last: list[Any] = []
        on_tpus = tpu.is_tpu(config.train_distribute)
        if on_tpus:
            savers.expect_runs([*all_hooks, *chief_hooks], steps_of_tpu)
        else:
            last_step.wait_for_rows(spec.train_op, all_hooks)
        if steps_per_run != 1 and not on_tpus:
            # TensorFlow adds the hooks that it makes to the same list.
            last = [
                StepRuns(steps_per_run, spec, (chief_hooks, worker_hooks), note, None, compilation)
            ]
        session_config.prepare_training(config.session_config, v1.get_default_graph())
        spec = spec._replace(
            training_chief_hooks=chief_hooks, training_hooks=[*spec.training_hooks, *last]
        )
        with _without_intervals(config):
            return train(spec, worker_hooks, hooks, *others)

    with estimator.train_with(session):
        yield


@contextlib.contextmanager
def _without_intervals(config: Any) -> Iterator[None]:
    """Keep TensorFlow from making its own hooks for summaries, the speed and the log."""
    names = ("_save_summary_steps", "_log_step_count_steps")
    intervals = {name: getattr(config, name) for name in names}
    vars(config).update(dict.fromkeys(names))
    try:
        yield
    finally:
        vars(config).update(intervals)


class StepRuns(tf.estimator.SessionRunHook):
    """Takes steps in a loop after a step that all hooks have seen. It must be the last hook.

    ``hooks`` are lists of all hooks of the session, which may grow until ``begin()``. ``note`` gets the reason if no
    steps are taken in a loop, and ``consensus`` decides how many steps a run takes.
    """

    required_steps = step_requirements.no_steps_required

    def __init__(
        self,
        steps_per_run: StepsPerRun,
        spec: Any,
        hooks: Sequence[list[Any]],
        note: Callable[[str], Any],
        consensus: LocalDecision | CollectiveConsensus | None = None,
        compilation: Compilation | None = None,
    ) -> None:
        self._steps_per_run = steps_per_run
        self._compilation = compilation or Compilation()
        self._tuner = StepsPerRunTuner(steps_per_run)
        self._spec = spec
        self._hooks = hooks
        self._note = note
        self._consensus = consensus or LocalDecision()
        self._loop: StepLoop | CompiledLoop | None = None
        self._requirements: list[StepRequirements] = []
        self._program: StepProgram | None = None
        self._reader: RowReader | None = None
        self._possible = False
        self._counts_steps = False

    def begin(self) -> None:
        self._step_counter = v1.train.get_global_step()
        self._consensus.prepare()
        hooks = [hook for hooks in self._hooks for hook in hooks]
        self._requirements = [
            step_requirements.requirements_of(hook, self._spec.loss) for hook in hooks
        ]
        if not passes.is_on("loop"):
            # Other tasks, which may repeat steps, hear of it.
            self._disable("the pass `loop` is switched off")
            return
        for hook, required in zip(hooks, self._requirements, strict=True):
            if required.every_step:
                self._disable(f"{step_requirements.hook_name(hook)} looks at every step")
                return
        try:
            self._reader = next((hook for hook in hooks if isinstance(hook, RowReader)), None)
            program = StepProgram(self._spec.train_op, self._spec.loss, self._reader)
            loop.check(program)
            self._program = shared_random.run(program)
        except NotRepeatableError as error:
            self._disable(str(error))
            return
        self._possible = True

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._program is not None:
            session.run(self._program.random_state)
        self._step = int(session.run(self._step_counter))
        if self._loop is not None:
            self._loop.prepare(session)
        elif self._possible:
            assert self._program is not None
            self._loop = compiled.build(
                self._compilation, self._program, self._step_counter, self._steps_per_run, session
            )
            if self._loop is not None:
                # By time, other steps would be compiled in another run of the same script.
                self._tuner = StepsPerRunTuner(self._loop.steps + 1)

    def before_run(self, run_context: Any) -> None:
        self._tuner.begin_step()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Take steps in the loop, unless a hook must see the next one or has requested the end."""
        if run_context.stop_requested:
            return
        self._step += 1
        self._tuner.end_step()
        if not self._consensus.is_due():
            return
        session = run_context.session
        steps = self._consensus.agree(session, self._possible_steps(session))
        if steps > 0:
            self._take(steps, run_context)
        elif steps == NEVER and self._possible:
            self._disable("another task does, and its notes say why")

    def _possible_steps(self, session: Any) -> int:
        if not self._possible:
            return NEVER
        skippable = min(
            (each.skippable_steps(self._step) for each in self._requirements),
            default=step_requirements.UNLIMITED,
        )
        if skippable < 1 or not self._tuner.is_worth_while():
            return 0
        if not self._counts_steps and int(session.run(self._step_counter)) != self._step:
            self._disable("the global step does not count the steps one by one")
            return NEVER
        self._counts_steps = True
        steps = int(min(skippable, self._tuner.steps()))
        return steps if self._reader is None else self._reader.cursor.full_steps(steps)

    def _take(self, steps: int, run_context: Any) -> None:
        session = run_context.session
        if self._loop is None:
            assert self._program is not None
            # Operations of a small step take less time than to hand them over: 1.4 times the speed.
            is_small = self._reader is not None and compiled.is_small(self._program)
            options = session_config.one_thread(session) if is_small else None
            self._loop = StepLoop(self._program, self._step_counter, options)
            self._loop.prepare(session)
        self._tuner.begin_run()
        try:
            step, losses = self._loop.run(session, steps)
        except tf.errors.OpError:
            # The input or another task has ended. The steps until then have changed the weights.
            with contextlib.suppress(tf.errors.OpError, RuntimeError):
                self._note_skipped(*self._loop.read_losses(session, self._step))
            raise
        self._tuner.end_run(len(losses))
        self._note_skipped(step, losses)
        if len(losses) and np.isnan(losses[-1]):
            for each in self._requirements:
                if each.on_nan is not None:
                    each.on_nan(run_context)

    def _note_skipped(self, step: int, losses: Any) -> None:
        self._step = step
        for each in self._requirements:
            each.note_skipped_steps(step, losses)

    def _disable(self, reason: str) -> None:
        self._possible = False
        self._compilation.refuse(reason)
        self._note(f"This training takes one step per run: {reason}.")


class StepsPerRunTuner:
    """Chooses the steps of a run, of ``RUN_S`` or longer if much is to be done between two runs.

    ``steps_per_run`` includes the one outside the loop, or is "auto" to choose by time; ``clock`` is in seconds.
    """

    def __init__(
        self, steps_per_run: StepsPerRun, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._given = steps_per_run
        self._clock = clock
        self._begun = 0.0
        # Seconds of each step outside the loop, except the first, which includes the start of TensorFlow.
        self._single: list[float] = []
        self._seen = 0
        self._ended: float | None = None
        # Steps and seconds of the last runs, and the seconds between them.
        self._runs: deque[tuple[int, float]] = deque(maxlen=_LAST_RUNS)
        self._pauses: deque[float] = deque(maxlen=_LAST_RUNS)

    def begin_step(self) -> None:
        self._begun = self._clock()

    def end_step(self) -> None:
        self._seen += 1
        if self._seen > 1 and self._ended is None:
            self._single.append(self._clock() - self._begun)

    def is_worth_while(self) -> bool:
        if isinstance(self._given, int):
            return self._given > 1
        if self._ended is not None:
            return True
        lasted, steps = sum(self._single), len(self._single)
        return steps > 0 and lasted >= WORTH_AFTER_S and lasted <= steps * RUN_S / 2

    def steps(self) -> int:
        if isinstance(self._given, int):
            return min(self._given - 1, loop.MAX_STEPS)
        if not self._runs:
            return 1
        step_s = self._step_s()
        wanted = max(_LEAST_STEPS, int(self._run_s(step_s) / step_s))
        return min(wanted, 2 * self._most_steps(), loop.MAX_STEPS)

    def begin_run(self) -> None:
        self._begun = self._clock()
        if self._ended is not None:
            self._pauses.append(self._begun - self._ended)

    def end_run(self, steps: int) -> None:
        is_first, self._ended = self._ended is None, self._clock()
        # The first run includes the start of the loop, so it is not timed.
        if not is_first and steps > 0:
            self._runs.append((steps, max(self._ended - self._begun, 1e-9)))

    def _most_steps(self) -> int:
        return max((steps for steps, _ in self._runs), default=0)

    def _step_s(self) -> float:
        return sum(seconds for _, seconds in self._runs) / sum(steps for steps, _ in self._runs)

    def _run_s(self, step_s: float) -> float:
        pause_s = min(self._pauses, default=0.0) - step_s
        return max(RUN_S, min(_RUN_PER_PAUSE * pause_s, _MOST_RUN_S))
