"""A rule that settings must keep, and what is said about settings that break it. Plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tfdistribute.errors import RunConfigError, TfdistributeError
from tfdistribute.run_config.circumstances import Circumstances
from tfdistribute.run_config.settings import TRAINING, RunSettings
from tfdistribute.strategies import CentralStorage, Mirrored, OneDevice, Strategy

Test = Callable[[RunSettings, Circumstances], bool]
Text = Callable[[RunSettings, Circumstances], str]
Repair = Callable[[RunSettings, Circumstances], RunSettings]


@dataclass(frozen=True)
class Rule:
    """One row of the table.

    Args:
        field: The setting, as users write it.
        trap: Number of the trap of TensorFlow that the rule answers.
        rule: What must hold.
        broken: Says whether it does not hold.
        message: What was found, with values.
        remedy: What the user does, or for a repair what was done.
        repair: Makes the settings right; None where the rule refuses.
        refusal: The error's class, where the rule refuses.
    """

    field: str
    trap: int
    rule: str
    broken: Test
    message: Text
    remedy: str
    repair: Repair | None = None
    refusal: type[TfdistributeError] = RunConfigError

    @property
    def answer(self) -> str:
        """Say what becomes of broken settings: "repaired" or "refused"."""
        return "refused" if self.repair is None else "repaired"


def word(strategy: Strategy | None) -> str:
    """Write a strategy as users do."""
    return "no strategy" if strategy is None else f"strategy_{strategy.kind}()"


def task(circumstances: Circumstances) -> str:
    """Say which task this process is."""
    return "no task" if circumstances.tf_config is None else circumstances.tf_config.task


def on_one_machine(settings: RunSettings) -> bool:
    """Say whether training uses the devices of one machine."""
    return isinstance(settings.train_distribute, (Mirrored, OneDevice, CentralStorage))


def trains(circumstances: Circumstances) -> bool:
    """Say whether the verb trains."""
    return circumstances.verb in TRAINING


def unchanged(settings: RunSettings, circumstances: Circumstances) -> RunSettings:
    """Repair nothing here: it is done elsewhere, and leaves a note only."""
    del circumstances
    return settings
