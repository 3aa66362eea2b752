"""Datasets without threads that tune them."""

from __future__ import annotations

from typing import Any

import pytest

from tfdistribute import engine


@pytest.mark.versions
def test_what_passes_batches_on_to_devices_is_not_tuned(logical_cpus: Any):
    tf = engine.tf
    from tensorflow.core.framework import dataset_options_pb2

    with tf.Graph().as_default() as graph:
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        own = engine.repairs.dataset_tuning.without_autotuning(tf.data.Dataset.range(4))
        strategy.make_input_fn_iterator(lambda context: own.batch(1))
        functions = graph.as_graph_def().library.function
        nodes = [
            *graph.as_graph_def().node,
            *(node for each in functions for node in each.node_def),
        ]
        options = [
            dataset_options_pb2.Options.FromString(node.attr["serialized_options"].s)
            for node in nodes
            if node.op == "OptionsDataset"
        ]
    # The dataset itself, and one for each device.
    untuned = [each for each in options if each.autotune_options.enabled is False]
    assert len([each for each in untuned if each.autotune_options.HasField("enabled")]) >= 3
