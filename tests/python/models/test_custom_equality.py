"""Custom models under every strategy, compared with plain TensorFlow."""

from __future__ import annotations

import functools
import inspect
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import equality_models
from support.callbacks import as_model_fn
from support.checkpoints import assert_alike, assert_identical, variables
from support.custom_models import STEPS, described, settings, trained
from support.inputs import from_function
from support.sampling import sampled
from tensorflow.core.protobuf import rewriter_config_pb2

from tfdistribute import engine
from tfdistribute.training.train import train

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


def pure_tensorflow(model: str, directory: Path, replicas: int, steps: int) -> dict[str, Any]:
    """The same training with tf.estimator on its own threads; a Keras optimizer's loss is divided by hand."""
    # Without this repair, TensorFlow cannot train `all_reduce_in_model` if one device sums.
    engine.repairs.all_reduce.install()
    model_fn = equality_models.MODELS[model]
    if model == "keras_layers":
        model_fn = functools.partial(model_fn, loss_share=1 / replicas)
    with tf.Graph().as_default():
        strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
    # Estimators without a session configuration optimise their graphs once; further passes round differently. So do
    # joined operations, which trainings of this package turn off.
    rewriting = rewriter_config_pb2.RewriterConfig(
        meta_optimizer_iterations=rewriter_config_pb2.RewriterConfig.ONE,
        remapping=rewriter_config_pb2.RewriterConfig.OFF,
    )
    session_config = v1.ConfigProto(
        allow_soft_placement=True,
        graph_options=v1.GraphOptions(rewrite_options=rewriting),
        device_count={"CPU": replicas},
    )
    config = tf.estimator.RunConfig(
        tf_random_seed=3, train_distribute=strategy, session_config=session_config
    )
    estimator = tf.estimator.Estimator(model_fn, str(directory), config)
    estimator.train(equality_models.batches, steps=steps)
    return variables(directory)


@sampled(
    ("model", "steps_per_run"),
    [*((each, 1) for each in equality_models.MODELS), ("batch_norm_with_adam", "auto")],
    check=[("two_optimizers", 1), ("batch_norm_with_adam", "auto")],
)
def test_functions_of_r_train_bit_for_bit_as_with_pure_tensorflow(
    tmp_path: Path, runs: list[int], model: str, steps_per_run: int | str
):
    # By default a run takes one step, then two.
    steps = STEPS if steps_per_run == 1 else 10
    data = from_function(equality_models.batches)
    function = described(as_model_fn(equality_models.MODELS[model]), tmp_path / "r")
    chosen = settings("mirrored", steps_per_run=steps_per_run)
    train(function, chosen, data, steps=steps)
    assert (max(runs, default=0) > 1) == (steps_per_run == "auto")
    values = variables(tmp_path / "r")
    expected = pure_tensorflow(model, tmp_path / "pure", 2, steps)
    assert values["global_step"] == steps
    # Normalization leaves the gradient of a bias nothing but rounding, which depends on the order of a sum of three.
    atol = 1e-7 if model == "all_reduce_in_model" else 0
    for name in values:
        np.testing.assert_allclose(values[name], expected[name], 0, atol, err_msg=name)
    # TensorFlow also saves a copy per replica; this package saves each variable once.
    assert all("/replica_" in name for name in set(expected) - set(values))


@sampled(
    ("model", "strategy"),
    [
        (model, strategy)
        for model in ("keras_layers", "all_reduce_in_model")
        for strategy in ("mirrored over 3", "central storage")
    ],
    check=[("keras_layers", "mirrored over 3")],
)
def test_functions_of_r_and_of_python_train_bit_for_bit_alike(
    tmp_path: Path, model: str, strategy: str
):
    of_python = trained(equality_models.MODELS[model], tmp_path / "a", strategy)
    of_r = trained(as_model_fn(equality_models.MODELS[model]), tmp_path / "b", strategy)
    assert_identical(of_r, of_python)


def test_functions_of_r_run_on_the_calling_thread(tmp_path: Path):
    threads: list[int] = []

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        threads.append(threading.get_ident())
        return equality_models.dense_with_sgd(features, labels, mode)

    trained(as_model_fn(model_fn), tmp_path / "r", "mirrored", steps=1)
    assert threads == [threading.get_ident()] * 2
    threads.clear()
    trained(model_fn, tmp_path / "python", "mirrored", steps=1)
    assert len(threads) == 2
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("strategy", ["none", "mirrored"])
def test_functions_run_as_they_are_written_under_every_strategy(tmp_path: Path, strategy: str):
    files = []

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        # AutoGraph would have generated the function in a file of its own.
        files.append(inspect.currentframe().f_code.co_filename)
        return equality_models.dense_with_sgd(features, labels, mode)

    trained(model_fn, tmp_path, strategy, steps=1)
    assert set(files) == {__file__}


@sampled("strategy", ["mirrored", "central storage"], check=["central storage"])
def test_values_that_depend_on_variables_can_be_reduced_over_replicas(
    alone: Any, tmp_path: Path, strategy: str
):
    values = trained(equality_models.all_reduce_in_model, tmp_path, strategy)
    assert_alike(values, alone("all_reduce", equality_models.all_reduce_in_model))
