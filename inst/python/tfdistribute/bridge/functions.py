"""What R can call, by name; each function takes and gives plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.bridge.clusters import (
    check_cluster,
    check_tf_config,
    plan_tasks,
    read_cluster,
    some_ports,
)
from tfdistribute.bridge.doctor import situation
from tfdistribute.bridge.job_files import (
    check_digest,
    digest_of,
    is_job,
    job_directory,
    pack_input,
    remove_job_directory,
)
from tfdistribute.bridge.jobs import start_job
from tfdistribute.bridge.rows import check_sharding, write_shards
from tfdistribute.bridge.tasks import task_event
from tfdistribute.bridge.verification import compare_runs, explain_difference
from tfdistribute.callbacks import as_callable
from tfdistribute.descriptions import read
from tfdistribute.inputs import Input
from tfdistribute.launch import job_handle
from tfdistribute.models import FeatureColumn, Model, parse_example_spec_with_label, safe_key
from tfdistribute.run_config import RunSettings, build_run_config
from tfdistribute.training import (
    EvalSpec,
    History,
    TrainSpec,
    concatenated,
    distribute,
    evaluate,
    export_savedmodel,
    global_step,
    latest_checkpoint,
    predict,
    train,
    train_and_evaluate,
    variable_names,
    variable_value,
)
from tfdistribute.training.hooks import HookContext, as_hooks, read_hooks

Wire = Mapping[str, Any]


def _model(estimator: Wire) -> tuple[Model, RunSettings]:
    fields = {name: value for name, value in estimator.items() if name != "config"}
    return read(Model, fields), read(RunSettings, estimator.get("config") or {})


def _train(
    estimator: Wire,
    input: Wire,  # noqa: A002 - the project's word, in both languages
    hooks: Sequence[Any] = (),
    listener: Any = None,
    **arguments: Any,
) -> dict[str, Any]:
    model, settings = _model(estimator)
    history = train(
        model,
        settings,
        read(Input, input),
        hooks=read_hooks(hooks),
        listener=as_callable(listener),
        **arguments,
    )
    return _history(history, model)


def _train_and_evaluate(
    estimator: Wire, train_spec: Wire, eval_spec: Wire, listener: Any = None
) -> dict[str, Any]:
    model, settings = _model(estimator)
    history = train_and_evaluate(
        model,
        settings,
        read(TrainSpec, train_spec),
        read(EvalSpec, eval_spec),
        listener=as_callable(listener),
    )
    return _history(history, model)


def _evaluate(
    estimator: Wire,
    input: Wire,  # noqa: A002
    hooks: Sequence[Any] = (),
    **arguments: Any,
) -> dict[str, float]:
    model, settings = _model(estimator)
    return evaluate(model, settings, read(Input, input), hooks=read_hooks(hooks), **arguments)


def _predict(estimator: Wire, **arguments: Any) -> dict[str, Any]:
    return _as_r(concatenated(_predicted(estimator, **arguments)))


class _Batches:
    """A prediction under way; an object of a class, so that R holds it and does not convert it."""

    def __init__(self, batches: Iterator[dict[str, Any]]) -> None:
        self.batches = batches


def _predict_batches(estimator: Wire, **arguments: Any) -> _Batches:
    return _Batches(_predicted(estimator, **arguments))


def _next_batch(batches: _Batches) -> dict[str, Any] | None:
    batch = next(batches.batches, None)
    return None if batch is None else _as_r(batch)


def _as_r(columns: dict[str, Any]) -> dict[str, Any]:
    # R has no integers of 64 bits: what fits comes as its integers, not as doubles.
    small = np.iinfo(np.int32)
    return {
        name: values.astype(np.int32)
        if values.dtype == np.int64
        and values.size
        and values.min() > small.min
        and values.max() <= small.max
        else values
        for name, values in columns.items()
    }


def _predicted(
    estimator: Wire,
    input: Wire,  # noqa: A002
    predict_keys: Any = None,
    hooks: Sequence[Any] = (),
    **arguments: Any,
) -> Any:
    model, settings = _model(estimator)
    keys = [predict_keys] if isinstance(predict_keys, str) else predict_keys
    return predict(
        model,
        settings,
        read(Input, input),
        predict_keys=keys,
        hooks=read_hooks(hooks),
        **arguments,
    )


def _export_savedmodel(
    estimator: Wire,
    export_dir_base: str,
    serving_input_receiver_fn: Any = None,
    input: Wire | Sequence[Wire] | None = None,  # noqa: A002
    **arguments: Any,
) -> str:
    model, settings = _model(estimator)
    request: Any = as_callable(serving_input_receiver_fn)
    if isinstance(input, Mapping):
        request = read(Input, input)
    elif input is not None:
        request = tuple(read(FeatureColumn, column) for column in input)
    return export_savedmodel(model, settings, export_dir_base, request=request, **arguments)


def _distribute(estimator: Any, config: Wire) -> Any:
    # An estimator that R holds may have functions of R in it.
    return distribute(estimator, read(RunSettings, config), calls_r=True)


class _Kept:
    """A value of Python that R is to hold as it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _parse_example_spec(
    feature_columns: Sequence[Wire],
    label_key: str,
    label_dtype: str,
    label_default: Any = None,
    label_dimension: float = 1,
    weight_column: str | None = None,
) -> _Kept:
    tf = engine.tf
    dtype = tf.as_dtype(label_dtype)
    default = (
        int(label_default) if dtype.is_integer and label_default is not None else label_default
    )
    label = tf.io.FixedLenFeature((int(label_dimension),), dtype, default)
    columns = [read(FeatureColumn, column) for column in feature_columns]
    return _Kept(parse_example_spec_with_label(columns, label_key, label, weight_column))


def _input_layer(
    features: Wire, feature_columns: Sequence[Wire], weight_collections: Any, trainable: bool
) -> Any:
    tf = engine.tf
    columns = [read(FeatureColumn, column) for column in feature_columns]
    tensors = {safe_key(name): tensor for name, tensor in features.items()}
    collections = (
        [weight_collections] if isinstance(weight_collections, str) else weight_collections
    )
    return tf.compat.v1.feature_column.input_layer(
        tensors, [column.build() for column in columns], collections, trainable
    )


def _build_run_config(config: Wire) -> Any:
    return build_run_config(read(RunSettings, config))


def _session_hook(hook: Wire) -> Any:
    made = as_hooks([hook], HookContext("train"))
    return made[0] if made else None


def _tensorflow() -> Any:
    return engine.tf


def _history(history: History, model: Model) -> dict[str, Any]:
    columns = history.as_columns()
    # Arrays, so that a history of one entry reaches R as a vector of one and not as a scalar.
    columns["training"] = {name: np.asarray(values) for name, values in columns["training"].items()}
    return {**columns, "global_step": global_step(model.model_dir), "model_dir": model.model_dir}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "build_run_config": _build_run_config,
    "check_cluster": check_cluster,
    "check_digest": check_digest,
    "check_tf_config": check_tf_config,
    "check_sharding": check_sharding,
    "compare_runs": compare_runs,
    "digest_of": digest_of,
    "distribute": _distribute,
    "evaluate": _evaluate,
    "explain_difference": explain_difference,
    "export_savedmodel": _export_savedmodel,
    "global_step": global_step,
    "input_layer": _input_layer,
    "is_job": is_job,
    "job_directory": job_directory,
    "job_logs": job_handle.job_logs,
    "job_news": job_handle.job_news,
    "job_state": job_handle.job_state,
    "latest_checkpoint": latest_checkpoint,
    "next_batch": _next_batch,
    "pack_input": pack_input,
    "parse_example_spec": _parse_example_spec,
    "plan_tasks": plan_tasks,
    "predict": _predict,
    "predict_batches": _predict_batches,
    "read_cluster": read_cluster,
    "remove_job_directory": remove_job_directory,
    "session_hook": _session_hook,
    "situation": situation,
    "some_ports": some_ports,
    "start_job": start_job,
    "stop_job": job_handle.stop_job,
    "task_event": task_event,
    "tensorflow": _tensorflow,
    "train": _train,
    "train_and_evaluate": _train_and_evaluate,
    "variable_names": variable_names,
    "variable_value": variable_value,
    "write_shards": write_shards,
}
