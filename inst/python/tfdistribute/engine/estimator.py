"""One class over TensorFlow's Estimators, with every repair and addition of this package.

TensorFlow refuses subclasses that override methods when they are constructed, so ``adopt()`` changes the class of an
existing Estimator. ``EstimatorOptions`` holds what differs between models. Things happen in this order:

``train``
    Rows in memory are gathered by the steps; the session is the one that ``train_with()`` names, or TensorFlow's.
``evaluate``
    Batches are added to metrics in a loop. The mean loss over batches becomes the mean over rows; a process that
    evaluates a shard of the rows exchanges the states of metrics; then the observer gets the metrics.
``export_saved_model``
    Predictions are the default signature for requests of tensors.

These and ``predict`` leave Keras's classes as they found them, and no graph in memory. Each calls the model function:

1. Training in turns continues with the first part of the batch.
2. Packed features become features by name.
3. Factors that the model reads as codes become whole numbers.
4. Joint numeric columns get one matrix.
5. Features are renamed to the model's own names.
6. A baseline model gets a single feature, to count rows.
7. A classifier's labels become whole numbers.
8. The model function is called, a user's with the repairs of ``model_graphs.repaired``, and its loss is checked.
9. The reported loss is the mean over replicas.
10. An evaluation gets the mean loss over rows as a metric, if the model has none.
11. Variables that a strategy has wrapped are dropped from the graph's collections.
12. Training in turns gets a loop over the parts of the batch.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf

from tfdistribute.engine import losses, metrics, model_graphs, model_inputs, tpu
from tfdistribute.engine.micro_batches import SplitOptions, SplitStep
from tfdistribute.engine.passes.evaluating_estimator import EvaluatingEstimator
from tfdistribute.engine.repairs import custom_gradients, keras_classes, replicated_variables

DEFAULT_SIGNATURE = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
PREDICT = "predict"
ModeKeys = tf.estimator.ModeKeys

# Called with TensorFlow's own `_train_with_estimator_spec` and its arguments: the specification, the hooks of the
# input, the hooks of the call, the global step and the saving listeners.
TrainSession = Callable[..., Any]

# As for ``metrics.AddStates``.
Exchange = Callable[[metrics.States], metrics.States | None]


@dataclass(frozen=True)
class EstimatorOptions:
    """The behaviour of an Estimator that differs between models.

    Args:
        kind: Origin of the model function: see ``existing_estimators.kind_of``.
        reads_matrices: Whether the model function takes ``Features``; others get a plain dictionary, the only mapping
            that reticulate converts to a list.
        columns: The model's feature columns, some of which may be joint columns.
        feature_keys: Names of features inside the model, by their names in the data.
        only_row_count: Whether the model reads no features and needs one only to count rows.
        weight_key: Name inside the model of the feature that holds the weights, or None.
        whole_labels: Whether labels are class numbers.
        loss_is_mean: Whether the loss is a mean over examples, in a model function written for one device; None for
            other model functions.
        reports_mean_loss: Whether the reported loss is the mean of the replicas' losses, and not their sum. If so,
            that of an evaluation is the mean over rows.
        row_loss: Name of the model's own metric that is the mean loss over rows, or None.
        hides_row_loss: Whether evaluations report that metric as "loss" only.
        keeps_one_variable: Whether variables that a strategy has wrapped are dropped from the graph's collections.
        factor_levels: Levels of the features that the model reads as codes, by name.
        label_levels: Levels of a label that the model reads as codes, or None.
        sums_loss: Whether the loss of a canned model is a sum over examples.
        as_written: Whether the model function is only code of TensorFlow, which AutoGraph need not convert: it takes a
            tenth of a second, and the graph is the same.
        turns: How training steps are computed.
    """

    kind: str = "custom"
    reads_matrices: bool = False
    columns: Sequence[Any] = ()
    feature_keys: Mapping[str, str] = field(default_factory=dict[str, str])
    only_row_count: bool = False
    weight_key: str | None = None
    whole_labels: bool = False
    loss_is_mean: bool | None = None
    reports_mean_loss: bool = False
    row_loss: str | None = None
    hides_row_loss: bool = False
    keeps_one_variable: bool = False
    factor_levels: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    label_levels: Sequence[str] | None = None
    sums_loss: bool = False
    as_written: bool = False
    turns: SplitOptions = SplitOptions()


class DistributedEstimator(EvaluatingEstimator):
    """An Estimator of any class after ``adopt()``."""

    options: EstimatorOptions
    _session: TrainSession | None = None
    _observer: Callable[[dict[str, Any], float], Any] | None = None
    _receiver: Any = None

    @contextlib.contextmanager
    def train_with(self, session: TrainSession) -> Iterator[None]:
        """Replace TensorFlow's training session inside the block.

        Args:
            session: Called in place of ``_train_with_estimator_spec``, with that as its first argument.

        Source:
            ``_train_with_estimator_spec`` in tensorflow_estimator/python/estimator/estimator.py: all training ends
            there, once the graph and all hooks exist.
        """
        self._session = session
        try:
            yield
        finally:
            self._session = None

    @contextlib.contextmanager
    def evaluate_shard(self, exchange: Exchange, output_dir: str | None) -> Iterator[None]:
        """Let evaluations inside the block evaluate a shard of the rows.

        Args:
            exchange: Called with the states of this process's metrics, see ``metrics.AddStates``.
            output_dir: Where summaries are written; None for the model's own directory.

        Raises:
            UnsupportedError: by the evaluation, if the state of a metric is not a sum.
        """
        self._shard = (exchange, output_dir)
        try:
            yield
        finally:
            self._shard = None

    def observe_evaluations(self, observer: Callable[[dict[str, Any], float], Any]) -> None:
        """Call a function with the metrics and the duration in seconds of each evaluation.

        TensorFlow's ``train_and_evaluate`` returns the last evaluation only; its executor calls ``evaluate`` for each.
        """
        self._observer = observer

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train, as TensorFlow's method does."""
        with _nothing_left():
            return super().train(*args, **kwargs)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Evaluate, as TensorFlow's method does; then call the observer."""
        began = time.monotonic()
        with _nothing_left():
            measured = super().evaluate(*args, **kwargs)
        if self._observer is not None:
            self._observer(measured, time.monotonic() - began)
        return measured

    def predict(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Predict, as TensorFlow's method does."""
        predictions = super().predict(*args, **kwargs)
        while True:
            with _nothing_left():
                try:
                    prediction = next(predictions)
                except StopIteration:
                    return
            yield prediction

    def export_saved_model(
        self, export_dir_base: str, serving_input_receiver_fn: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Export, with a default signature that every request can use.

        A canned classifier answers with classes and scores in the form of TensorFlow Serving, which takes serialised
        examples only. TensorFlow omits that signature for requests of tensors and only logs it. All predictions then
        become the default signature.

        Source:
            ``build_all_signature_defs`` in tensorflow/python/saved_model/model_utils/export_utils.py.
        """

        def receive() -> Any:
            self._receiver = serving_input_receiver_fn()
            return self._receiver

        try:
            with _nothing_left():
                return super().export_saved_model(export_dir_base, receive, *args, **kwargs)
        finally:
            self._receiver = None

    # Under a strategy, AutoGraph would rewrite all of the model's code, including layers and summaries. That takes
    # three quarters of the time to the first step, and does not happen without a strategy.
    @model_graphs.leave_as_written
    def _call_model_fn(self, features: Any, labels: Any, mode: Any, config: Any) -> Any:
        turns = self.options.turns
        if mode != ModeKeys.TRAIN or not turns.in_turns:
            with tpu.program():
                return self._call_repaired(features, labels, mode, config)
        step = SplitStep(turns, features, labels)
        with step.recording():
            spec = self._call_repaired(step.features, step.labels, mode, config)
        return step.joined(spec)

    def _call_repaired(self, features: Any, labels: Any, mode: Any, config: Any) -> Any:
        options = self.options
        features, labels = model_inputs.prepared(options, features, labels)
        repairs: Any = contextlib.nullcontext()
        if options.loss_is_mean is not None:
            # `self.config` is a copy.
            repairs = model_graphs.repaired(self._config, options.loss_is_mean)
        call = super()._call_model_fn
        if options.as_written:
            call = tf.autograph.experimental.do_not_convert(call)
        with repairs:
            spec = call(features, labels, mode, config)
        if options.loss_is_mean is not None and mode != ModeKeys.PREDICT:
            losses.check_rows_apart(spec.loss, features, labels)
        if options.reports_mean_loss:
            _report_mean_loss()
        if mode == ModeKeys.EVAL and self._computes_row_loss():
            spec = metrics.with_row_loss(spec, features, labels)
        if options.keeps_one_variable:
            spec = _with_one_variable_each(spec, mode)
        if self._receiver is not None:
            spec = _with_default_signature(spec, self._receiver)
        return spec

    def _train_with_estimator_spec(self, *args: Any) -> Any:
        train = super()._train_with_estimator_spec
        return train(*args) if self._session is None else self._session(train, *args)


def adopt(estimator: Any, options: EstimatorOptions) -> Any:
    """Change the class of an Estimator, in place, to one with this package's repairs.

    Returns:
        The same object, an instance of its own class and of ``DistributedEstimator``.
    """
    if not isinstance(estimator, DistributedEstimator):
        estimator.__class__ = _adopted_class(type(estimator))
    estimator.options = options
    return estimator


def read_codes(
    estimator: Any, factor_levels: Mapping[str, Sequence[str]], label_levels: Sequence[str] | None
) -> None:
    """Let an adopted Estimator read factors as codes; see ``EstimatorOptions``. Without any, a copy keeps its own."""
    if factor_levels or label_levels is not None:
        estimator.options = replace(
            estimator.options, factor_levels=factor_levels, label_levels=label_levels
        )


def train_in_turns(estimator: Any, parts: int, scales_loss: bool) -> None:
    """Let an adopted Estimator compute each training step in turns; see ``SplitOptions``."""
    options = estimator.options
    turns = SplitOptions(parts, options.sums_loss, scales_loss)
    estimator.options = replace(options, turns=turns)


def evaluate_in_runs(estimator: Any, steps_per_run: int | str) -> None:
    """Let an adopted Estimator evaluate many batches in one ``session.run``; see ``EvaluationRuns``."""
    estimator.steps_per_run = steps_per_run


@contextlib.contextmanager
def _nothing_left() -> Iterator[None]:
    """Leave Keras's classes, and the memory, as they were before the block."""
    with keras_classes.preserved(), custom_gradients.released():
        yield


@functools.cache
def _adopted_class(original: type) -> type:
    # Same name and module: ``kind_of`` recognises ready-made models by them.
    return type(
        original.__name__, (DistributedEstimator, original), {"__module__": original.__module__}
    )


def _report_mean_loss() -> None:
    """Report the mean of the replicas' losses if each of them is a mean.

    Optimizers of TensorFlow 2 do not set this flag, and without it Estimator adds up the replicas' losses: with n
    replicas it reports n times the loss. Weights are unaffected. A loss that is a sum over examples stays a sum over
    all replicas. Optimizers of TensorFlow 1 set or clear the flag in the model function.

    Source:
        ``_get_loss_reduce_op_for_reporting`` in tensorflow_estimator/python/estimator/estimator.py.
    """
    tf.compat.v1.get_default_graph()._is_loss_scaled_by_optimizer = True


def _with_one_variable_each(spec: Any, mode: str) -> Any:
    hook = replicated_variables.KeepOneOfEachVariable()
    if mode == ModeKeys.TRAIN:
        return spec._replace(training_hooks=(*spec.training_hooks, hook))
    if mode == ModeKeys.EVAL:
        return spec._replace(evaluation_hooks=(*spec.evaluation_hooks, hook))
    return spec


def _with_default_signature(spec: Any, receiver: Any) -> Any:
    outputs = spec.export_outputs or {}
    tensors = list(receiver.receiver_tensors.values())
    takes_examples = len(tensors) == 1 and tensors[0].dtype == tf.string
    takes_any = isinstance(outputs.get(DEFAULT_SIGNATURE), tf.estimator.export.PredictOutput)
    if PREDICT not in outputs or takes_examples or takes_any:
        return spec
    return spec._replace(export_outputs={**outputs, DEFAULT_SIGNATURE: outputs[PREDICT]})
