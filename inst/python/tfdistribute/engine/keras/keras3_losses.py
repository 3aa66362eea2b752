"""Losses and metrics of Keras 3 models in an Estimator's graph."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from tfdistribute.engine.keras.models import by_output
from tfdistribute.engine.keras.parts import ROW_LOSS, KerasParts, mean_of_rows, nothing, responses
from tfdistribute.engine.step import replica_scale
from tfdistribute.errors import InputError, UnsupportedError

v1 = tf.compat.v1


def read_all(variables: Sequence[Any]) -> list[Any]:
    """Read variables, each once, because later writes must not be seen."""
    return [tf.convert_to_tensor(variable) for variable in variables]


def loss_of_rows(
    parts: KerasParts,
    outputs: Sequence[Any],
    penalties: Sequence[Any],
    targets: tuple[Any, Any],
) -> tuple[Any, dict[str, Any]]:
    get_loss = importlib.import_module("keras.src.trainers.compile_utils").get_loss
    known, weights = parts.known, targets[1]
    labels = _labels(parts, targets)
    shares = by_output(known.compiled.get("loss_weights"), list(known.outputs))
    losses: dict[str, Any] = {}
    for name, output in zip(known.outputs, outputs, strict=True):
        if known.losses.get(name) is None:
            continue
        if labels[name] is None:
            raise _without_response(name, "a loss")
        loss = get_loss(known.losses[name], labels[name], output)
        value = loss(labels[name], output, sample_weight=weights)
        is_sum = getattr(loss, "reduction", None) == "sum"
        losses[name] = (
            replica_scale.scaled(value, is_sum=True) if is_sum else mean_of_rows(value, output)
        )
    terms = [
        value if shares[name] is None else value * float(shares[name])
        for name, value in losses.items()
    ]
    # Keras divides losses of rows by the number of replicas, but not these.
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    terms += [tf.cast(penalty, tf.float32) / replicas for penalty in penalties]
    if not terms:
        raise nothing("no loss", "Give compile() a loss.")
    return tf.add_n([tf.cast(term, tf.float32) for term in terms]), losses


def _without_response(name: str, why: str) -> InputError:
    return InputError(
        f'The input has no response for the output "{name}" of the Keras model, which has {why}.',
        "Let a function return a dataset with a named list of responses (see input_dataset()).",
        argument="response",
        value=name,
    )


def _labels(parts: KerasParts, targets: tuple[Any, Any]) -> dict[str, Any]:
    return by_output(responses(parts.known, targets[0]), list(parts.known.outputs))


def evaluation(
    parts: KerasParts, outputs: list[Any], penalties: Sequence[Any], targets: tuple[Any, Any]
) -> Any:
    if tf.distribute.get_strategy().num_replicas_in_sync > 1:
        raise UnsupportedError(
            "A Keras 3 model cannot be evaluated on several devices (`eval_distribute`).",
            "Leave `eval_distribute` out: an evaluation on one device counts every row once.",
            argument="eval_distribute",
        )
    loss, losses = loss_of_rows(parts, outputs, penalties, targets)
    rows = tf.cast(tf.shape(outputs[0])[0], tf.float32)
    measured = {ROW_LOSS: v1.metrics.mean(loss, rows)}
    if len(outputs) > 1:
        for name, value in losses.items():
            measured[f"{name}_loss"] = v1.metrics.mean(value, rows)
    measured.update(_metrics(parts, outputs, targets))
    return tf.estimator.EstimatorSpec(
        tf.estimator.ModeKeys.EVAL, loss=loss, eval_metric_ops=measured
    )


def _metrics(
    parts: KerasParts, outputs: Sequence[Any], targets: tuple[Any, Any]
) -> dict[str, tuple[Any, Any]]:
    metrics = getattr(parts.known.model, "_compile_metrics", None)
    if metrics is None:
        return {}
    labels = _labels(parts, targets)
    # Keras wants a response for each output, but reads only the responses of outputs that have metrics.
    values = [
        output if label is None else label
        for label, output in zip(labels.values(), outputs, strict=True)
    ]
    truth, predicted = _structured(parts, values), _structured(parts, outputs)
    with context.eager_mode():
        _make_variables(metrics, truth, predicted)
        names = getattr(metrics, "_resolved_output_names", None) or labels
        flat = (metrics._flat_metrics, metrics._flat_weighted_metrics)
        for name, *measured in zip(names, *flat, strict=True):
            if labels[name] is None and any(each is not None for each in measured):
                raise _without_response(name, "a metric")
        metrics.reset_state()
        initial = [variable.numpy() for variable in metrics.variables]
    held = [
        v1.get_variable(
            f"keras_metrics/{index}",
            initializer=value,
            trainable=False,
            use_resource=True,
            collections=[v1.GraphKeys.LOCAL_VARIABLES, v1.GraphKeys.METRIC_VARIABLES],
        )
        for index, value in enumerate(initial)
    ]
    after = metrics.stateless_update_state(
        read_all(held), truth, predicted, sample_weight=targets[1]
    )
    # A count of rows does not depend on the rows: it must wait for them, or the end of the input counts too.
    with tf.control_dependencies([*after, *outputs]):
        update = tf.group(
            *(variable.assign(value) for variable, value in zip(held, after, strict=True))
        )
    scope = importlib.import_module("keras").StatelessScope
    with scope(zip(metrics.variables, read_all(held), strict=True)):
        # A result may be a variable, whose value is known only here.
        results = {name: tf.convert_to_tensor(each) for name, each in metrics.result().items()}
    return {name: (value, update) for name, value in results.items()}


def _structured(parts: KerasParts, values: Sequence[Any]) -> Any:
    if isinstance(getattr(parts.known.model, "_outputs_struct", None), Mapping):
        return dict(zip(parts.known.outputs, values, strict=True))
    return values[0] if len(values) == 1 else list(values)


def _make_variables(metrics: Any, truth: Any, predicted: Any) -> None:
    """Let metrics make their variables, some of which do so at their first update."""
    keras = importlib.import_module("keras")
    compute = importlib.import_module("keras.src.backend").compute_output_spec
    shapes = [
        tf.nest.map_structure(lambda each: keras.KerasTensor(each.shape, each.dtype.name), side)
        for side in (truth, predicted)
    ]
    compute(metrics.update_state, *shapes)
