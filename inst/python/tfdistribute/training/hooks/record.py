"""Hooks that change what every training records and shows. TensorFlow does not see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute.descriptions.constraints import Count
from tfdistribute.training.hooks.description import RECORDS, Hook, HookContext

RECORD_EVERY_N_STEPS = 10


@dataclass(frozen=True)
class HistorySaver(Hook, kind="history_saver"):
    """Record the loss at another interval.

    Args:
        every_n_steps: Steps between records, a count. The first and the last step are always recorded.
    """

    may_differ: ClassVar[str | None] = RECORDS

    every_n_steps: Count = RECORD_EVERY_N_STEPS

    def session_hook(self, context: HookContext) -> None:
        """Return None: see ``record_interval``."""


@dataclass(frozen=True)
class ProgressBar(Hook, kind="progress_bar"):
    may_differ: ClassVar[str | None] = RECORDS

    def session_hook(self, context: HookContext) -> None:
        """Return None: the display listens to the history."""


@dataclass(frozen=True)
class ViewMetrics(Hook, kind="view_metrics"):
    may_differ: ClassVar[str | None] = RECORDS

    def session_hook(self, context: HookContext) -> None:
        """Return None: the page listens to the history."""


def record_interval(hooks: Sequence[Any]) -> int:
    intervals = [hook.every_n_steps for hook in hooks if isinstance(hook, HistorySaver)]
    return intervals[-1] if intervals else RECORD_EVERY_N_STEPS
