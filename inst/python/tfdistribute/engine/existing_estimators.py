"""Copies of Estimators made by the user or another package."""

import contextlib
import types
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow_estimator.python.estimator import estimator as estimator_lib

from tfdistribute.engine import optimizers, placement
from tfdistribute.engine.estimator import DistributedEstimator, EstimatorOptions, adopt
from tfdistribute.engine.r_thread import sequential_replicas
from tfdistribute.errors import UnsupportedError


def is_estimator(value: Any) -> bool:
    return isinstance(value, estimator_lib.Estimator)


def kind_of(estimator: Any) -> str:
    """Return the origin of a model function: "canned", "v1_canned" (tf.compat.v1.estimator), "keras" or "custom"."""
    if isinstance(estimator, DistributedEstimator):
        return estimator.options.kind
    if ".canned." in type(estimator).__module__:
        return "canned" if isinstance(estimator, estimator_lib.EstimatorV2) else "v1_canned"
    written_in = getattr(estimator._model_fn, "__qualname__", "")
    return "keras" if written_in.startswith("_create_keras_model_fn.") else "custom"


def parts_of(estimator: Any) -> dict[str, Any]:
    return {"model_fn": estimator._model_fn, "params": estimator.params}


def own_config(estimator: Any) -> Any:
    """Make a repaired copy of the configuration of an Estimator.

    Sessions get the CPU devices that strategies name, because mirrored training waits forever without them.
    Estimators of tf.compat.v1.estimator, which fail under a strategy, are evaluated on one device.
    """
    config = estimator.config
    if kind_of(estimator) == "v1_canned":
        config = config.replace(eval_distribute=None)
    cpus = max(_cpus(config.train_distribute), _cpus(config.eval_distribute))
    if cpus <= 1:
        return config
    session = tf.compat.v1.ConfigProto()
    session.CopyFrom(config.session_config)
    session.device_count["CPU"] = max(session.device_count["CPU"], cpus)
    return config.replace(session_config=session)


def copy(estimator: Any, config: Any, calls_r: bool) -> Any:
    """Copy an Estimator under another run configuration, with this package's repairs.

    If the model may call R functions, replicas run on the calling thread. UnsupportedError for several replicas of an
    Estimator from ``model_to_estimator``.
    """
    kind = kind_of(estimator)
    if kind == "keras":
        _refuse_strategies(config)
    if calls_r:
        sequential_replicas.adopt(config.train_distribute)
        sequential_replicas.adopt(config.eval_distribute)
    second = isinstance(estimator, estimator_lib.EstimatorV2)
    library = tf.estimator if second else tf.compat.v1.estimator
    model_fn = estimator._model_fn
    replacement = library.Estimator(
        model_fn=_with_new_optimizers(model_fn, config.model_dir) if kind == "canned" else model_fn,
        config=config,
        params=estimator.params or None,
        warm_start_from=estimator._warm_start_settings,
    )
    return adopt(replacement, _options(estimator, kind))


def _options(estimator: Any, kind: str) -> EstimatorOptions:
    if isinstance(estimator, DistributedEstimator):
        return estimator.options
    return EstimatorOptions(
        kind=kind,
        loss_is_mean=True if kind == "custom" else None,
        reports_mean_loss=kind in ("canned", "custom"),
        keeps_one_variable=True,
    )


def _cpus(strategy: Any) -> int:
    names = () if strategy is None else strategy.extended.worker_devices
    return max(map(placement.cpus_named, names), default=0)


def _refuse_strategies(config: Any) -> None:
    for strategy in (config.train_distribute, config.eval_distribute):
        if strategy is not None and strategy.num_replicas_in_sync > 1:
            raise UnsupportedError(
                "An Estimator made by TensorFlow's model_to_estimator() trains and evaluates wrongly on several "
                "devices.",
                "Make it with keras_model_to_estimator() of this package.",
                argument="object",
            )


def _with_new_optimizers(model_fn: Callable[..., Any], model_dir: str) -> Callable[..., Any]:
    """Copy the model function of a canned Estimator, with factories because two graphs cannot share an optimizer."""
    copy = types.FunctionType(
        model_fn.__code__,
        model_fn.__globals__,
        model_fn.__name__,
        model_fn.__defaults__,
        tuple(_with_new_optimizer(cell, model_dir) for cell in model_fn.__closure__ or ()),
    )
    copy.__kwdefaults__ = model_fn.__kwdefaults__
    return copy


def _with_new_optimizer(cell: types.CellType, model_dir: str) -> types.CellType:
    with contextlib.suppress(ValueError):  # an empty cell
        value = cell.cell_contents
        keras = (tf.keras.optimizers.Optimizer, tf.keras.optimizers.legacy.Optimizer)
        if isinstance(value, keras):
            return types.CellType(optimizers.factory_like(value, model_dir))
    return cell
