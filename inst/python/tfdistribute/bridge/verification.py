"""Comparison of trainings, for R."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from tfdistribute.descriptions import Description
from tfdistribute.training.verification import Facts, compare_losses, compare_variables, reasons


@dataclass(frozen=True)
class TrainingRun(Description):
    """A training as R describes it: its directory, its losses by step, and whether it was in 16 bits somewhere."""

    model_dir: str
    steps: tuple[int, ...]
    losses: tuple[float, ...]
    mixed: bool = False


def compare_runs(reference: TrainingRun, other: TrainingRun) -> list[dict[str, Any]]:
    one, two = (dict(zip(run.steps, run.losses, strict=True)) for run in (reference, other))
    variables = compare_variables(reference.model_dir, other.model_dir, other.mixed)
    return [
        dataclasses.asdict(each) for each in (compare_losses(one, two, other.mixed), *variables)
    ]


def explain_difference(
    asynchronous: bool,
    repeats: bool,
    reads_once: bool | None,
    dropout: bool,
    differing: tuple[str, ...],
) -> list[str]:
    return reasons(Facts(asynchronous, repeats, reads_once, dropout, differing))
