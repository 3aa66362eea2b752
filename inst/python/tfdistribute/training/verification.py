"""Comparison of two trainings of one model, and possible reasons for a difference."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.descriptions import Description
from tfdistribute.training.model_directory import require_checkpoint

# Six digits, relative to the largest value of a variable or to 1.
VARIABLE_TOLERANCE = 2e-6
# Losses are sums over replicas of means over batches, so one digit less.
LOSS_TOLERANCE = 1e-5
# Numbers in 16 bits have two to three digits.
MIXED_TOLERANCE = 1e-2

# Possible reasons for a difference, the likeliest first.
RANDOM = (
    "Two trainings with one process also differ: the model or its input draws random numbers without a "
    "seed."
)
SHARDED = "The workers together do not read every row once: see check_sharding() for the input."
OUT_OF_STEP = (
    "With parameter servers, workers train asynchronously, on weights that other workers change meanwhile: "
    "no two trainings are the same."
)
DROPOUT = "The model has dropout: each replica drops other units than one device would."
STATISTICS = (
    "The model normalises batches, and each replica uses the statistics of its own examples"
)
UNKNOWN = (
    "The reason is not known. Look for a loss that is not a mean over examples, for gradients that each "
    "replica clips, and for code that uses the number of examples in a batch."
)


@dataclass(frozen=True)
class Difference:
    """Difference of one variable, or of the ``loss`` by step, between two trainings.

    Args:
        size: Largest difference, relative to the largest value or to 1; infinite if one training lacks the variable.
        agrees: Whether the size is within six digits, or two in mixed precision.
    """

    name: str
    size: float
    agrees: bool


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


def compare_variables(reference: str, other: str, mixed: bool = False) -> list[Difference]:
    """Compare all variables of two trained models, optimizers included; the largest difference comes first.

    ``mixed`` is also true for a training with compressed gradients. Raises ModelDirectoryError if one of them was not
    trained.
    """
    readers = [
        engine.tf.train.load_checkpoint(require_checkpoint(each, None, "check_distribution"))
        for each in (reference, other)
    ]
    names = [set(reader.get_variable_to_shape_map()) for reader in readers]
    differences: list[Difference] = []
    for name in sorted(names[0] | names[1]):
        if name not in names[0] & names[1]:
            differences.append(Difference(name, float("inf"), False))
            continue
        values = [np.asarray(reader.get_tensor(name)) for reader in readers]
        if values[0].dtype.kind in "fiu":
            size = _apart(values[0], values[1])
            tolerance = MIXED_TOLERANCE if mixed else VARIABLE_TOLERANCE
            differences.append(Difference(name, size, size <= tolerance))
    return sorted(differences, key=lambda difference: -difference.size)


def compare_losses(
    reference: Mapping[int, float], other: Mapping[int, float], mixed: bool = False
) -> Difference:
    """Return the largest difference of the losses at steps that both have recorded; infinite if there are none."""
    common = sorted(set(reference) & set(other))
    if not common:
        return Difference("loss", float("inf"), False)
    values = [np.array([losses[step] for step in common]) for losses in (reference, other)]
    size = float(np.max(np.abs(values[0] - values[1]) / np.maximum(np.abs(values[0]), 1e-12)))
    return Difference("loss", size, size <= (MIXED_TOLERANCE if mixed else LOSS_TOLERANCE))


def explain_difference(
    asynchronous: bool,
    repeats: bool,
    reads_once: bool | None,
    dropout: bool,
    differing: tuple[str, ...],
) -> list[str]:
    """List possible reasons for a difference of the variables ``differing``.

    Args:
        repeats: Whether a second training with one process gives the same result as the first.
        reads_once: Whether the workers together read every row once; None if not known.
    """
    words = ("moving_mean", "moving_variance", "batch_normalization")
    statistics = [name for name in differing if any(word in name for word in words)]
    causes = {
        RANDOM: not repeats,
        SHARDED: reads_once is False,
        OUT_OF_STEP: asynchronous,
        DROPOUT: dropout,
        f"{STATISTICS} ({', '.join(statistics[:3])}).": bool(statistics),
    }
    return [text for text, holds in causes.items() if holds] or [UNKNOWN]


def _apart(reference: np.ndarray, other: np.ndarray) -> float:
    if reference.shape != other.shape:
        return float("inf")
    if reference.size == 0:
        return 0.0
    one, two = reference.astype(np.float64), other.astype(np.float64)
    if np.isnan(one).any() or np.isnan(two).any():
        return 0.0 if np.array_equal(one, two, equal_nan=True) else float("inf")
    return float(np.max(np.abs(one - two)) / max(1.0, float(np.max(np.abs(one)))))
