"""Tables of rules, and findings of violations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

Facts_contra = TypeVar("Facts_contra", contravariant=True)


@dataclass(frozen=True)
class Finding:
    """One violation of a rule.

    Args:
        field: The argument, task or variable that it is about, as users write it.
        message: What was found, with values.
        fix: The one thing to do; "" for a note.
        severity: "error", "warning" if it may only look wrong from this machine, or "note" if nothing is wrong.
    """

    field: str
    message: str
    fix: str
    severity: str = "error"


class Rule(Protocol[Facts_contra]):
    """One row of a table: a sentence that must hold, and the search for violations."""

    @property
    def rule(self) -> str:
        """What must hold, as a sentence."""
        ...

    def find(self, facts: Facts_contra, /) -> Iterable[Finding]:
        """Find violations of the rule."""
        ...


def findings(table: Iterable[Rule[Facts_contra]], facts: Facts_contra) -> list[Finding]:
    """List every violation, in the table's order. Raises nothing."""
    return [finding for rule in table for finding in rule.find(facts)]
