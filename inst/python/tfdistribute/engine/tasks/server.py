"""This process as a task of a cluster: its run configuration and its server."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import distribute_coordinator, estimator_training
from tensorflow.python.distribute import multi_worker_util as util

from tfdistribute.engine.repairs import sparse_all_reduce

# Servers of this process by what they were started with: TensorFlow cannot stop one, nor start a second on its port.
_servers: dict[str, Any] = {}

_trainings = itertools.count()
# More than a model needs.
_KEYS = 100_000

# A server has as many threads for operations as its process has cores. With one of them the collective operation that
# waits for other workers keeps those from being run that the others wait for: no step ever ends.
_LEAST_THREADS = 2


@dataclass(frozen=True)
class Seat:
    """Which task this process is.

    Args:
        cluster: Addresses by role; evaluators are not among them.
        role: "chief", "worker" or "ps".
        index: Number within the role.
        is_chief: Whether it writes checkpoints.
        in_step: Whether those who train wait for each other in every step.
        protocol: How tasks talk to each other.
        trainers: How many tasks train.
        position: Which of them this is, from 0; None where it does not train.
    """

    cluster: dict[str, list[str]]
    role: str
    index: int
    is_chief: bool
    in_step: bool
    protocol: str = "grpc"
    trainers: int = 1
    position: int | None = None

    @property
    def is_alone(self) -> bool:
        """Whether there is no other task that listens."""
        return sum(map(len, self.cluster.values())) == 1

    @property
    def target(self) -> str:
        """Where the sessions of this task are made; empty for this process, where it needs no server."""
        own = self.cluster[self.role][self.index]
        return "" if self.is_alone else f"{self.protocol}://{own}"

    def context(self, strategy: Any, session_config: Any) -> Any:
        """Make what TensorFlow calls a worker context, from which parts of a graph learn who they run for."""
        return distribute_coordinator._WorkerContext(
            strategy,
            util.normalize_cluster_spec(self.cluster),
            self.role,
            self.index,
            session_config=session_config,
            rpc_layer=self.protocol,
        )


class MultiWorkerMirroredStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """TensorFlow's strategy, made and copied in a graph.

    In eager mode it starts a server at once, waits for all others without a word, and cannot be copied, which
    Estimators do with the strategies of their configuration.

    Args:
        options: A ``tf.distribute.experimental.CommunicationOptions``.
    """

    def __init__(self, options: Any) -> None:
        # The servers remember what each key was used for: a second training in the same processes needs others.
        # Every task makes as many strategies as the others, so all agree.
        self._collective_key_base = next(_trainings) * _KEYS
        sparse_all_reduce.install()
        with tf.Graph().as_default():
            super().__init__(communication_options=options)

    def __deepcopy__(self, memo: Any) -> Any:
        """Copy the strategy."""
        with tf.Graph().as_default():
            return super().__deepcopy__(memo)


def settle(config: Any, seat: Seat) -> Any:
    """Tell a run configuration with a strategy which task it is for.

    TensorFlow does so only when its own coordinator runs; until then every task takes itself for the chief, and
    ``train()`` is refused.

    Args:
        config: A ``tf.estimator.RunConfig`` with ``train_distribute``; it is changed.
        seat: The task.

    Returns:
        The same object.

    Source:
        ``_init_run_config_from_worker_context`` in tensorflow/python/distribute/estimator_training.py.
    """
    context = seat.context(config.train_distribute, config.session_config)
    estimator_training._init_run_config_from_worker_context(config, context)
    config._distribute_coordinator_mode = None
    return config


def start_server(seat: Seat, strategy: Any, session_config: Any) -> Any:
    """Start listening at the task's address; a second call gives the same server.

    Args:
        seat: The task.
        strategy: The strategy of the training, made for the task; None for classic parameter servers.
        session_config: The session configuration of the training; None for TensorFlow's.

    Returns:
        A ``tf.distribute.Server``.

    Raises:
        tf.errors.OpError: the address cannot be listened at.

    Source:
        ``_configure_session_config_for_std_servers`` in tensorflow/python/distribute/distribute_coordinator.py and
        ``_TrainingExecutor._start_std_server`` of tensorflow-estimator.
    """
    key = repr((sorted(seat.cluster.items()), seat.role, seat.index, seat.protocol))
    if key not in _servers:
        server_config = tf.compat.v1.ConfigProto()
        if session_config is not None:
            server_config.CopyFrom(session_config)
        if strategy is None:
            # Filters of a session; a server answers everybody.
            del server_config.device_filters[:]
        else:
            # It knows its task; given one again, it would begin anew, which fails outside of a graph.
            strategy.configure(session_config=server_config)
        if server_config.inter_op_parallelism_threads == 0 and _cores() < _LEAST_THREADS:
            server_config.inter_op_parallelism_threads = _LEAST_THREADS
        _servers[key] = tf.distribute.Server(
            seat.cluster,
            job_name=seat.role,
            task_index=seat.index,
            config=server_config,
            protocol=seat.protocol,
        )
    return _servers[key]


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
