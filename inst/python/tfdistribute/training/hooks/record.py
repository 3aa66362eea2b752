"""Hooks that change what every training records and shows anyway. TensorFlow does not see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfdistribute.training.hooks.description import Hook, Run


@dataclass(frozen=True)
class HistorySaver(Hook, kind="history_saver"):
    """Record the loss every so many steps; the history is that of the verb.

    Args:
        every_n_step: Steps between two entries.
    """

    every_n_step: int = 10

    def session_hook(self, run: Run) -> None:
        """Need none: see ``record_interval``."""


@dataclass(frozen=True)
class ProgressBar(Hook, kind="progress_bar"):
    """Show the progress of training; the display is R's."""

    def session_hook(self, run: Run) -> None:
        """Need none: the display listens to the history."""


def record_interval(hooks: Sequence[Any], default: int) -> int:
    """Say how often the loss is recorded.

    Args:
        hooks: The hooks of a training.
        default: Steps between two entries where no hook says otherwise.

    Returns:
        The steps of the last ``HistorySaver``, or the default.
    """
    intervals = [hook.every_n_step for hook in hooks if isinstance(hook, HistorySaver)]
    return intervals[-1] if intervals else default
