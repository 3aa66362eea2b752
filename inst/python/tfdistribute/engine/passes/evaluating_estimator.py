"""Estimators that evaluate and predict rows in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow_estimator.python.estimator import estimator as estimator_lib

from tfdistribute.checkpoints.contents import signature_of
from tfdistribute.engine import metrics
from tfdistribute.engine.keras2 import backend
from tfdistribute.engine.many_steps.gathering_estimator import GatheringEstimator
from tfdistribute.engine.many_steps.resident_rows import ResidentRows
from tfdistribute.engine.many_steps.runs import StepsPerRun
from tfdistribute.engine.passes import kept
from tfdistribute.engine.passes.evaluation_runs import EvaluationRuns
from tfdistribute.engine.passes.outputs import OutputChoice
from tfdistribute.engine.passes.prediction_runs import PredictionRuns, can_keep
from tfdistribute.engine.passes.row_pass import PassGraph, RowPass

v1 = tf.compat.v1


@dataclass
class _Prediction:
    """A prediction whose graph is being built.

    Args:
        outputs: What to return of the model's outputs.
        steps_per_run: Batches of one run, or "auto".
        hooks: Hooks of the session.
        predictions: What is computed of each batch.
        runs: The hook that computes many batches in a run; None if the model cannot, or must not.
    """

    outputs: OutputChoice
    steps_per_run: StepsPerRun
    hooks: list[Any]
    predictions: Any = None
    runs: PredictionRuns | None = None

    def with_runs(self, spec: Any) -> Any:
        """Choose from the outputs of a model; return its specification with the hook for many batches."""
        self.predictions = self.outputs.of(spec.predictions)
        if self.steps_per_run == 1 or not can_keep(self.predictions):
            return spec
        hooks = list(spec.prediction_hooks or ())
        self.runs = PredictionRuns(self.steps_per_run, [*self.hooks, *hooks], self.predictions)
        return spec._replace(prediction_hooks=[*hooks, self.runs])


class EvaluatingEstimator(GatheringEstimator):
    """An Estimator that computes metrics and predictions of all rows with as little as possible around the model."""

    options: Any
    steps_per_run: StepsPerRun = 1
    _shard: tuple[Any, str | None] | None = None
    _prediction: _Prediction | None = None

    def evaluate_rows(
        self,
        rows: ResidentRows,
        key: Any,
        checkpoint: str,
        name: str | None,
        report: Callable[[int], Any],
    ) -> dict[str, Any]:
        """Evaluate as ``evaluate`` does, without session hooks; for models whose graph has none.

        Args:
            rows: Features and labels.
            key: All that the model is built from, compared by equality; None if that is not known.
            checkpoint: Prefix of the checkpoint.
            name: Name of the evaluation.
            report: Called with the number of rows after each batch.
        """

        def build(element: Any) -> PassGraph:
            scaffold, update, values, _ = self._evaluate_build_graph(
                lambda: element, [], checkpoint
            )
            return PassGraph(scaffold, update, self._reported(values))

        with self._borrow(("evaluate", key), rows, checkpoint, build) as row_pass:
            for _ in row_pass.compute(rows, report):
                pass
            values = row_pass.result()
            with row_pass.graph.as_default():
                self._write(values, checkpoint, self.eval_dir(name))
        return values

    def predict_rows(
        self,
        rows: ResidentRows,
        key: Any,
        checkpoint: str,
        outputs: OutputChoice,
        report: Callable[[int], Any],
    ) -> Iterator[Any]:
        """Predict as ``predict`` does, without session hooks; for models whose graph has none.

        Args:
            rows: Features.
            key: As for ``evaluate_rows``.
            checkpoint: Prefix of the checkpoint.
            outputs: What to return of the model's outputs.
            report: As for ``evaluate_rows``.

        Yields:
            The predictions of each batch.
        """

        def build(element: Any) -> PassGraph:
            self._create_and_assert_global_step(v1.get_default_graph())
            spec = self._call_model_fn(element, None, tf.estimator.ModeKeys.PREDICT, self.config)
            return PassGraph(spec.scaffold, outputs.of(spec.predictions))

        with self._borrow(("predict", outputs, key), rows, checkpoint, build) as row_pass:
            yield from row_pass.compute(rows, report)

    def predict_batches(
        self,
        input_fn: Any,
        checkpoint: str,
        outputs: OutputChoice,
        hooks: Sequence[Any],
        ahead: bool,
    ) -> Iterator[Any]:
        """Predict as ``predict`` does with batches, many of them in one ``session.run``.

        Args:
            input_fn: The input function.
            checkpoint: Prefix of the checkpoint.
            outputs: What to return of the model's outputs.
            hooks: Hooks of the session; those of users see every batch.
            ahead: Whether batches may be computed before they are asked for.

        Yields:
            The predictions of each batch, strings as ``CodedStrings``.
        """
        prediction = _Prediction(outputs, self.steps_per_run if ahead else 1, list(hooks))
        batches = self.predict(
            input_fn, hooks=hooks, checkpoint_path=checkpoint, yield_single_examples=False
        )
        # The first batch builds the graph.
        self._prediction = prediction
        try:
            first = list(itertools.islice(batches, 1))
        finally:
            self._prediction = None
        for batch in itertools.chain(first, batches):
            yield batch
            if prediction.runs is not None:
                yield from prediction.runs.taken()

    def _call_model_fn(self, features: Any, labels: Any, mode: Any, config: Any) -> Any:
        spec = super()._call_model_fn(features, labels, mode, config)
        return spec if self._prediction is None else self._prediction.with_runs(spec)

    def _extract_keys(self, predictions: Any, predict_keys: Any) -> Any:
        if self._prediction is not None:
            return self._prediction.predictions
        return super()._extract_keys(predictions, predict_keys)

    def _get_features_from_input_fn(self, input_fn: Any, mode: Any) -> Any:
        features, hooks = super()._get_features_from_input_fn(input_fn, mode)
        if self._prediction is not None:
            self._prediction.hooks += hooks
        return features, hooks

    def _borrow(
        self, key: Any, rows: ResidentRows, checkpoint: str, build: Callable[..., PassGraph]
    ) -> Any:
        # The settings of Keras that a graph depends on.
        keras = (backend.floatx(), backend.epsilon(), tf.keras.mixed_precision.global_policy().name)
        is_known = key[-1] is not None
        return kept.PASSES.borrow(
            (key, rows.signature, keras) if is_known else None,
            (checkpoint, signature_of(checkpoint)),
            lambda: RowPass(rows, build, self, checkpoint),
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
        """Run an evaluation whose graph is complete.

        Source:
            ``_evaluate_run`` in tensorflow_estimator/python/estimator/estimator.py.
        """
        values, hooks = self._reported(eval_dict), list(all_hooks)
        if self._shard is not None:
            exchange, own_directory = self._shard
            hooks.append(metrics.AddStates(metrics.sum_states(values), exchange))
            output_dir = own_directory or output_dir
        if self.steps_per_run != 1 and self._eval_distribution is None:
            hooks.append(EvaluationRuns(self.steps_per_run, update_op, hooks))
        return super()._evaluate_run(
            checkpoint_path, scaffold, update_op, values, hooks, output_dir
        )

    def _reported(self, values: dict[str, Any]) -> dict[str, Any]:
        """Report the mean loss over rows as the loss, among the values of metrics by name."""
        if self._eval_distribution is not None:
            values = metrics.with_baselines_of_all_replicas(values)
        computed = self._computes_row_loss()
        name = metrics.ROW_LOSS if computed else self.options.row_loss
        return metrics.as_loss(values, name, computed or self.options.hides_row_loss)

    def _computes_row_loss(self) -> bool:
        return self.options.row_loss is None and self.options.reports_mean_loss

    def _write(self, values: dict[str, Any], checkpoint: str, output_dir: str) -> None:
        """Write what TensorFlow writes after an evaluation."""
        step = values[v1.GraphKeys.GLOBAL_STEP]
        estimator_lib._write_dict_to_summary(output_dir, values, step)
        estimator_lib._write_checkpoint_path_to_summary(output_dir, checkpoint, step)
