"""Server and run configuration of a task."""

from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import distribute_coordinator
from tensorflow.python.distribute import multi_worker_util as util

from tfdistribute.cluster.member import Member
from tfdistribute.environment import core_count

# Servers of this process by their arguments. TensorFlow cannot stop a server or start a second one on its port.
_servers: dict[str, Any] = {}

# Collective keys of one strategy: more than a model needs.
_KEYS = 100_000

# A server has as many threads for operations as its process has cores. With one, a collective operation that waits
# for other workers blocks the operations that they wait for.
_LEAST_THREADS = 2


class MultiWorkerMirroredStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """TensorFlow's strategy, created and copied in a graph, as Estimators do.

    In eager mode, it starts a server immediately, waits silently for all other tasks, and cannot be copied.
    """

    def __init__(self, options: Any) -> None:
        # Servers remember the use of each key, so a second training needs new keys, on which the tasks must agree.
        member = Member.here()
        self._collective_key_base = 0 if member is None else member.training * _KEYS
        with tf.Graph().as_default():
            super().__init__(communication_options=options)

    def __deepcopy__(self, memo: Any) -> Any:
        with tf.Graph().as_default():
            return super().__deepcopy__(memo)


def worker_context(member: Member, strategy: Any, session_config: Any) -> Any:
    return distribute_coordinator._WorkerContext(
        strategy,
        util.normalize_cluster_spec(member.cluster),
        member.task.type,
        member.task.index,
        session_config=session_config,
        rpc_layer=member.protocol,
    )


def assign_task(config: Any, member: Member) -> Any:
    """Set the task of a run configuration with a strategy, in place.

    TensorFlow sets it only when its own coordinator runs, and rejects ``train()`` until then.

    Source:
        ``_init_run_config_from_worker_context`` in tensorflow/python/distribute/estimator_training.py of TensorFlow
        2.15, which is the last version that has it.
    """
    context = worker_context(member, config.train_distribute, config.session_config)
    cluster = context.cluster_spec
    evaluates = member.task.type == "evaluator"
    sizes = {} if evaluates else {job: cluster.num_tasks(job) for job in cluster.jobs}
    settled = {
        "service": None,
        # An evaluator does not know the other tasks.
        "cluster_spec": tf.train.ClusterSpec({}) if evaluates else cluster,
        "task_type": member.task.type,
        "task_id": member.task.index,
        "master": context.master_target,
        "evaluation_master": context.master_target,
        "is_chief": context.is_chief,
        "num_ps_replicas": sizes.get("ps", 0),
        "num_worker_replicas": sizes.get("worker", 0) + sizes.get("chief", 0),
        "global_id_in_cluster": None if evaluates else _global_id(sizes, member),
        "distribute_coordinator_mode": None,
    }
    for name, value in settled.items():
        setattr(config, f"_{name}", value)
    return config


def _global_id(sizes: dict[str, int], member: Member) -> int:
    ordered = sorted(sizes, key=lambda job: (job != "chief", job == "ps", job))
    before = ordered[: ordered.index(member.task.type)]
    return sum(sizes[job] for job in before) + member.task.index


def start_server(member: Member, strategy: Any, session_config: Any) -> Any:
    """Start the server of a task, as ``_TrainingExecutor._start_std_server``; again, return the same one.

    ``strategy`` is None with classic parameter servers. Raises ``tf.errors.OpError`` if it cannot listen.
    """
    key = repr((sorted(member.cluster.items()), member.task, member.protocol))
    if key not in _servers:
        server_config = tf.compat.v1.ConfigProto()
        if session_config is not None:
            server_config.CopyFrom(session_config)
        if strategy is None:
            # Filters are for sessions; a server answers every task.
            del server_config.device_filters[:]
        else:
            # The strategy knows its task. Passing the task would initialise it again, which fails outside a graph.
            strategy.configure(session_config=server_config)
        if server_config.inter_op_parallelism_threads == 0 and core_count() < _LEAST_THREADS:
            server_config.inter_op_parallelism_threads = _LEAST_THREADS
            # Threads wait for operations in a loop, which takes the core from the thread that computes them.
            server_config.experimental.disable_thread_spinning = True
        _servers[key] = tf.distribute.Server(
            member.cluster,
            job_name=member.task.type,
            task_index=member.task.index,
            config=server_config,
            protocol=member.protocol,
        )
    return _servers[key]
