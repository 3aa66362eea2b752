"""User functions called at the events of a session."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tfdistribute import engine
from tfdistribute.descriptions.constraints import Count, Takes
from tfdistribute.training.hooks.description import RECORDS, Hook, HookContext

EVENTS = ("begin", "after_create_session", "before_run", "after_run", "end")


@dataclass(frozen=True)
class SessionRun(Hook, kind="session_run"):
    """Call R functions before, during and after the steps.

    Args:
        begin: Function without arguments, called before the session exists, while operations can still be added to the
            graph.
        after_create_session: Function of `session` (a `tf.compat.v1.Session`) and `coord` (a `tf.train.Coordinator`),
            both Python objects.
        before_run: Function of `context` (a Python `tf.estimator.SessionRunContext`), called before each step. It
            returns the tensors to fetch with the step, as [session_run_args()], or NULL.
        after_run: Function of `context` and `values`, called after each step. `values` is a list of `results`, the
            fetched values as a named list (or NULL), and the Python objects `options` and `run_metadata`.
        end: Function of `session`, called when the session ends without an error.
        every_n_steps: Count that limits the calls of `before_run` and `after_run` to the first step and the global
            steps that are multiples of it. NULL calls them at every step. Between these steps, TensorFlow may run many
            steps in one call. See "Steps per run" in [run_config()].
    """

    may_end: ClassVar[bool] = True
    may_differ: ClassVar[str | None] = RECORDS

    begin: Annotated[Callable[..., Any], Takes(())] | None = None
    after_create_session: Annotated[Callable[..., Any], Takes(("session", "coord"))] | None = None
    before_run: Annotated[Callable[..., Any], Takes(("context",))] | None = None
    after_run: Annotated[Callable[..., Any], Takes(("context", "values"))] | None = None
    end: Annotated[Callable[..., Any], Takes(("session",))] | None = None
    # At the first step, and at multiples of it; None for every step.
    every_n_steps: Count | None = None

    def session_hook(self, context: HookContext) -> Any:
        functions = {event: getattr(self, event) for event in EVENTS}
        return engine.hooks.CallFunctions(
            {event: function for event, function in functions.items() if function is not None},
            lambda: context.note_stop(self.name),
            self.every_n_steps,
        )

    @property
    def name(self) -> str:
        return "hook_session_run()"
