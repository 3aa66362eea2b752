"""Estimators with this package's repairs: the change of their class, and their settings."""

import functools
from dataclasses import replace
from typing import Any

from tfdistribute.engine import patches
from tfdistribute.engine.estimator.estimator import DistributedEstimator
from tfdistribute.engine.estimator.options import EstimatorOptions


def adopt(estimator: Any, options: EstimatorOptions) -> Any:
    """Change the class of an Estimator, in place, to one with this package's repairs."""
    if not isinstance(estimator, DistributedEstimator):
        patches.put("adopted_estimators", estimator, "__class__", _adopted_class(type(estimator)))
    estimator.options = options
    return estimator


def set_options(estimator: Any, **changed: Any) -> None:
    """Change options of an adopted Estimator; see ``EstimatorOptions``."""
    estimator.options = replace(estimator.options, **changed)


@functools.cache
def _adopted_class(original: type) -> type:
    # Same name and module: ``kind_of`` recognises ready-made models by them.
    return type(
        original.__name__, (DistributedEstimator, original), {"__module__": original.__module__}
    )
