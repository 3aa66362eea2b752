"""Pipelines: numbers, names, calls and kinds of layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support.checkpoints import assert_identical
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.engine import model_parts as parts
from tfdistribute.engine.step import place_gradients
from tfdistribute.errors import ModelError, StrategyError

v1 = tf.compat.v1
layers = tf.keras.layers

pytestmark = pytest.mark.usefixtures("tensorflow")

X = np.random.default_rng(1).normal(size=(10, 6, 4)).astype("float32")
ONE = (("/device:CPU:0",),)
TWO = (("/device:CPU:0", "/device:CPU:1"),)


class Built:
    """A graph with a pipeline, its gradients, and their values at fixed weights."""

    def __init__(self, stages: Any, rows: Any, micro_batches: int, tape: bool = False) -> None:
        self.calls = 0
        with tf.Graph().as_default() as graph, engine.model_graphs.layer_seeds(3):
            v1.set_random_seed(3)
            place_gradients.install()
            strategy = parts.adopt(tf.distribute.OneDeviceStrategy("/device:CPU:0"), rows)
            with strategy.scope():
                strategy.extended.call_for_each_replica(
                    self._build, args=(stages, micro_batches, tape)
                )
            self.graph = graph
            with v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as session:
                session.run([v1.global_variables_initializer(), v1.tables_initializer()])
                self.initial = {each.op.name: session.run(each) for each in self.variables}
                self.output, found = session.run([self.result, self.found])
                self.gradients = dict(zip(self.initial, found, strict=True))

    def _build(self, stages: Any, micro_batches: int, tape: bool) -> None:
        def counted(stage: Any) -> Any:
            def call(x: Any) -> Any:
                self.calls += 1
                return stage(x)

            return call

        def forward() -> Any:
            x = v1.placeholder_with_default(tf.constant(X), [None, 6, 4])
            self.result = parts.pipeline(x, [counted(each) for each in stages()], micro_batches)
            # Made after the pipeline: its name and initial value do not depend on it.
            self.result = layers.Dense(1)(self.result) + v1.get_variable("last", [1])
            return tf.reduce_sum(tf.square(self.result - 1.0))

        with parts.model_scope():
            if tape:
                with tf.GradientTape() as recorded:
                    loss = forward()
                self.variables = v1.trainable_variables()
                self.found = recorded.gradient(loss, self.variables)
            else:
                loss = forward()
                self.variables = v1.trainable_variables()
                self.found = v1.gradients(loss, self.variables)

    def backward_devices(self) -> set[str]:
        kinds = ("MatMul", "BatchMatMulV2", "Conv2DBackpropFilter")
        return {
            operation.device[-5:]
            for operation in self.graph.get_operations()
            if operation.type in kinds and "grad" in operation.name.lower()
        }


def flat(x: Any) -> Any:
    return layers.Flatten()(x)


def recurrent(x: Any) -> Any:
    cell = v1.nn.rnn_cell.GRUCell(5)
    return v1.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)[1]


def looped(x: Any) -> Any:
    weights = v1.get_variable("weights", [4, 4])
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y @ weights)), [0, x])[1]


def chosen(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(tf.zeros([])) > 1.0, lambda: flat(x) * 2.0, lambda: flat(x))


def dense(x: Any) -> Any:
    return layers.Dense(2)(flat(x))


KINDS = {
    "dense": lambda: [lambda x: layers.Dense(8, "tanh")(flat(x)), dense],
    "convolution": lambda: [lambda x: layers.Conv1D(5, 3, activation="relu")(x), dense],
    "static recurrent": lambda: [recurrent, dense],
    "attention": lambda: [lambda x: layers.MultiHeadAttention(2, 4)(x, x), dense],
    "layers of TensorFlow 1": lambda: [
        lambda x: v1.layers.dense(v1.layers.flatten(x), 8, kernel_regularizer=tf.nn.l2_loss),
        lambda x: v1.layers.dense(x, 3),
    ],
    "condition": lambda: [chosen, dense],
    "LSTM": lambda: [lambda x: layers.LSTM(5)(x), dense],
    "loop": lambda: [lambda x: looped(tf.reshape(x, [-1, 4])), lambda x: dense(x[:, None])],
    "written gradient": lambda: [lambda x: tf.nn.silu(layers.Dense(3)(flat(x))), dense],
}
CALLED_AGAIN = ("condition", "LSTM", "loop", "written gradient")
# TensorFlow's tape knows no gradients of the cells of TensorFlow 1.
CASES = [
    (kind, tape)
    for kind in KINDS
    for tape in (False, True)
    if (kind, tape) != ("static recurrent", True)
]
CHECKED = ("dense", "convolution", "LSTM", "written gradient")


@sampled(("kind", "tape"), CASES, check=[(kind, False) for kind in CHECKED])
def test_micro_batches_change_no_number_and_no_name(kind: str, tape: bool):
    one = Built(KINDS[kind], ONE, 1, tape)
    four = Built(KINDS[kind], TWO, 4, tape)
    assert_identical(four.initial, one.initial)
    np.testing.assert_allclose(four.output, one.output, rtol=2e-5, atol=2e-5)
    for name, value in one.gradients.items():
        size = np.abs(value).max()
        np.testing.assert_allclose(four.gradients[name], value, rtol=0, atol=5e-6 * size + 1e-5)
    assert one.calls == 2
    # The second stage of each kind can be copied.
    assert four.calls == (5 if kind in CALLED_AGAIN else 2)
    assert four.backward_devices() == {"CPU:0", "CPU:1"}
    collected = v1.GraphKeys.REGULARIZATION_LOSSES
    assert len(four.graph.get_collection(collected)) == len(one.graph.get_collection(collected))


def test_a_tape_sees_all_micro_batches():
    found = [Built(KINDS["dense"], TWO, 4, tape).gradients for tape in (False, True)]
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("again", [False, True])
def test_each_micro_batch_drops_out_other_values(again: bool):
    def dropped(x: Any) -> Any:
        x = tf.nn.dropout(tf.ones_like(flat(x)), 0.5)
        return tf.nn.silu(x) if again else x

    built = Built(lambda: [dropped], ONE, 2)
    with v1.Session(graph=built.graph) as session:
        session.run(v1.variables_initializer(built.variables))
        joined = next(
            each for each in built.graph.get_operations() if each.type == "ConcatV2"
        ).outputs[0]
        values = session.run(joined)
    assert not np.array_equal(values[:5], values[5:])


def test_moving_averages_are_those_of_one_micro_batch():
    def normalised(x: Any) -> Any:
        return v1.layers.batch_normalization(flat(x), training=True)

    built = Built(lambda: [normalised], ONE, 2)
    assert len(built.graph.get_collection(v1.GraphKeys.UPDATE_OPS)) == 2


@pytest.mark.parametrize(("rows", "sizes"), [(10, [4, 3, 3]), (2, [1, 1, 0])])
def test_uneven_batches_are_split_as_equally_as_possible(rows: int, sizes: list[int]):
    seen: list[Any] = []

    def stage(x: Any) -> Any:
        return tf.nn.silu(x) if seen.append(x) is None else x

    with tf.Graph().as_default(), parts.model_scope():
        x = v1.placeholder_with_default(tf.zeros([rows, 2]), [None, 2])
        joined = parts.pipeline({"a": x}, [lambda given: {"b": stage(given["a"])}], 3)
        with v1.Session() as session:
            values = session.run([*seen, joined["b"]])
    assert [len(each) for each in values] == [*sizes, rows]


def test_stages_are_dealt_to_neighbours():
    assert parts.pipelines._deal(5, 2) == [0, 0, 0, 1, 1]
    assert parts.pipelines._deal(3, 3) == [0, 1, 2]


def refused(make: Any, rows: Any = ()) -> Any:
    with tf.Graph().as_default():
        strategy = tf.distribute.OneDeviceStrategy("/device:CPU:0")
        strategy = parts.adopt(strategy, rows) if rows else strategy

        def build() -> None:
            with parts.model_scope():
                make()

        with strategy.scope(), pytest.raises((ModelError, StrategyError)) as caught:
            strategy.extended.call_for_each_replica(build)
    return caught.value


THREE = (("/device:CPU:0", "/device:CPU:1", "/device:CPU:2"),)


def test_more_devices_than_stages_are_refused():
    error = refused(lambda: parts.pipeline(tf.zeros([4, 2]), [flat, flat]), THREE)
    assert error.problem == (
        "pipeline() has 2 stages, and a replica 3 devices: 1 of them would be idle."
    )
    assert error.remedy == "Split the model into 3 stages, or use 2 devices per replica."


def test_a_logical_device_that_is_not_there_is_refused():
    def enter(index: int, first: int) -> None:
        with parts.logical_device(index, first):
            pass

    error = refused(lambda: enter(2, 0), TWO)
    assert (
        error.problem == "logical_device(2) does not exist: a replica has 2 devices, from 0 to 1."
    )
    assert error.remedy == "Give the strategy more devices, or use one of these."
    assert refused(lambda: enter(3, 1), TWO).problem.endswith("from 1 to 2.")
    assert (
        refused(lambda: enter(0, 1)).problem == "logical_device(0) does not exist: the first is 1."
    )


@pytest.mark.parametrize(
    ("inputs", "stage", "what"),
    [
        (lambda: tf.constant(1.0), flat, "`inputs` of pipeline() holds a tensor without rows"),
        (lambda: tf.zeros([4, 2]), tf.reduce_mean, "stage 1 of pipeline() holds a tensor without"),
        (lambda: tf.zeros([4, 2]), lambda x: None, "stage 1 of pipeline() holds NoneType"),
        (
            lambda: tf.sparse.from_dense(tf.zeros([4, 2])),
            flat,
            "`inputs` of pipeline() holds SparseTensor",
        ),
    ],
)
def test_values_without_rows_are_refused(inputs: Any, stage: Any, what: str):
    error = refused(lambda: parts.pipeline(inputs(), [stage], 2))
    assert error.problem.startswith(what)


def test_parts_are_refused_outside_a_model_function():
    with pytest.raises(ModelError, match=r"logical_devices\(\) is called outside a model function"):
        parts.logical_devices()
