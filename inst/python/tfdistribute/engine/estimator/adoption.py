"""Estimators with this package's repairs: the change of their class, and their settings."""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tfdistribute.engine import patches
from tfdistribute.engine.estimator.estimator import DistributedEstimator
from tfdistribute.engine.estimator.options import EstimatorOptions
from tfdistribute.engine.step import passes


def adopt(estimator: Any, options: EstimatorOptions) -> Any:
    """Change the class of an Estimator, in place, to one with this package's repairs."""
    if not isinstance(estimator, DistributedEstimator):
        patches.put("adopted_estimators", estimator, "__class__", _adopted_class(type(estimator)))
    estimator.options = options
    return estimator


def set_factor_levels(
    estimator: Any, factor_levels: Mapping[str, Sequence[str]], label_levels: Sequence[str] | None
) -> None:
    """Let an adopted Estimator read factors as codes; see ``EstimatorOptions``. Without any, a copy keeps its own."""
    if factor_levels or label_levels is not None:
        estimator.options = replace(
            estimator.options, factor_levels=factor_levels, label_levels=label_levels
        )


def set_gradient_accumulation(estimator: Any, micro_batches: int, scales_loss: bool) -> None:
    count = micro_batches if passes.is_on("accumulate") else 1
    estimator.options = replace(estimator.options, micro_batches=count, scales_loss=scales_loss)


def set_training(
    estimator: Any,
    vocabularies: Mapping[str, tuple[Sequence[Any], Sequence[Any]]],
    note_unread: Callable[[Collection[str]], None] | None,
) -> None:
    options = {"warm_vocabularies": vocabularies, "note_unread": note_unread}
    estimator.options = replace(estimator.options, **options)


@functools.cache
def _adopted_class(original: type) -> type:
    # Same name and module: ``kind_of`` recognises ready-made models by them.
    return type(
        original.__name__, (DistributedEstimator, original), {"__module__": original.__module__}
    )
