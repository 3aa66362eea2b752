"""Training steps in a bare graph, computed at once and in micro-batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine import model_graphs, model_parts
from tfdistribute.engine.step import place_gradients
from tfdistribute.engine.step.accumulate import AccumulatedStep

v1 = tf.compat.v1

ROWS, WIDTH = 14, 3
numbers = np.random.default_rng(4)
X = numbers.normal(size=(ROWS, WIDTH)).astype("float32")
Y = (X @ np.array([1.0, -2.0, 0.5]) + 0.1).astype("float32")
IDS = numbers.integers(0, 6, size=(ROWS, 2))


class Trained:
    """Variables and losses after a few steps of a model function, which returns a loss and a training operation."""

    def __init__(
        self,
        function: Any,
        micro_batches: int,
        rows: int = ROWS,
        steps: int = 3,
        static: bool = False,
        **options: Any,
    ) -> None:
        self.calls = 0
        self._shape = [rows if static else None]
        with tf.Graph().as_default(), model_graphs.layer_seeds(3):
            v1.set_random_seed(3)
            place_gradients.install()
            spec = self._spec(function, micro_batches, options, rows)
            summaries = v1.summary.merge_all()
            self.has_loop = any(
                "While" in each.type for each in v1.get_default_graph().get_operations()
            )
            with v1.Session(config=v1.ConfigProto(device_count={"CPU": 1})) as session:
                session.run([v1.global_variables_initializer(), v1.tables_initializer()])
                self.losses = [session.run([spec.loss, spec.train_op])[0] for _ in range(steps)]
                self.variables = {each.op.name: session.run(each) for each in v1.global_variables()}
                self.summaries = None if summaries is None else session.run(summaries)

    def _spec(self, function: Any, micro_batches: int, options: Any, rows: int) -> Any:
        step = v1.train.get_or_create_global_step()
        whole = {
            "x": v1.placeholder_with_default(X[:rows], [*self._shape, WIDTH]),
            "ids": v1.placeholder_with_default(IDS[:rows], [*self._shape, 2]),
            "sparse": tf.sparse.from_dense(v1.placeholder_with_default(IDS[:rows], [None, 2])),
        }
        y = v1.placeholder_with_default(Y[:rows], self._shape)

        def build(features: Any, labels: Any) -> Any:
            self.calls += 1
            with model_parts.model_scope():
                loss, train_op = function(features, labels)
            count = step.assign_add(1, read_value=False)
            return tf.estimator.EstimatorSpec(
                "train", loss=loss, train_op=tf.group(train_op, count)
            )

        if micro_batches == 1 and not options:
            return build(whole, y)
        accumulated = AccumulatedStep(whole, y, micro_batches, **options)
        with accumulated.recording():
            spec = build(accumulated.features, accumulated.labels)
        return accumulated.accumulate(spec)


def same(
    function: Any, micro_batches: int = 4, tolerance: float = 2e-6, words: str = "", **options: Any
) -> Trained:
    """Check that micro-batches change no number and no name; return the training with them."""
    static = options.get("static", False)
    one, several = Trained(function, 1, static=static), Trained(function, micro_batches, **options)
    np.testing.assert_allclose(several.losses, one.losses, rtol=tolerance, err_msg=words)
    assert several.variables.keys() == one.variables.keys(), words
    for name, value in one.variables.items():
        np.testing.assert_allclose(
            several.variables[name], value, tolerance, tolerance, err_msg=f"{words} {name}"
        )
    assert several.calls == 1
    return several
