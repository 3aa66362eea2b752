"""New labels that count as missing, of which a verb warns once."""

from collections.abc import Sequence
from typing import Any

from tfdistribute.columns import show_values

# By column, in the order of their rows. TensorFlow's threads add what they read from files.
_found: dict[str, dict[Any, None]] = {}


def note(column: str, labels: Sequence[Any]) -> None:
    _found.setdefault(column, {}).update(dict.fromkeys(labels))


def take() -> dict[str, Any] | None:
    """Return the ``problem`` and ``remedy`` of all new labels since the last call, and them; None if there are none."""
    found = {column: list(labels) for column, labels in _found.items()}
    _found.clear()
    if not found:
        return None
    listed = "; ".join(f"`{column}` {show_values(labels)}" for column, labels in found.items())
    return {
        "problem": f"The training lacked these labels, which count as missing values: {listed}.",
        "remedy": 'Correct them, or accept them with new_levels = "ignore".',
        "labels": found,
    }
