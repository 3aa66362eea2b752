"""A call of the model function: the stages before and after it, in their order."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tfdistribute.engine import losses, metrics, model_graphs, patches, tpu
from tfdistribute.engine.estimator import model_inputs
from tfdistribute.engine.estimator.category_codes import CLASSES, of_known_classes
from tfdistribute.engine.estimator.options import EstimatorOptions
from tfdistribute.engine.features import numeric_columns, wide_columns
from tfdistribute.engine.features.packed_features import Features, PackedFeatures
from tfdistribute.engine.graph import walk
from tfdistribute.engine.hooks import input_wait
from tfdistribute.engine.repairs import replicated_variables
from tfdistribute.engine.step import accumulate, distinct_rows, passes, replica_scale
from tfdistribute.engine.step.accumulate import AccumulatedStep

ModeKeys = tf.estimator.ModeKeys
_DEFAULT_SIGNATURE = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
_PREDICT = "predict"


@dataclass
class ModelCall:
    options: EstimatorOptions
    run_config: Any  # Its session configuration may be changed.
    model_fn: Callable[..., Any]
    receiver: Any  # Of an export.
    features: Any
    labels: Any
    mode: str
    config: Any
    # Of the loss of this replica, if replicas may have different numbers of rows.
    scale: Any = None
    spec: Any = None
    _accumulated: AccumulatedStep | None = None
    _known_classes: bool = False
    _received: Any = None  # Features and labels, before any stage.
    _recording: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def perform(self) -> Any:
        self._received = (self.features, self.labels)
        with self._recording:
            for stage in MODEL_CALL:
                stage(self)
        return self.spec

    def scale_by_rows(self) -> None:
        options, strategy = self.options, tf.distribute.get_strategy()
        averages = not options.sums_loss and options.loss_is_mean is not False
        on_tpus = "TPU" in type(strategy).__name__
        has_replicas = strategy.num_replicas_in_sync > 1 and not on_tpus
        if self.mode == ModeKeys.TRAIN and has_replicas and (averages or self.scale is not None):
            patches.install("gradients_of_rows", accumulate.gradients_of_rows)
            batch, in_losses = (self.features, self.labels), not options.reports_mean_loss
            is_whole = self._micro_batches() == 1
            scaling = replica_scale.scaling(
                self.scale, batch, in_losses, is_whole, is_sum=not averages
            )
            self._recording.enter_context(scaling)

    def _micro_batches(self) -> int:
        return self.options.step.micro_batches if passes.is_on("accumulate") else 1

    def take_micro_batch(self) -> None:
        count, scales_loss = self._micro_batches(), self.options.step.scales_loss
        if self.mode == ModeKeys.TRAIN and (count > 1 or scales_loss):
            step = self._accumulated = AccumulatedStep(
                self.features, self.labels, count, self.options.sums_loss, scales_loss
            )
            self._recording.enter_context(step.recording())
            self.features, self.labels = step.features, step.labels

    def unpack_features(self) -> None:
        if isinstance(self.features, PackedFeatures):
            self.features = Features.unpack(self.features)

    def read_classes(self) -> None:
        if isinstance(self.features, dict) and CLASSES in self.features:
            self.labels = self.features.pop(CLASSES)
            self._known_classes = True

    def read_codes(self) -> None:
        if self.options.factor_levels and isinstance(self.features, dict):
            if not isinstance(self.features, Features):
                self.features = dict(self.features)
            model_inputs.read_codes(self.features, self.options.factor_levels)
        if self.options.label_levels is not None and self.labels is not None:
            self.labels = model_inputs.as_codes(self.labels, self.options.label_levels)

    def join_numeric_columns(self) -> None:
        if isinstance(self.features, Features):
            options = self.options
            self.features = (
                numeric_columns.add_joint_columns(
                    self.features, options.columns, options.feature_keys
                )
                if options.reads_matrices
                else dict(self.features)
            )

    def rename_features(self) -> None:
        if self.options.feature_keys:
            self.features = model_inputs.rename_features(self.features, self.options.feature_keys)

    def transform_wide_columns(self) -> None:
        if isinstance(self.features, Mapping):
            self.features = wide_columns.add_transformed(self.features, self.options.columns)

    def keep_row_count(self) -> None:
        if self.options.only_row_count:
            self.features = model_inputs.keep_row_count(self.features, self.options.weight_key)

    def cast_labels(self) -> None:
        classes = self.options.classes
        if self.options.whole_labels:
            self.labels = model_inputs.cast_labels(self.labels)
        elif not self._known_classes and classes is not None and not isinstance(classes, int):
            self.labels = model_inputs.name_labels(self.labels, classes)

    def call_model_fn(self) -> None:
        loss_is_mean, call = self.options.loss_is_mean, self.model_fn
        if self.options.as_written:
            call = tf.autograph.experimental.do_not_convert(call)
        repairs: Any = contextlib.nullcontext()
        if loss_is_mean is not None:
            repairs = model_graphs.repair_model_fn(self.run_config, loss_is_mean)
        if self._known_classes:
            repairs = of_known_classes()
        distinct_rows.install()
        with tpu.program(), repairs:
            self.spec = call(self.features, self.labels, self.mode, self.config)

    def note_unread_factors(self) -> None:
        note, features = self.options.note_unread, self.features
        is_function = self.options.loss_is_mean is not None and isinstance(features, dict)
        if self.mode != ModeKeys.TRAIN or note is None or not is_function:
            return
        results = (self.spec.loss, self.spec.train_op, self.spec.predictions)
        needed = set(walk.ancestors(each for each in tf.nest.flatten(results) if each is not None))
        coded = self.options.factor_levels.keys() & features.keys()
        note([name for name in coded if features[name].op not in needed])

    def check_loss(self) -> None:
        if self.options.loss_is_mean is not None and self.mode != ModeKeys.PREDICT:
            losses.check_rows_apart(self.spec.loss, self.features, self.labels)

    def report_mean_loss(self) -> None:
        """Report the mean of the replicas' losses if each of them is a mean.

        Optimizers of TensorFlow 2 do not set this flag, and without it Estimator reports the sum over replicas.
        Weights are unaffected. Optimizers of TensorFlow 1 set or clear the flag in the model function.

        Source:
            ``_get_loss_reduce_op_for_reporting`` in tensorflow_estimator/python/estimator/estimator.py.
        """
        if self.options.reports_mean_loss:
            tf.compat.v1.get_default_graph()._is_loss_scaled_by_optimizer = True

    def add_row_loss(self) -> None:
        if self.mode == ModeKeys.EVAL and self.options.adds_row_loss:
            self.spec = metrics.with_row_loss(self.spec, self.features, self.labels)

    def keep_one_of_each_variable(self) -> None:
        name = {ModeKeys.TRAIN: "training_hooks", ModeKeys.EVAL: "evaluation_hooks"}.get(self.mode)
        if self.options.keeps_one_variable and name is not None:
            hooks = (*getattr(self.spec, name), replicated_variables.KeepOneOfEachVariable())
            self.spec = self.spec._replace(**{name: hooks})

    def add_default_signature(self) -> None:
        """Make all predictions the default signature of an export that takes tensors.

        TensorFlow omits the signature of a canned classifier, which takes serialized examples only, and just logs it.

        Source:
            ``build_all_signature_defs`` in tensorflow/python/saved_model/model_utils/export_utils.py.
        """
        if self.receiver is None:
            return
        outputs = self.spec.export_outputs or {}
        tensors = list(self.receiver.receiver_tensors.values())
        takes_examples = len(tensors) == 1 and tensors[0].dtype == tf.string
        takes_any = isinstance(outputs.get(_DEFAULT_SIGNATURE), tf.estimator.export.PredictOutput)
        if _PREDICT in outputs and not takes_examples and not takes_any:
            exported = {**outputs, _DEFAULT_SIGNATURE: outputs[_PREDICT]}
            self.spec = self.spec._replace(export_outputs=exported)

    def scale_loss(self) -> None:
        scale = replica_scale.current()
        if scale is not None and not scale.in_losses:
            self.spec = self.spec._replace(loss=replica_scale.scaled(self.spec.loss))

    def accumulate(self) -> None:
        self._recording.close()
        if self._accumulated is not None:
            self.spec = self._accumulated.accumulate(self.spec)

    def measure_input_wait(self) -> None:
        if self.mode == ModeKeys.TRAIN:
            self.spec = input_wait.measured(self.spec, self._received)


MODEL_CALL = (
    ModelCall.scale_by_rows,
    ModelCall.take_micro_batch,
    ModelCall.unpack_features,
    ModelCall.read_classes,
    ModelCall.read_codes,
    ModelCall.join_numeric_columns,
    ModelCall.rename_features,
    ModelCall.transform_wide_columns,
    ModelCall.keep_row_count,
    ModelCall.cast_labels,
    ModelCall.call_model_fn,
    ModelCall.note_unread_factors,
    ModelCall.check_loss,
    ModelCall.report_mean_loss,
    ModelCall.add_row_loss,
    ModelCall.keep_one_of_each_variable,
    ModelCall.add_default_signature,
    ModelCall.scale_loss,
    ModelCall.accumulate,
    ModelCall.measure_input_wait,
)
