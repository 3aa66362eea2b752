"""Session hooks that call functions of the user."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine.hooks import fetches
from tfdistribute.engine.hooks.step_requirements import (
    EVERY_STEP,
    NO_STEPS,
    StepRequirements,
    by_own_count,
)

Function = Callable[..., Any]


class CallFunctions(tf.estimator.SessionRunHook):
    """Call functions in the five methods of a session hook, on the thread that runs the session.

    Args:
        functions: Functions by method. ``before_run`` returns None, a mapping of names to values that
            ``fetches.find`` accepts, or a ``tf.estimator.SessionRunArgs``. ``after_run`` gets a mapping with
            ``results`` (NumPy values by these names), ``options`` and ``run_metadata``.
        note_stop: Called when ``after_run`` has requested the end.
        every_n_steps: Interval of ``before_run`` and ``after_run`` in global steps, after the first; None for every
            step.
    """

    described_as = "hook_session_run()"

    def __init__(
        self,
        functions: Mapping[str, Function],
        note_stop: Callable[[], Any],
        every_n_steps: int | None = None,
    ) -> None:
        self._functions = functions
        self._note_stop = note_stop
        self._every_n_steps = every_n_steps or 1
        self._step = 0

    def begin(self) -> None:
        self._call("begin")
        self._graph = tf.compat.v1.get_default_graph()

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._every_n_steps > 1:
            step = tf.compat.v1.train.get_global_step(self._graph)
            self._step = 0 if step is None else int(session.run(step))
        self._is_first = True
        self._call("after_create_session", session, coord)

    def before_run(self, run_context: Any) -> Any:
        self._is_due = self._is_first or (self._step + 1) % self._every_n_steps == 0
        if not self._is_due:
            return None
        arguments = self._call("before_run", run_context)
        if isinstance(arguments, Mapping):
            return tf.estimator.SessionRunArgs(
                fetches.find_all(arguments, self._graph, "session_run_args")
            )
        return arguments

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._step += 1
        self._is_first = False
        if not self._is_due or "after_run" not in self._functions:
            return
        asked_before = run_context.stop_requested
        values = {
            "results": fetches.plain(run_values.results),
            "options": run_values.options,
            "run_metadata": run_values.run_metadata,
        }
        self._call("after_run", run_context, values)
        if run_context.stop_requested and not asked_before:
            self._note_stop()

    def end(self, session: Any) -> None:
        self._call("end", session)

    def required_steps(self, loss: Any) -> StepRequirements:
        if not {"before_run", "after_run"} & self._functions.keys():
            return NO_STEPS
        return (
            EVERY_STEP
            if self._every_n_steps == 1
            else StepRequirements(self._skippable_steps, self._note_skipped_steps)
        )

    def _skippable_steps(self, step: int) -> float:
        return self._every_n_steps - step % self._every_n_steps - 1

    def _note_skipped_steps(self, step: int, losses: Sequence[float]) -> None:
        self._step = step

    def _call(self, method: str, *arguments: Any) -> Any:
        function = self._functions.get(method)
        return None if function is None else function(*arguments)


class ShowTensors(tf.estimator.LoggingTensorHook):
    """Show values of tensors every few steps or seconds.

    Unlike TensorFlow's hook, it accepts names such as "loss", and shows the last step at the end. ``when`` are the
    arguments ``every_n_iter``, ``every_n_secs`` and ``at_end`` of that hook.
    """

    described_as = "hook_logging_tensor(at_end = TRUE)"

    def __init__(
        self, tensors: Mapping[str, Any], show: Callable[[int, dict[str, Any]], Any], **when: Any
    ) -> None:
        super().__init__({}, **when)
        self._wanted, self._show = tensors, show

    def begin(self) -> None:
        super().begin()
        graph = tf.compat.v1.get_default_graph()
        self._current_tensors = fetches.find_all(self._wanted, graph, "tensors")
        self._step = tf.compat.v1.train.get_or_create_global_step()
        self._last: Any = None

    def before_run(self, run_context: Any) -> Any:
        due = super().before_run(run_context)
        return tf.estimator.SessionRunArgs(self._current_tensors) if self._log_at_end else due

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._last = run_values.results
        if self._should_trigger:
            self._timer.update_last_triggered_step(self._iter_count)
            self._show_last(run_context.session)
        self._iter_count += 1

    def required_steps(self, loss: Any) -> StepRequirements:
        return EVERY_STEP if self._log_at_end else by_own_count(self, loss)

    def end(self, session: Any) -> None:
        if self._log_at_end and self._last is not None and not self._should_trigger:
            self._show_last(session)

    def _show_last(self, session: Any) -> None:
        # Read now: a step fetched together with its update may be one behind.
        self._show(int(session.run(self._step)), fetches.plain(self._last))
