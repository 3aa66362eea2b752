"""Tables of rules, and findings of violations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

Facts_contra = TypeVar("Facts_contra", contravariant=True)


@dataclass(frozen=True)
class Finding:
    """One violation of a rule."""

    field: str  # Argument, task or variable, as users write it.
    message: str
    fix: str  # "" for a note.
    severity: str = "error"  # "warning" if it may only look wrong from this machine, "note" if nothing is wrong.


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
