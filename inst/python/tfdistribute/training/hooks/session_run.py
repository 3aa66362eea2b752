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
