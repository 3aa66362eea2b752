"""Replicas in sequence on the calling thread.

TensorFlow runs each replica on its own thread, but an R function aborts the process outside R's thread. ``adopt()``
makes a strategy call its replicas' function on the calling thread, while a graph is built. Models written in Python
keep TensorFlow's threads.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from tensorflow.python.distribute import (
    distribute_lib,
    distribute_utils,
    mirrored_run,
    mirrored_strategy,
    one_device_strategy,
    parameter_server_strategy,
    shared_variable_creator,
    tpu_strategy,
)
from tensorflow.python.eager import context, def_function
from tensorflow.python.framework import ops
from tensorflow.python.ops import variable_scope

from tfdistribute import versions
from tfdistribute.engine import patches
from tfdistribute.engine.r_thread.graph_state import GraphState
from tfdistribute.engine.r_thread.merge_calls import MergeCalls
from tfdistribute.errors import ModelError, UnsupportedError

# Strategies are recognised by this method, which a subclass may inherit or override.
_ON_OWN_THREADS = (
    mirrored_strategy.MirroredExtended._call_for_each_replica,
    parameter_server_strategy.ParameterServerStrategyExtended._call_for_each_replica,
)
_ON_CALLING_THREAD = (
    one_device_strategy.OneDeviceExtended._call_for_each_replica,
    distribute_lib._DefaultDistributionExtended._call_for_each_replica,
    tpu_strategy.TPUExtended._call_for_each_replica,
)


def adopt(strategy: Any) -> Any:
    """Make a strategy run its replicas in sequence on the thread that calls it.

    The object, and its later deep copies, are changed in place; a second call changes nothing. While the graph is
    built, replicas must make the same merge calls. Random operations without a seed draw other numbers in the
    replicas after the first than on TensorFlow's threads.

    Raises:
        UnsupportedError: if the strategy runs replicas in a way that cannot be replaced.

    Source:
        ``_call_for_each_replica`` in tensorflow/python/distribute/mirrored_run.py
        https://github.com/rstudio/tfestimators/issues/163
    """
    if strategy is None or isinstance(strategy.extended, _SequentialReplicas):
        return strategy
    call_for_each_replica = type(strategy.extended)._call_for_each_replica
    if call_for_each_replica in _ON_CALLING_THREAD:
        return strategy
    name = type(strategy).__name__
    if call_for_each_replica not in _ON_OWN_THREADS:
        raise UnsupportedError(
            f"{name} cannot run a function of R: its replicas cannot be kept on the calling thread.",
            "Use a mirrored, central storage, multi-worker or parameter server strategy.",
            argument="strategy",
            value=name,
        )
    if missing := patches.list_missing("sequential_replicas"):
        raise UnsupportedError(
            f"{name} cannot run a function of R: TensorFlow has no {', '.join(missing)} here.",
            f"Use a version of TensorFlow that tfdistribute is tested with: {', '.join(versions.TESTED)}.",
            argument="strategy",
            value=name,
        )
    extended = strategy.extended
    patches.put("sequential_replicas", extended, "__class__", _sequential_class(type(extended)))
    return strategy


class _SequentialReplicas:
    def _call_for_each_replica(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if context.executing_eagerly() or isinstance(fn, def_function.Function):
            raise UnsupportedError(
                "Replicas can be kept on the calling thread while a graph is built, not in eager "
                "execution.",
                "Pass the function to an estimator, or call it inside a tf.Graph.",
            )
        strategy: Any = self._container_strategy()  # type: ignore[attr-defined]
        return _Replicas(strategy, fn, args, kwargs).run()


@functools.cache
def _sequential_class(extended: type) -> type:
    return type(f"Sequential{extended.__name__}", (_SequentialReplicas, extended), {})


class _ReplicaContext(mirrored_run._MirroredReplicaContext):
    def __init__(self, strategy: Any, replica_id_in_sync_group: int, calls: MergeCalls) -> None:
        super().__init__(strategy, replica_id_in_sync_group)
        self._calls = calls

    def _merge_call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._calls.meet(fn, args, kwargs)


class _Replicas:
    def __init__(
        self, strategy: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._strategy = strategy
        self._function = function
        self._args = args
        self._kwargs = kwargs
        self._graph = ops.get_default_graph()
        # Before this call the graph's devices and control dependencies are not thread-local, and a replica would see
        # those of another.
        self._graph.switch_to_thread_local()
        self._calls = MergeCalls(strategy, self._graph, GraphState(self._graph))
        self._creators = list(self._graph._variable_creator_stack)
        self._variable_scope = variable_scope.get_variable_scope()
        self._variables: dict[str, list[Any]] = {}

    def run(self) -> Any:
        try:
            replicas = range(len(self._strategy.extended.worker_devices))
            results = [self._run_replica(index) for index in replicas]
        except Exception as error:
            if self._calls.refusal is None or error is self._calls.refusal:
                raise
            raise self._calls.refusal from error
        if self._calls.refusal is not None:
            raise self._calls.refusal
        return _regroup(results)

    def _run_replica(self, index: int) -> Any:
        self._calls.begin_replica(index)
        with self._replica_scope(index):
            result = self._function(
                *distribute_utils.select_replica(index, self._args),
                **distribute_utils.select_replica(index, self._kwargs),
            )
        self._calls.end_replica()
        return result

    @contextlib.contextmanager
    def _replica_scope(self, index: int) -> Iterator[None]:
        extended = self._strategy.extended
        outer_name = self._graph.get_name_scope()
        # A name that ends with "/" is entered as it is; otherwise replicas would get numbered scopes.
        outer = f"{outer_name}/" if outer_name else ""
        name = f"{outer}replica_{index}/" if index > 0 else outer
        replica_id = extended._get_replica_id_in_sync_group(index)
        with GraphState(self._graph, of_new_thread=True).enter():
            self._graph._variable_creator_stack = list(self._creators)
            with (
                _ReplicaContext(self._strategy, replica_id, self._calls),
                ops.device(extended.worker_devices[index]),
                ops.name_scope(name),
                variable_scope.variable_scope(self._variable_scope, reuse=index > 0),
                variable_scope.variable_creator_scope(self._variable_creator(index, name, outer)),
            ):
                yield

    def _variable_creator(self, index: int, scope: str, outer: str) -> Callable[..., Any]:
        create = shared_variable_creator.make_fn(self._variables, index)

        def find(next_creator: Any, **kwargs: Any) -> Any:
            # tf.compat.v1.metrics.recall_at_k() names variables by the replica's scope.
            if (kwargs.get("name") or "").startswith(scope):
                kwargs["name"] = outer + kwargs["name"][len(scope) :]
            try:
                return create(next_creator, **kwargs)
            except RuntimeError:
                self._calls.refuse(
                    f"model_fn makes the variable {kwargs.get('name')} in replica {index}, but not in "
                    "replica 0.",
                    "Let model_fn make the same variables in the same order in every replica.",
                )

        return create if index == 0 else find


def _regroup(results: list[Any]) -> Any:
    try:
        return distribute_utils.regroup(tuple(results))
    except AssertionError as error:
        replica = next(i for i in range(1, len(results)) if not _alike(results[0], results[i]))
        raise ModelError(
            f"model_fn returns another structure in replica {replica} than in replica 0.",
            "Let model_fn return the same keys and as many values in every replica.",
        ) from error


def _alike(first: Any, other: Any) -> bool:
    try:
        distribute_utils.regroup((first, other))
    except AssertionError:
        return False
    return True
