"""Functions that R calls, by name; ``bridge.call`` converts arguments to the types of their parameters."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfdistribute import engine, history_file, training, versions
from tfdistribute.bridge import clusters, jobs, model_files, rows
from tfdistribute.bridge.doctor import report
from tfdistribute.bridge.live_metrics import show_live, view_history, view_job
from tfdistribute.bridge.shap_values import shap_values
from tfdistribute.checkpoints.newest import newest_checkpoint
from tfdistribute.cluster.frameworks.spark import address_of
from tfdistribute.cluster.ports import free_ports
from tfdistribute.inputs import Input, spark
from tfdistribute.inputs.functions import serialized_dataset
from tfdistribute.launch import job_handle
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.schedulers.slurm.scheduler import script_of
from tfdistribute.models import FeatureColumn, Model, parse_example_spec_with_label, safe_key
from tfdistribute.models.canned.parts import check_dense
from tfdistribute.models.canned.validation import row_losses
from tfdistribute.models.feature_columns import new_labels
from tfdistribute.models.feature_columns.of_tensorflow import describe_column
from tfdistribute.run_config import RunSettings, build_run_config
from tfdistribute.storage import buckets
from tfdistribute.training import verification
from tfdistribute.training.hooks import HookContext, as_hooks, read_hooks
from tfdistribute.training.multi_worker.standby import await_task
from tfdistribute.training.preparation import prepare_estimator
from tfdistribute.training.specs import read_estimator

Wire = Mapping[str, Any]
Hooks = tuple[Any, ...] | None
Listener = Callable[..., Any] | None


class _Opaque:
    def __init__(self, value: Any) -> None:
        self.value = value


def _train(
    estimator: Wire,
    input: Input,  # noqa: A002 - the project's word, in both languages
    hooks: Hooks = None,
    listener: Listener = None,
    page: str | None = None,
    validation: Input | None = None,
    **options: Any,
) -> dict[str, Any]:
    model, settings = read_estimator(estimator)
    options |= {"hooks": hooks or (), "listener": listener, "validation": validation}
    return _history(_shown(training.train, page)(model, settings, input, **options), model)


def _train_and_evaluate(
    estimator: Wire,
    train_spec: training.TrainSpec,
    eval_spec: training.EvalSpec,
    listener: Listener = None,
    page: str | None = None,
) -> dict[str, Any]:
    model, settings = read_estimator(estimator)
    train = _shown(training.train_and_evaluate, page)
    return _history(train(model, settings, train_spec, eval_spec, listener=listener), model)


def _shown(train: Callable[..., training.History], page: str | None) -> Callable[..., Any]:
    return train if page is None else functools.partial(show_live, train, page)


def _model_facts(model_dir: str) -> dict[str, Any]:
    evaluations = history_file.read_evaluations(model_dir)
    shapes = training.weights(model_dir)
    return {
        "weights": [{"name": name, "shape": list(shapes[name])} for name in sorted(shapes)],
        "global_step": training.global_step(model_dir),
        "evaluation": evaluations[-1] if evaluations else {},
        **training.trained_facts(model_dir),
    }


def _history(history: training.History, model: Model) -> dict[str, Any]:
    step = training.global_step(model.model_dir)
    return _as_vectors({**history.as_columns(), "global_step": step, "model_dir": model.model_dir})


def _as_vectors(history: dict[str, Any]) -> dict[str, Any]:
    # Arrays, so that a history of one entry reaches R as a vector and not as a scalar.
    training = {name: np.asarray(values) for name, values in history["training"].items()}
    return {**history, "training": training}


def _evaluate(
    estimator: Wire,
    input: Input,  # noqa: A002
    hooks: Hooks = None,
    listener: Listener = None,
    as_task: bool = False,
    **options: Any,
) -> dict[str, float] | None:
    model, settings = read_estimator(estimator)
    options |= {"hooks": tuple(read_hooks(hooks))}
    if as_task:
        return training.evaluate_shard(model, settings, input, **options)
    return training.evaluate(model, settings, input, listener=listener, **options)


def _predict(
    estimator: Wire,
    input: Input,  # noqa: A002
    predict_keys: tuple[str, ...] | None = None,
    hooks: Hooks = None,
    listener: Listener = None,
    by_batch: bool = False,
    as_task: bool = False,
    **options: Any,
) -> Any:
    model, settings = read_estimator(estimator)
    options |= {"predict_keys": predict_keys, "hooks": tuple(read_hooks(hooks))}
    if as_task:
        return training.predict_shard(model, settings, input, **options)
    # Iterators and hooks show the user each batch.
    options["in_large_batches"] = not (by_batch or hooks)
    batches = training.predict(model, settings, input, listener=listener, **options)
    return _Opaque(batches) if by_batch else _as_r(training.concatenate(batches))


def _predict_spark(
    estimator: Wire, predict_keys: tuple[str, ...] | None = None, **options: Any
) -> Any:
    model, settings = read_estimator(estimator)
    return training.predict_table(model, settings, predict_keys=predict_keys, **options)


def _take_result(job: Wire) -> dict[str, Any]:
    result = jobs.take_result(job)
    return result if job["verb"] == "evaluate" else _as_r(result)


def _next_batch(batches: Any) -> dict[str, Any] | None:
    batch = next(batches.value, None)
    return None if batch is None else _as_r(batch)


def _as_r(columns: dict[str, Any]) -> dict[str, Any]:
    # R has no 64-bit integers: values that fit become its integers instead of doubles.
    small = np.iinfo(np.int32)
    return {
        name: values.astype(np.int32)
        if values.dtype == np.int64
        and values.min(initial=0) > small.min
        and values.max(initial=0) <= small.max
        else values
        for name, values in columns.items()
    }


def _export_savedmodel(
    estimator: Wire,
    export_dir_base: str,
    serving_input_receiver_fn: Callable[..., Any] | None = None,
    input: Input | tuple[FeatureColumn, ...] | None = None,  # noqa: A002
    **options: Any,
) -> str:
    model, settings = read_estimator(estimator)
    request = serving_input_receiver_fn if input is None else input
    return training.export_savedmodel(model, settings, export_dir_base, request=request, **options)


def _of_model(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda estimator, **options: function(read_estimator(estimator)[0], **options)


def _distribute(estimator: Any, config: RunSettings) -> Any:
    # The model function of an estimator in R may call R.
    return training.distribute(estimator, config, calls_r=True)


def _parse_example_spec(
    feature_columns: tuple[FeatureColumn, ...],
    label_key: str,
    label_dtype: str,
    label_default: Any = None,
    label_dimension: int = 1,
    weight_column: str | None = None,
) -> _Opaque:
    tf = engine.tf
    dtype = tf.as_dtype(label_dtype)
    if dtype.is_integer and label_default is not None:
        label_default = int(label_default)
    label = tf.io.FixedLenFeature((label_dimension,), dtype, label_default)
    return _Opaque(
        parse_example_spec_with_label(list(feature_columns), label_key, label, weight_column)
    )


def _input_layer(
    features: Wire,
    feature_columns: tuple[FeatureColumn, ...],
    weight_collections: tuple[str, ...] | None,
    trainable: bool,
) -> Any:
    check_dense(feature_columns, "feature_columns")
    required = [each for column in feature_columns for each in column.requirements()]
    reads_labels = {each.feature for each in required if "string" in each.types}
    tensors = {
        safe_key(name): getattr(each, "labels_of_factor", each) if name in reads_labels else each
        for name, each in features.items()
    }
    columns = [column.build() for column in feature_columns]
    return engine.tf.compat.v1.feature_column.input_layer(
        tensors, columns, weight_collections and list(weight_collections), trainable
    )


def _pipeline(inputs: Any, stages: tuple[Callable[..., Any], ...], micro_batches: int) -> Any:
    return engine.model_parts.pipeline(inputs, stages, micro_batches)


def _missing_name(path: tuple[str, ...]) -> None:
    raise engine.tensorflow_1.missing_name(path)


def _tensor_function(name: str, values: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    return engine.tensors.function(name, values, **options)


def _tensor_operation(operator: str, operands: tuple[Any, ...]) -> Any:
    return engine.tensors.operation(operator, operands)


def _tensor_subset(tensor: Any, positions: tuple[Any, ...], drop: bool) -> Any:
    return engine.tensors.subset(tensor, positions, drop)


engine.when_started(lambda: engine.tensorflow_1.explain_missing_names())


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "await_task": await_task,
    "as_keras_model": _of_model(training.as_keras_model),
    "build_run_config": build_run_config,
    "check_cluster": clusters.check_cluster,
    "check_digest": private_directory.check_digest,
    "check_model": model_files.check_model,
    "check_sharding": rows.check_sharding,
    "check_tf_config": clusters.check_tf_config,
    "compare_runs": verification.compare_runs,
    "copy_file": model_files.copy_file,
    "dataset_columns": serialized_dataset.column_names,
    "describe_column": describe_column,
    "distribute": _distribute,
    "evaluate": _evaluate,
    "explain_difference": verification.explain_difference,
    "export_keras_model": _of_model(training.export_keras_model),
    "export_savedmodel": _export_savedmodel,
    "finish": buckets.finish,
    "free_ports": free_ports,
    "input_layer": _input_layer,
    "job_logs": job_handle.job_logs,
    "job_news": job_handle.job_news,
    "job_script": script_of,
    "job_state": job_handle.job_state,
    "last_job": job_handle.last_job,
    "latest_checkpoint": newest_checkpoint,
    "locked_requirements": versions.locked,
    "load_model": model_files.load_model,
    # R counts from 1.
    "logical_device": lambda index: engine.model_parts.logical_device(int(index), first=1),
    "logical_devices": lambda: engine.model_parts.logical_devices(),
    "missing_name": _missing_name,
    "model_facts": _model_facts,
    "named_matrix": lambda features: engine.features.named_matrix(features),
    "next_batch": _next_batch,
    "parse_example_spec": _parse_example_spec,
    "pipeline": _pipeline,
    "plan_tasks": clusters.plan_tasks,
    "predict": _predict,
    "predict_spark": _predict_spark,
    "prepare_tensorflow": engine.prepare,
    "prepare_verb": jobs.prepare_verb,
    "python_estimator": lambda estimator: prepare_estimator(
        "train_and_evaluate", *read_estimator(estimator)
    ),
    "python_report": report,
    "read_cluster": clusters.read_cluster,
    "remove_job_directory": private_directory.remove,
    "remove_spark_rows": spark.remove_rows,
    "save_model": model_files.save_model,
    "serialize_dataset": serialized_dataset.serialize,
    "session_hook": lambda hook: next(iter(as_hooks([hook], HookContext("train"))), None),
    "row_losses": row_losses,
    "shap_values": shap_values,
    "spark_address": address_of,
    "spark_columns": spark.column_types,
    "spark_summary": spark.summarize,
    "spark_table": spark.open_table,
    "spark_view": lambda table, name: table.createOrReplaceTempView(name),
    "start_job": jobs.start_job,
    "stop_job": job_handle.stop_job,
    "take_result": _take_result,
    "task_event": jobs.task_event,
    "tensor_dim": lambda tensor: engine.tensors.dimensions(tensor),
    "tensor_function": _tensor_function,
    "tensor_operation": _tensor_operation,
    "tensor_subset": _tensor_subset,
    "tensorflow": lambda: engine.tf,
    "train": _train,
    "train_and_evaluate": _train_and_evaluate,
    "trained_columns": training.trained_columns,
    "learned": training.learned,
    "trained_facts": training.trained_facts,
    "trained_state": training.trained_state,
    "training_history": lambda model_dir: _as_vectors(
        {**training.read_history(model_dir), "model_dir": model_dir}
    ),
    "variable_names": training.variable_names,
    "variable_value": training.variable_value,
    "view_history": view_history,
    "view_job": view_job,
    "write_manifest": jobs.write_manifest,
    "write_shards": rows.write_shards,
    "write_spark_rows": spark.write_rows,
}

take_new_labels = new_labels.take

# Functions that may take long and that Ctrl-C ends at once. Others end first: a job that is being started must not be
# left without its handle.
INTERRUPTIBLE = frozenset(
    (
        *("as_keras_model", "check_sharding", "compare_runs", "evaluate"),
        *("export_savedmodel", "next_batch", "predict", "predict_spark", "shap_values"),
        *("spark_summary", "train", "train_and_evaluate", "variable_value", "write_shards"),
        "write_spark_rows",
    )
)
