"""What R asks when it compares trainings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tfdistribute.training.verification import Facts, compare_losses, compare_variables, reasons

Run = Mapping[str, Any]


def compare_runs(reference: Run, other: Run) -> list[dict[str, Any]]:
    """Compare two trainings, each given by its ``model_dir`` and its losses at ``steps``."""
    losses = compare_losses(_losses(reference), _losses(other))
    variables = compare_variables(reference["model_dir"], other["model_dir"])
    return [dataclasses.asdict(each) for each in (losses, *variables)]


def explain_difference(
    asynchronous: bool,
    repeats: bool,
    reads_once: bool | None,
    dropout: bool,
    differing: str | Sequence[str],
) -> list[str]:
    """Say why trainings may differ."""
    names = [differing] if isinstance(differing, str) else differing
    return reasons(Facts(asynchronous, repeats, reads_once, dropout, tuple(names)))


def _losses(run: Run) -> dict[int, float]:
    steps, losses = run["steps"], run["losses"]
    several = isinstance(steps, Sequence)
    return dict(zip(steps, losses, strict=True)) if several else {int(steps): float(losses)}
