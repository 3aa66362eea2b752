"""One class over TensorFlow's Estimators.

TensorFlow rejects subclasses that override methods, so ``adopt()`` changes the class of an existing Estimator.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.autograph.impl import api as autograph
from tensorflow.python.training import evaluation
from tensorflow_estimator.python.estimator import estimator as estimator_lib
from tensorflow_estimator.python.estimator import util as estimator_util

from tfdistribute.checkpoints.contents import signature_of
from tfdistribute.engine import metrics
from tfdistribute.engine.estimator.model_call import ModelCall
from tfdistribute.engine.estimator.options import EstimatorOptions
from tfdistribute.engine.estimator.warm_start import settings_by_name
from tfdistribute.engine.inference import GRAPHS, InferenceGraph, InferenceSession, OutputChoice
from tfdistribute.engine.inference.fed_rows import FedRows
from tfdistribute.engine.keras2 import backend
from tfdistribute.engine.repairs import custom_gradients, keras_classes
from tfdistribute.engine.step import replica_scale, resident_rows
from tfdistribute.engine.step.replica_scale import ScaledFeatures, ScalingIterator
from tfdistribute.engine.step.resident_rows import ResidentRows, RowReader

v1 = tf.compat.v1
ModeKeys = tf.estimator.ModeKeys

# Called with TensorFlow's own `_train_with_estimator_spec` and its arguments: the specification, the hooks of the
# input and of the call, the global step and the saving listeners.
TrainSession = Callable[..., Any]
# Called with the prefix of a checkpoint; returns its metrics.
Evaluation = Callable[[str], dict[str, Any]]
# As for ``metrics.AddStates``.
Exchange = Callable[[metrics.States], metrics.States | None]


class DistributedEstimator(estimator_lib.Estimator):
    """An Estimator of any class after ``adopt()``, whose input functions may return ``ResidentRows``."""

    options: EstimatorOptions
    _session: TrainSession | None = None
    _evaluation: Evaluation | None = None
    _receiver: Any = None
    _shard: tuple[Any, str | None] | None = None
    _reader: RowReader | None = None
    _fed: tuple[FedRows | None, ResidentRows | None] = (None, None)

    @contextlib.contextmanager
    def train_with(self, session: TrainSession) -> Iterator[None]:
        """Call ``session`` in place of ``_train_with_estimator_spec``, with that as its first argument."""
        self._session = session
        try:
            yield
        finally:
            self._session = None

    @contextlib.contextmanager
    def evaluate_shard(self, exchange: Exchange, output_dir: str | None) -> Iterator[None]:
        """Let evaluations inside the block evaluate a shard of the rows; ``exchange`` as in ``metrics.AddStates``."""
        self._shard = (exchange, output_dir)
        try:
            yield
        finally:
            self._shard = None

    @contextlib.contextmanager
    def evaluate_with(self, evaluation: Evaluation | None) -> Iterator[None]:
        """Call ``evaluation`` in place of ``evaluate``, which TensorFlow's ``train_and_evaluate`` calls."""
        before, self._evaluation = self._evaluation, evaluation
        try:
            yield
        finally:
            self._evaluation = before

    def train(self, *args: Any, **kwargs: Any) -> Any:
        with _nothing_left():
            return super().train(*args, **kwargs)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if self._evaluation is not None:
            evaluation = self._evaluation
            with self.evaluate_with(None):
                return evaluation(kwargs["checkpoint_path"])
        self._fed = (None, None)
        with _nothing_left():
            return super().evaluate(*args, **kwargs)

    def predict(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
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
        def receive() -> Any:
            self._receiver = serving_input_receiver_fn()
            return self._receiver

        try:
            with _nothing_left():
                return super().export_saved_model(export_dir_base, receive, *args, **kwargs)
        finally:
            self._receiver = None

    def evaluate_rows(
        self,
        rows: ResidentRows,
        key: Any,
        checkpoint: str,
        name: str | None,
        report: Callable[[int], Any],
        steps: int | None = None,
    ) -> dict[str, Any]:
        """Evaluate as ``evaluate`` does, with the graph of an earlier evaluation if that is cached.

        ``key`` holds everything that the model is built from, None if that is not known. ``report`` gets the number
        of batches.
        """

        def build() -> InferenceGraph:
            fed = FedRows(rows)
            scaffold, update, values, hooks = self._evaluate_build_graph(
                lambda: fed.element, [], checkpoint
            )
            return InferenceGraph(scaffold, update, self._select_loss(values), fed, hooks)

        with self._borrow(("evaluate", key), rows, checkpoint, build) as session:
            for _ in session.compute(rows, report, steps):
                pass
            values = session.result()
            with session.graph.as_default():
                self._write(values, checkpoint, self.eval_dir(name))
        return values

    def predict_batches(
        self,
        source: ResidentRows | Callable[..., Any],
        key: Any,
        checkpoint: str,
        outputs: OutputChoice,
        hooks: Sequence[Any],
        report: Callable[[int], Any],
    ) -> Iterator[Any]:
        """Predict as ``predict`` does, batch by batch, strings as ``CodedStrings``; ``key`` is None with hooks."""
        rows = source if isinstance(source, ResidentRows) else None

        def build() -> InferenceGraph:
            self._create_and_assert_global_step(v1.get_default_graph())
            fed, input_hooks = None if rows is None else FedRows(rows), []
            if fed is None:
                features, input_hooks = self._get_features_from_input_fn(source, ModeKeys.PREDICT)
            else:
                features = fed.element
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self.config)
            of_batch = outputs.of(spec.predictions)
            all_hooks = [*input_hooks, *hooks, *(spec.prediction_hooks or ())]
            return InferenceGraph(spec.scaffold, of_batch, None, fed, all_hooks)

        with self._borrow(("predict", outputs, key), rows, checkpoint, build) as session:
            yield from session.compute(rows, report)

    # Under a strategy, AutoGraph would rewrite the model's code, including layers. That takes three quarters of the
    # time to the first step.
    @autograph.autograph_artifact
    def _call_model_fn(self, features: Any, labels: Any, mode: Any, config: Any) -> Any:
        model_fn, scale = super()._call_model_fn, None
        if isinstance(features, ScaledFeatures):
            features, scale = features
        # `self.config` is a copy.
        return ModelCall(
            *(self.options, self._config, model_fn, self._receiver),
            *(features, labels, mode, config, scale),
        ).perform()

    def _train_with_estimator_spec(self, *args: Any) -> Any:
        train = super()._train_with_estimator_spec
        settings, vocabularies = self._warm_start_settings, self.options.warm_vocabularies
        self._warm_start_settings = settings_by_name(settings, self.model_dir, vocabularies)
        try:
            return train(*args) if self._session is None else self._session(train, *args)
        finally:
            self._warm_start_settings = settings

    def _call_input_fn(self, input_fn: Any, mode: Any, input_context: Any = None) -> Any:
        returned = super()._call_input_fn(input_fn, mode, input_context)
        if not isinstance(returned, ResidentRows):
            return returned
        if mode == ModeKeys.EVAL and self._eval_distribution is None:
            self._fed = FedRows(returned), returned
            return self._fed[0].element
        if not resident_rows.can_gather(self, mode):
            return returned.as_dataset()
        self._reader = RowReader(returned)
        # TensorFlow's strategies call it once for each replica.
        return self._reader.next_element

    def _get_features_and_labels_from_input_fn(self, input_fn: Any, mode: Any) -> Any:
        returned = self._call_input_fn(input_fn, mode)
        hooks = self._reader_hooks()
        if not hooks:
            return estimator_util.parse_input_fn_result(returned)
        return *estimator_util.parse_iterator_result(returned()), hooks

    def _get_iterator_from_input_fn(
        self, input_fn: Any, mode: Any, distribution: Any = None
    ) -> Any:
        on_tpus = "TPU" in type(distribution).__name__
        scales = mode == ModeKeys.TRAIN and distribution.num_replicas_in_sync > 1 and not on_tpus
        with replica_scale.counting_rows() if scales else contextlib.nullcontext():
            iterator, hooks = super()._get_iterator_from_input_fn(input_fn, mode, distribution)
        if scales:
            iterator = ScalingIterator(iterator, distribution, self._reader)
        return iterator, hooks + self._reader_hooks()

    def _reader_hooks(self) -> list[Any]:
        hooks = [] if self._reader is None else [self._reader]
        # The rows must not stay in memory after the training.
        self._reader = None
        return hooks

    def _borrow(
        self,
        key: Any,
        rows: ResidentRows | None,
        checkpoint: str,
        build: Callable[[], InferenceGraph],
    ) -> Any:
        def make() -> InferenceSession:
            with _nothing_left(), tf.Graph().as_default():
                v1.set_random_seed(self._config.tf_random_seed)
                return InferenceSession(
                    build(), checkpoint, self._session_config, self._config.master
                )

        # The settings of Keras that a graph depends on.
        keras = (backend.floatx(), backend.epsilon(), tf.keras.mixed_precision.global_policy().name)
        return GRAPHS.borrow(
            None if rows is None or key[-1] is None else (key, rows.signature, keras),
            (checkpoint, signature_of(checkpoint)),
            make,
        )

    def _evaluate_run(
        self,
        checkpoint_path: Any,
        scaffold: Any,
        update_op: Any,
        eval_dict: dict[str, Any],
        all_hooks: Sequence[Any],
        output_dir: str,
    ) -> dict[str, Any]:
        values, hooks = self._select_loss(eval_dict), list(all_hooks)
        if self._shard is not None:
            exchange, own_directory = self._shard
            hooks.append(metrics.AddStates(metrics.sum_states(values), exchange))
            output_dir = own_directory or output_dir
        if self._eval_distribution is not None:
            return super()._evaluate_run(
                checkpoint_path, scaffold, update_op, values, hooks, output_dir
            )
        (fed, rows), self._fed = self._fed, (None, None)
        ends = [each for each in hooks if isinstance(each, evaluation._StopAfterNEvalsHook)]
        hooks = [each for each in hooks if each not in ends]
        session = InferenceSession(
            InferenceGraph(scaffold, update_op, values, fed, hooks),
            checkpoint_path,
            self._session_config,
            self._config.evaluation_master,
        )
        with contextlib.closing(session):
            for _ in session.compute(rows, steps=ends[0]._num_evals if ends else None):
                pass
            result = session.result()
        self._write(result, checkpoint_path, output_dir)
        return result

    def _select_loss(self, values: dict[str, Any]) -> dict[str, Any]:
        if self._eval_distribution is not None:
            values = metrics.with_baselines_of_all_replicas(values)
        if self.options.classes is not None:
            values = metrics.without_auc_of_one_class(values)
        added = self.options.adds_row_loss
        name = metrics.ROW_LOSS if added else self.options.row_loss
        return metrics.as_loss(values, name, added or self.options.hides_row_loss)

    def _write(self, values: dict[str, Any], checkpoint: str | None, output_dir: str) -> None:
        step = values[v1.GraphKeys.GLOBAL_STEP]
        estimator_lib._write_dict_to_summary(output_dir, values, step)
        if checkpoint:
            estimator_lib._write_checkpoint_path_to_summary(output_dir, checkpoint, step)


@contextlib.contextmanager
def _nothing_left() -> Iterator[None]:
    with keras_classes.preserve_classes(), custom_gradients.release_gradients():
        yield
