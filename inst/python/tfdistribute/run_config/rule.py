"""Rows of the rules table."""

from collections.abc import Callable
from dataclasses import dataclass

from tfdistribute.errors import RunConfigError, TfdistributeError
from tfdistribute.run_config.settings import RunContext
from tfdistribute.strategies import Strategy


@dataclass(frozen=True)
class SettingsRule:
    field: str  # As users write it.
    rule: str
    broken: Callable[[RunContext], bool]
    message: Callable[[RunContext], str]
    remedy: str | Callable[[RunContext], str]  # A function if it depends on the run.
    refusal: type[TfdistributeError] = RunConfigError

    def error(self, run: RunContext) -> TfdistributeError:
        value = getattr(run.settings, self.field)
        shown = in_words(value) if isinstance(value, Strategy) else value
        return self.refusal(
            self.message(run),
            self.remedy if isinstance(self.remedy, str) else self.remedy(run),
            argument=self.field,
            value="NULL" if shown is None else str(shown),
        )


def in_words(strategy: Strategy | None) -> str:
    return "NULL" if strategy is None else f"strategy_{strategy.kind}()"
