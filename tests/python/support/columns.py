"""Column facts for tests."""

from __future__ import annotations

from tfdistribute.columns import ColumnFacts


def facts(**columns: tuple[str, tuple[int, ...]]) -> dict[str, ColumnFacts]:
    """Describe columns by name, each with a type and the shape of one row."""
    return {name: ColumnFacts(name, *column) for name, column in columns.items()}
