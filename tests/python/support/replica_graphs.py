"""Functions called in the replicas of small graphs, without an Estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfdistribute.engine.r_thread.sequential_replicas import adopt

v1 = tf.compat.v1


def mirrored(replicas: int) -> Any:
    """Make a mirrored strategy over the first logical CPU devices."""
    return tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(replicas)])


def session_config() -> Any:
    """Give sessions the devices that strategies name; otherwise collective operations hang."""
    return v1.ConfigProto(device_count={"CPU": 3})


def in_replicas(function: Callable[[], Any], strategy: Any = None) -> Any:
    """Call a function in each replica of a new graph, by default in two on the calling thread.

    Args:
        function: Called without arguments, in the replica's context.
        strategy: Another strategy.

    Returns:
        The results as a session returns them, a tuple over the replicas.
    """
    strategy = strategy or adopt(mirrored(2))
    with tf.Graph().as_default():
        results = strategy.extended.call_for_each_replica(function)
        local = strategy.experimental_local_results(results)
        with v1.Session(config=session_config()) as session:
            session.run(v1.global_variables_initializer())
            return session.run(local)


def replica_id() -> int:
    """Return the calling replica's id; in a graph TensorFlow gives a constant tensor."""
    replica = tf.distribute.get_replica_context()
    return int(tf.get_static_value(replica.replica_id_in_sync_group))


def total(value: Any) -> Any:
    """Sum a value over the replicas."""
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, value)


def merge(*args: Any, **kwargs: Any) -> Any:
    """Make a merge call that ignores its arguments."""
    return tf.distribute.get_replica_context().merge_call(lambda *_, **__: None, args, kwargs)
