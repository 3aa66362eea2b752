"""Findings of checks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    field: str  # Argument, task or variable, as users write it.
    message: str
    fix: str  # "" for a note.
    severity: str = "error"  # "warning" if it may only look wrong from this machine, "note" if nothing is wrong.
