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
    with tf.Graph().as_default():
        for name, value in variables.items():
            tf.Variable(value, name=name, trainable=False)
        global_step = v1.train.get_or_create_global_step()
        saver = v1.train.Saver(save_relative_paths=True)
        with v1.Session(config=v1.ConfigProto(device_count={"GPU": 0})) as session:
            session.run(v1.global_variables_initializer())
            session.run(global_step.assign(step))
            prefix = os.path.join(model_dir, "model.ckpt")
            saver.save(session, prefix, global_step=step, write_meta_graph=False)
