from __future__ import annotations

import copy
import functools
import threading
from types import SimpleNamespace

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import equality_models as models
from support.replica_graphs import (
    in_replicas,
    mirrored,
    replica_id,
    session_config,
    total,
)
from support.sampling import sampled
from tensorflow.python.distribute import (
    mirrored_strategy,
    parameter_server_strategy_v2,
    tpu_strategy,
)
from tensorflow.python.framework import ops

from tfdistribute.engine.r_thread.sequential_replicas import adopt
from tfdistribute.errors import UnsupportedError

v1 = tf.compat.v1

pytestmark = [
    pytest.mark.usefixtures("tensorflow"),
    pytest.mark.filterwarnings("ignore:To make it possible to preserve tf.data options"),
]

STRATEGIES = {
    "mirrored over 2": lambda: mirrored(2),
    "mirrored over 3": lambda: mirrored(3),
    "central storage over 2": lambda: tf.distribute.experimental.CentralStorageStrategy(
        ["CPU:0", "CPU:1"], "CPU:0"
    ),
    "multi-worker without a cluster": tf.distribute.MultiWorkerMirroredStrategy,
    "parameter server without a cluster": v1.distribute.experimental.ParameterServerStrategy,
}

# TensorFlow itself cannot train these under central storage: "At least two variables have the same name", and a
# custom gradient that uses variables.
IMPOSSIBLE = {
    ("keras_layers", "central storage over 2"),
    ("all_reduce_in_model", "central storage over 2"),
}
# With one replica, merge calls wait for nothing; one model is enough to test them.
CASES = [
    (model, strategy)
    for strategy in STRATEGIES
    for model in models.MODELS
    if (model, strategy) not in IMPOSSIBLE
    and ("without a cluster" not in strategy or model == "batch_norm_with_adam")
]
QUICK = [
    ("batch_norm_with_adam", "mirrored over 3"),
    ("clipped_momentum", "central storage over 2"),
    ("all_reduce_in_model", "mirrored over 2"),
    ("two_optimizers", "mirrored over 2"),
    ("loss_scale", "mirrored over 2"),
    ("batch_norm_with_adam", "multi-worker without a cluster"),
]
OTHER_VERSIONS = [
    ("clipped_momentum", "central storage over 2"),
    ("all_reduce_in_model", "mirrored over 2"),
    ("two_optimizers", "mirrored over 2"),
]
every_case = sampled(("model", "strategy"), CASES, check=QUICK, versions=OTHER_VERSIONS)


def estimator(model_fn, strategy, model_dir):
    sessions = session_config()
    # Graph rewriting took a quarter of these tests' time.
    sessions.graph_options.rewrite_options.disable_meta_optimizer = True
    config = tf.estimator.RunConfig(
        tf_random_seed=3,
        train_distribute=strategy,
        eval_distribute=strategy,
        save_summary_steps=None,
        log_step_count_steps=None,
        session_config=sessions,
    )
    return tf.estimator.Estimator(model_fn, str(model_dir), config)


@pytest.fixture(scope="module")
def trained(tensorflow, tmp_path_factory):
    """Train 12 steps, then evaluate 5; return the variables, the metrics, and the threads that called model_fn."""

    @functools.cache
    def run(model, strategy, sequential):
        threads = []

        def model_fn(features, labels, mode):
            threads.append(threading.get_ident())
            return models.MODELS[model](features, labels, mode)

        placed = STRATEGIES[strategy]()
        if sequential:
            adopt(placed)
        trainee = estimator(model_fn, placed, tmp_path_factory.mktemp("model"))
        trainee.train(models.batches, steps=12)
        names = trainee.get_variable_names()
        variables = {name: trainee.get_variable_value(name) for name in names}
        return variables, trainee.evaluate(models.batches, steps=5), threads

    return run


@every_case
def test_variables_equal_those_of_tensorflows_threads_bit_for_bit(trained, model, strategy):
    variables, _, _ = trained(model, strategy, sequential=True)
    expected, _, threads = trained(model, strategy, sequential=False)

    assert threading.get_ident() not in threads, "the reference must come from TensorFlow's threads"
    assert variables.keys() == expected.keys()
    assert variables["global_step"] == 12
    for name, value in expected.items():
        np.testing.assert_array_equal(variables[name], value, err_msg=name, strict=True)


@every_case
def test_evaluation_equals_that_of_tensorflows_threads(trained, model, strategy):
    assert (
        trained(model, strategy, sequential=True)[1]
        == trained(model, strategy, sequential=False)[1]
    )


@every_case
def test_model_fn_is_called_on_the_calling_thread_only(trained, model, strategy):
    _, _, threads = trained(model, strategy, sequential=True)
    replicas = STRATEGIES[strategy]().num_replicas_in_sync

    assert threads == [threading.get_ident()] * replicas * 2


def test_replicas_run_on_the_thread_that_calls_the_strategy():
    seen = []
    caller = threading.Thread(
        target=lambda: in_replicas(lambda: seen.append(threading.get_ident()) or tf.constant(1.0))
    )
    caller.start()
    identifier = caller.ident
    caller.join()

    assert seen == [identifier, identifier]


def test_each_replica_begins_with_scopes_and_devices_of_its_own():
    seen = []

    def function():
        with v1.variable_scope(None, default_name="block") as scope:
            made = tf.constant(1.0)
        seen.append((scope.name, made.op.name, made.device[-5:]))
        return made

    in_replicas(function)
    # TensorFlow would name the second one "block_1" if it remembered the first.
    assert seen == [("block", "block/Const", "CPU:0"), ("block", "replica_1/block/Const", "CPU:1")]


def graph_state():
    graph = tf.compat.v1.get_default_graph()
    return (
        graph.get_name_scope(),
        graph._device_functions_outer_to_inner,
        graph._current_control_dependencies(),
        v1.get_variable_scope().name,
        tf.distribute.get_strategy(),
        tf.distribute.in_cross_replica_context(),
    )


class OwnError(Exception):
    pass


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize("place", ["before", "inside", "after"])
def test_an_error_in_a_replica_comes_out_unchanged_and_leaves_no_trace(failing, place):
    error = OwnError("of the user")
    strategy = adopt(mirrored(2))

    def fail(*_):
        raise error

    def function(broken):
        fails = broken and replica_id() == failing
        with v1.variable_scope("inner"), tf.device("CPU:2"):
            if fails and place == "before":
                fail()
            if fails and place == "inside":
                # Replica 0's merge function is called on behalf of both; replica 1's never is.
                fail() if failing else tf.distribute.get_replica_context().merge_call(fail)
            result = total(tf.constant(1.0))
            if fails and place == "after":
                fail()
            return result

    with tf.Graph().as_default(), tf.name_scope("outer"):
        before = graph_state()
        with pytest.raises(OwnError) as caught:
            strategy.extended.call_for_each_replica(function, args=(True,))
        assert caught.value is error
        assert graph_state() == before
        again = strategy.extended.call_for_each_replica(function, args=(False,))
        with v1.Session(config=session_config()) as session:
            assert session.run(strategy.experimental_local_results(again)) == (2.0, 2.0)


@pytest.mark.parametrize("failing", [0, 1])
def test_training_works_after_a_model_fn_that_failed(trained, tmp_path, failing):
    error = OwnError("of the user")

    def model_fn(features, labels, mode):
        spec = models.dense_with_sgd(features, labels, mode)
        if broken and replica_id() == failing:
            raise error
        return spec

    trainee = estimator(model_fn, adopt(mirrored(2)), tmp_path)
    broken = True
    with pytest.raises(OwnError) as caught:
        trainee.train(models.batches, steps=2)
    assert caught.value is error

    broken = False
    trainee.train(models.batches, steps=12)
    expected, _, _ = trained("dense_with_sgd", "mirrored over 2", sequential=False)
    np.testing.assert_array_equal(
        trainee.get_variable_value("dense/kernel"), expected["dense/kernel"]
    )


def test_a_deep_copy_keeps_its_replicas_on_the_calling_thread():
    seen = []
    with tf.Graph().as_default():
        copied = copy.deepcopy(adopt(mirrored(2)))
    in_replicas(lambda: seen.append(threading.get_ident()) or tf.constant(1.0), copied)

    assert seen == [threading.get_ident()] * 2
    assert copied.extended._container_strategy() is copied


def test_adopting_changes_this_strategy_only():
    adopt(mirrored(2))
    assert type(mirrored(2).extended) is mirrored_strategy.MirroredExtended


def test_adopting_twice_is_adopting_once():
    strategy = adopt(mirrored(2))
    once = type(strategy.extended)

    assert adopt(strategy) is strategy
    assert type(strategy.extended) is once


@pytest.mark.parametrize(
    "strategy", [lambda: tf.distribute.OneDeviceStrategy("CPU:0"), tf.distribute.get_strategy]
)
def test_strategies_that_call_directly_stay_as_they_are(strategy):
    strategy = strategy()
    before = type(strategy.extended)

    assert adopt(strategy) is strategy
    assert type(strategy.extended) is before


def test_no_strategy_stays_no_strategy():
    assert adopt(None) is None


class OwnThreadPool(mirrored_strategy.MirroredExtended):
    def _call_for_each_replica(self, fn, args, kwargs):
        raise NotImplementedError


@pytest.mark.parametrize(
    "extended",
    [
        parameter_server_strategy_v2.ParameterServerStrategyV2Extended,
        OwnThreadPool,
    ],
)
def test_strategies_that_call_replicas_in_another_way_are_refused(extended):
    # The constructors need a cluster or a TPU; only the way that replicas are called matters here.
    strategy = SimpleNamespace(extended=object.__new__(extended))
    with pytest.raises(UnsupportedError, match="cannot be kept on the calling thread") as caught:
        adopt(strategy)
    assert caught.value.argument == "strategy"


def test_the_replicas_of_a_tpu_are_on_the_calling_thread_already():
    # The constructor needs a TPU.
    strategy = SimpleNamespace(extended=object.__new__(tpu_strategy.TPUExtended))
    assert adopt(strategy) is strategy
    assert type(strategy.extended) is tpu_strategy.TPUExtended


def test_a_tensorflow_without_the_needed_part_is_refused_by_name(monkeypatch):
    strategy = mirrored(2)
    monkeypatch.delattr(ops.Operation, "_update_input")

    with pytest.raises(UnsupportedError, match=r"Operation\._update_input"):
        adopt(strategy)
    assert type(strategy.extended) is mirrored_strategy.MirroredExtended


def test_eager_execution_is_refused_instead_of_using_threads():
    with pytest.raises(UnsupportedError, match="while a graph is built"):
        adopt(mirrored(2)).run(lambda: None)
