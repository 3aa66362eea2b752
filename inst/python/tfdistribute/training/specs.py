"""What is trained and evaluated on, and how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfdistribute.inputs import Input


@dataclass(frozen=True)
class TrainSpec:
    """What is trained on, and how long.

    Args:
        source: Features and labels.
        max_steps: Global step to stop at; None until the input ends.
        hooks: Hook descriptions and tf.estimator.SessionRunHook objects.
    """

    source: Input
    max_steps: int | None = None
    hooks: Sequence[Any] = ()


@dataclass(frozen=True)
class EvalSpec:
    """What is evaluated on, and how often.

    Args:
        source: Features and labels.
        steps: Batches of each evaluation; None for all rows.
        name: Name of the evaluation.
        hooks: Hook descriptions and tf.estimator.SessionRunHook objects.
        exporters: tf.estimator.Exporter objects.
        start_delay_s: Seconds before the first evaluation (only in a cluster).
        throttle_s: Seconds between two evaluations, at least.
    """

    source: Input
    steps: int | None = None
    name: str | None = None
    hooks: Sequence[Any] = ()
    exporters: Sequence[Any] = ()
    start_delay_s: int = 120
    throttle_s: int = 600
