"""Estimators of Keras 2 models.

TensorFlow's own ``model_to_estimator`` cannot train batch normalization under a mirrored strategy, and misreports the
loss over devices, batches and outputs. Here the model is cloned into the Estimator's graph and trained as in
``Model.fit``, with Keras's own containers of losses and metrics. Checkpoints hold variables by name.
"""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from tfdistribute.engine import layer_state, patches
from tfdistribute.engine.estimator import EstimatorOptions, adopt
from tfdistribute.engine.graph import walk
from tfdistribute.engine.keras.models import KerasFacts
from tfdistribute.engine.keras.parts import (
    ROW_LOSS,
    KerasParts,
    input_tensors,
    load_values,
    mean_of_rows,
    nothing,
    prediction,
    responses,
)
from tfdistribute.engine.keras2 import backend, compile_utils
from tfdistribute.engine.keras2 import metrics as keras_metrics
from tfdistribute.engine.model_graphs import layer_seeds
from tfdistribute.engine.step import replica_scale
from tfdistribute.errors import CallbackError, TfdistributeError


def make_estimator(parts: KerasParts, config: Any) -> Any:
    # Outside the Estimator's graph, where weights have values.
    initial = parts.known.model.get_weights()

    def model_fn(features: Any, labels: Any, mode: Any) -> Any:
        training = mode == tf.estimator.ModeKeys.TRAIN
        features, weights = parts.split(features)
        with _naming_errors():
            clone = _clone(parts, input_tensors(parts, features), training, config.tf_random_seed)
            if mode == tf.estimator.ModeKeys.PREDICT:
                return prediction(parts.known, clone.outputs)
            losses, loss = _loss(parts, clone, (labels, weights), measures=not training)
            if training:
                return _training(parts, clone, loss, initial)
            return _evaluation(parts, clone, (labels, weights), losses, loss)

    options = EstimatorOptions(reads_matrices=True, row_loss=ROW_LOSS, hides_row_loss=True)
    return adopt(tf.estimator.Estimator(model_fn, config=config), options)


def trained_model(known: KerasFacts, read: Callable[[str], Any]) -> Any:
    """Put trained weights into the model, which changes; ``read`` returns a checkpoint's variable by name."""
    known.model.set_weights([read(name) for name, _ in known.weights])
    return known.model


def _loss(
    parts: KerasParts, clone: Any, targets: tuple[Any, Any], measures: bool
) -> tuple[Any, Any]:
    labels, weights = targets
    compiled = parts.known.compiled
    losses = compile_utils.LossesContainer(
        compiled["loss"], compiled["loss_weights"], list(parts.known.outputs)
    )
    if not measures:
        # Estimators do not initialise these metrics in a training, where a TPU would update them.
        losses.build(_outputs(clone))
        for metric in losses.metrics:
            metric.update_state = lambda *values, **weights: None
        losses._losses = [each and _LossOfRows(each) for each in losses._losses]
    penalties = [*_unconditional(clone), *clone.get_losses_for(clone.inputs)]
    loss = losses(
        responses(parts.known, labels),
        _outputs(clone),
        sample_weight=replica_scale.weights_of_rows(weights),
        regularization_losses=penalties,
    )
    if loss is None:
        raise nothing("no loss", "Give compile() a loss.")
    return losses, loss


class _LossOfRows:
    """A loss of a training whose mean has the scale of its replica; sums stay as they are."""

    def __init__(self, loss: Any) -> None:
        self._loss, self.reduction = loss, loss.reduction

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        value = self._loss(y_true, _with_mask(y_pred), sample_weight=sample_weight)
        if self.reduction == "sum":
            return replica_scale.scaled(value, is_sum=True)
        return mean_of_rows(value, y_pred)


def _with_mask(output: Any) -> Any:
    """Return an output whose mask leaves some value, because Keras divides by their number.

    A replica without any has the scale 0, which would not end a NaN.
    """
    mask = getattr(output, "_keras_mask", None)
    if mask is None or replica_scale.current() is None:
        return output
    masked = tf.identity(output)
    masked._keras_mask = mask | ~tf.reduce_any(mask)
    return masked


def _unconditional(clone: Any) -> list[Any]:
    # A model inside the model has also been called with placeholders. A TPU's program reads variables through others.
    return [
        each
        for each in clone.get_losses_for(None)
        if not any(
            read.type == "Placeholder" and read.outputs[0].dtype != tf.resource
            for read in walk.ancestors([each])
        )
    ]


def _training(parts: KerasParts, clone: Any, loss: Any, initial: Sequence[Any]) -> Any:
    variables = clone.trainable_weights
    if not variables:
        raise nothing("no weights that can be trained", "Set `trainable` of a layer to TRUE.")
    assert parts.optimizer is not None
    optimizer = parts.optimizer()
    optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
    updates = layer_state.updates()
    gradients = zip(tf.compat.v1.gradients(loss, variables), variables, strict=True)
    # As in fit(), weights that the loss does not depend on are not changed.
    with tf.control_dependencies(updates):
        trained = optimizer.apply_gradients([pair for pair in gradients if pair[0] is not None])
    return tf.estimator.EstimatorSpec(
        tf.estimator.ModeKeys.TRAIN,
        # Estimator adds up the replicas' shares, and reports the loss of the whole batch.
        loss=loss,
        train_op=trained,
        scaffold=tf.compat.v1.train.Scaffold(init_fn=load_values(clone.weights, initial)),
    )


def _evaluation(
    parts: KerasParts, clone: Any, targets: tuple[Any, Any], losses: Any, loss: Any
) -> Any:
    compiled = parts.known.compiled
    metrics = compile_utils.MetricsContainer(
        keras_metrics.clone_metrics(compiled["metrics"]),
        keras_metrics.clone_metrics(compiled["weighted_metrics"]),
        output_names=list(parts.known.outputs),
    )
    labels, weights = targets
    metrics.update_state(responses(parts.known, labels), _outputs(clone), sample_weight=weights)
    measured = {metric.name: metric for metric in [*losses.metrics, *metrics.metrics]}
    for metric in measured.values():
        # F1Score and R2Score return their last write only, which Estimator would run.
        metric._updates = [tf.group(*layer_state.writes_of(metric.variables))]
    measured[ROW_LOSS] = measured.pop("loss")
    return tf.estimator.EstimatorSpec(
        tf.estimator.ModeKeys.EVAL, loss=loss, eval_metric_ops=measured
    )


def _outputs(clone: Any) -> Any:
    return clone.outputs if len(clone.outputs) > 1 else clone.outputs[0]


def _clone(parts: KerasParts, tensors: Sequence[Any], training: bool, seed: int | None) -> Any:
    # Otherwise layers would check the phase at every step, in branches where replicas cannot make merge calls.
    backend._internal_set_learning_phase(tf.compat.v1.get_default_graph(), int(training))
    layers = list(parts.known.model._flatten_layers())
    # Layers inside others are made by the names of their classes.
    known = {type(each).__name__: type(each) for each in layers} | dict(parts.custom_objects)
    objects = tf.keras.utils.custom_object_scope(known)
    complete = patches.patch_temporarily("layer_configurations", _complete_configuration)
    with layer_seeds(seed or 1), objects, complete, _phase(training):
        clone = tf.keras.models.clone_model(parts.known.model, list(tensors), _clone_layer)
    # A configuration lacks this of the layers inside a layer, and fit() uses what it was in compile().
    known_state = parts.known.model._compiled_trainable_state
    for layer, copy in zip(layers, clone._flatten_layers(), strict=True):
        copy.trainable = known_state.get(layer, layer.trainable)
    return clone


@contextlib.contextmanager
def _phase(training: bool) -> Iterator[None]:
    """Pass the phase on to layers whose call() has a default for ``training``, as fit() does."""
    scope = backend.deprecated_internal_learning_phase_scope(int(training))
    # Elsewhere it is not set for layers.
    with context.eager_mode():
        scope.__enter__()
    try:
        yield
    finally:
        with context.eager_mode():
            scope.__exit__(None, None, None)


def _clone_layer(layer: Any) -> Any:
    if isinstance(layer, tf.keras.Model) and layer._is_graph_network:
        # Made of a configuration, its weights would lack the names of its layers.
        return tf.keras.models.clone_model(layer, clone_function=_clone_layer)
    # A configuration has only the names of functions, under which Keras finds its own functions only.
    config = layer.get_config()
    for name, value in config.items():
        function = getattr(layer, name, None) if isinstance(value, (str, dict)) else None
        if inspect.isfunction(function):
            package = (function.__module__ or "").partition(".")[0]
            config[name] = value if package in ("keras", "tf_keras", "tensorflow") else function
    return type(layer).from_config(config)


def _complete_configuration(get_config: Any, layer: Any) -> dict[str, Any]:
    config = get_config(layer)
    # A subclass may not take the argument.
    is_own = type(layer) is tf.keras.layers.BatchNormalization and layer.synchronized
    return {**config, "synchronized": True} if is_own else config


@contextlib.contextmanager
def _naming_errors() -> Iterator[None]:
    try:
        yield
    except TfdistributeError:
        raise
    except Exception as error:
        text = str(error).strip()
        if not text.startswith("in user code:"):
            raise
        raise CallbackError(
            f"A function of the Keras model failed: {text.splitlines()[-1].strip()}",
            "Correct the model's loss, metric or layer.",
            argument="keras_model",
        ) from error
