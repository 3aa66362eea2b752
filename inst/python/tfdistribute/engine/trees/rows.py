"""Rows as trees learn from them, and checkpoints of trees."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

v1 = tf.compat.v1
Arrays = dict[str, npt.NDArray[Any]]


def read_rows(estimator: Any, input_fn: Any) -> Arrays:
    """Return ``rows``, ``labels`` and any ``weights`` of an input that ends, as an Estimator of trees reads them."""
    mode, parts = tf.estimator.ModeKeys.TRAIN, list[Any]()
    with tf.Graph().as_default() as graph:
        estimator._create_and_assert_global_step(graph)
        features, labels, hooks = estimator._get_features_and_labels_from_input_fn(input_fn, mode)
        spec = estimator._call_model_fn(features, labels, mode, estimator.config)
        with v1.train.SingularMonitoredSession(hooks, config=estimator._session_config) as session:
            while not session.should_stop():
                parts.append(session.run(spec.predictions))
    return {name: np.concatenate([each[name] for each in parts]) for name in spec.predictions}


def write_variables(model_dir: str, variables: Mapping[str, npt.NDArray[Any]], step: int) -> None:
    """Write variables as the newest checkpoint of a directory on this machine."""
    prefix = os.path.join(model_dir, f"model.ckpt-{step}")
    arrays = {**variables, v1.GraphKeys.GLOBAL_STEP: np.int64(step)}
    with (
        tf.Graph().as_default(),
        v1.Session(config=v1.ConfigProto(device_count={"GPU": 0})) as session,
    ):
        written = tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=[*arrays],
            shape_and_slices=[""] * len(arrays),
            tensors=[tf.constant(each) for each in arrays.values()],
        )
        session.run(written)
    v1.train.update_checkpoint_state(model_dir, os.path.basename(prefix))
