"""Data and length of a training and of its evaluations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute.descriptions import Description
from tfdistribute.inputs import Input
from tfdistribute.training.hooks import read_hooks


@dataclass(frozen=True)
class TrainSpec(Description):
    """Data and length of a training.

    Args:
        input: Features and labels.
        max_steps: Global step to stop at; None to stop at the end of the input.
        hooks: Hook descriptions and tf.estimator.SessionRunHook objects.
    """

    input: Input
    max_steps: int | None = None
    hooks: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "hooks", tuple(read_hooks(self.hooks)))


@dataclass(frozen=True)
class EvalSpec(Description):
    """Data, length and frequency of evaluations.

    Args:
        input: Features and labels.
        steps: Batches of each evaluation; None for all rows.
        name: Name of the evaluation.
        hooks: Hook descriptions and tf.estimator.SessionRunHook objects.
        exporters: tf.estimator.Exporter objects.
        start_delay_secs: Seconds before the first evaluation (only in a cluster).
        throttle_secs: Least number of seconds between two evaluations.
    """

    input: Input
    steps: int | None = None
    name: str | None = None
    hooks: tuple[Any, ...] = ()
    exporters: tuple[Any, ...] = ()
    start_delay_secs: int = 120
    throttle_secs: int = 600

    def __post_init__(self) -> None:
        object.__setattr__(self, "hooks", tuple(read_hooks(self.hooks)))
