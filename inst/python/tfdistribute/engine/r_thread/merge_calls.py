"""Merge calls of replicas that run in sequence on one thread.

At a merge call (``minimize``, ``all_reduce``, a metric) one function gets the values of all replicas. Replicas on
threads wait for each other. Replicas on one thread cannot: replica 0 ends before replica 1 begins. So replica 0's k-th
merge call is made immediately, with stand-ins for the tensors of the others: tensors of the same type on the right
device, fed by a placeholder. At a later replica's k-th merge call its tensors replace the placeholders in the graph,
and the replica gets the result of the first call.

The graph is the one that TensorFlow's threads would build, up to the order of its operations. Random operations without
a seed of their own take their seed from that order, so their numbers differ from the numbers that threads draw.
"""

import dataclasses
from typing import Any, NoReturn

import numpy as np
from tensorflow.python.distribute import distribute_lib, distribute_utils
from tensorflow.python.distribute import values as distributed_values
from tensorflow.python.eager import context
from tensorflow.python.framework import composite_tensor, ops
from tensorflow.python.framework import tensor as tensor_lib
from tensorflow.python.ops import array_ops, control_flow_ops, variable_scope
from tensorflow.python.util import nest

from tfdistribute.engine.graph import edit
from tfdistribute.engine.r_thread.graph_state import GraphState
from tfdistribute.errors import ModelError

_SAME_CODE = (
    "Let model_fn run the same code in every replica: minimize, apply_gradients, all_reduce and "
    "metrics are merge calls, and each replica makes the same ones in the same order."
)


@dataclasses.dataclass
class _MergeCall:
    """A merge call of replica 0.

    ``stand_ins`` holds, for each later replica and each leaf of the arguments, the stand-ins for its tensors.
    ``gates`` holds, for each later replica, the operation that its control dependencies are added to.
    """

    arguments: tuple[tuple[Any, ...], dict[str, Any]]
    stand_ins: dict[int, list[list[tensor_lib.Tensor]]] = dataclasses.field(default_factory=dict)
    gates: dict[int, ops.Operation] = dataclasses.field(default_factory=dict)
    result: Any = None


class MergeCalls:
    """The merge calls of all replicas, in which ``caller`` is the thread's state outside every replica."""

    def __init__(
        self, strategy: distribute_lib.StrategyBase, graph: ops.Graph, caller: GraphState
    ) -> None:
        self.refusal: ModelError | None = None
        self._strategy = strategy
        self._graph = graph
        self._caller = caller
        self._devices = strategy.extended.worker_devices
        self._calls: list[_MergeCall] = []
        # Ids of results that all replicas share; a later merge call passes them on without stand-ins.
        self._shared: set[int] = set()
        self._replica = 0
        self._met = 0

    def refuse(self, problem: str, remedy: str = _SAME_CODE) -> NoReturn:
        """Raise a ModelError because the replicas differ; ``refusal`` keeps it, because R may replace it."""
        self.refusal = self.refusal or ModelError(problem, remedy)
        raise self.refusal

    def begin_replica(self, replica: int) -> None:
        self._replica, self._met = replica, 0

    def end_replica(self) -> None:
        if self._met < len(self._calls):
            self.refuse(
                f"model_fn makes {len(self._calls)} merge calls in replica 0, but ends after "
                f"{self._met} in replica {self._replica}: merge call {self._met + 1} is missing."
            )

    def meet(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._met += 1
        if context.executing_eagerly() or ops.get_default_graph() is not self._graph:
            self.refuse(
                f"{self._here()} is made inside a tf.function, a loop or a condition, where replicas "
                "cannot meet.",
                "Move the call out of it, into the body of model_fn.",
            )
        arguments = (tuple(args), dict(kwargs))
        if self._replica == 0:
            call = _MergeCall(arguments)
            self._make(call, function)
            self._calls.append(call)
        elif self._met > len(self._calls):
            self.refuse(
                f"{self._here()} does not exist in replica 0, which makes {len(self._calls)}."
            )
        else:
            call = self._calls[self._met - 1]
            self._join(call, arguments)
        return distribute_utils.select_replica(self._replica, call.result)

    def _here(self) -> str:
        return f"Merge call {self._met} of replica {self._replica}"

    def _make(self, call: _MergeCall, function: Any) -> None:
        name_scope = _reentrant(self._graph.get_name_scope())
        scope = variable_scope.get_variable_scope()
        control = set(self._graph._current_control_dependencies())
        with self._caller.enter():
            everyone = [call.arguments]
            for replica in range(1, len(self._devices)):
                everyone.append(self._expect(call, replica))
            with (
                ops.name_scope(name_scope),
                ops.control_dependencies(control | set(call.gates.values())),
                variable_scope.variable_scope(scope),
            ):
                args, kwargs = distribute_utils.regroup(tuple(everyone))
                call.result = function(self._strategy, *args, **kwargs)
            self._note_shared(call)

    def _note_shared(self, call: _MergeCall) -> None:
        replicas = range(len(self._devices))
        results = (distribute_utils.select_replica(each, call.result) for each in replicas)
        own = {id(leaf) for leaf in nest.flatten(call.arguments)}
        for first, *others in zip(*map(nest.flatten, results), strict=True):
            if id(first) not in own and all(other is first for other in others):
                self._shared.add(id(first))

    def _expect(self, call: _MergeCall, replica: int) -> Any:
        leaves: list[Any] = []
        call.stand_ins[replica] = []
        with (
            ops.control_dependencies(None),
            ops.device(self._devices[replica]),
            ops.name_scope(f"stand_in_{replica}/"),
        ):
            call.gates[replica] = control_flow_ops.no_op(name="control")
            for leaf in nest.flatten(call.arguments):
                stand_ins = [
                    array_ops.identity(array_ops.placeholder(tensor.dtype, tensor.shape))
                    for tensor in self._own_tensors(leaf)
                ]
                call.stand_ins[replica].append(stand_ins)
                leaves.append(_counterpart(leaf, replica, stand_ins))
        return nest.pack_sequence_as(call.arguments, leaves)

    def _join(self, call: _MergeCall, arguments: Any) -> None:
        try:
            nest.assert_same_structure(call.arguments, arguments)
        except (TypeError, ValueError):
            self.refuse(f"{self._here()} passes arguments of another structure than replica 0.")
        firsts, leaves = nest.flatten(call.arguments), nest.flatten(arguments)
        expected = call.stand_ins[self._replica]
        passed = sum(len(self._own_tensors(leaf)) for leaf in leaves)
        needed = sum(len(stand_ins) for stand_ins in expected)
        if passed != needed:
            self.refuse(f"{self._here()} passes {passed} tensors where replica 0 passes {needed}.")
        for first, leaf, stand_ins in zip(firsts, leaves, expected, strict=True):
            self._join_leaf(first, leaf, stand_ins)
        dependencies = self._graph._current_control_dependencies()
        before = (getattr(each, "op", each) for each in dependencies)
        edit.add_controls(call.gates[self._replica], before)

    def _join_leaf(self, first: Any, leaf: Any, stand_ins: list[tensor_lib.Tensor]) -> None:
        tensors = self._own_tensors(leaf)
        if len(tensors) != len(stand_ins) or not (stand_ins or _same_in_replicas(first, leaf)):
            self.refuse(
                f"{self._here()} passes {_name(leaf)} where replica 0 passes {_name(first)}."
            )
        for stand_in, tensor in zip(stand_ins, tensors, strict=True):
            if stand_in.dtype != tensor.dtype or not stand_in.shape.is_compatible_with(
                tensor.shape
            ):
                self.refuse(
                    f"{self._here()} passes a tensor of {tensor.dtype.name} and shape {tensor.shape} "
                    f"where replica 0 passes {stand_in.dtype.name} and shape {stand_in.shape}."
                )
            edit.set_input(stand_in.op, 0, tensor)

    def _own_tensors(self, leaf: Any) -> list[tensor_lib.Tensor]:
        return [] if id(leaf) in self._shared else _tensors(leaf)


def _reentrant(name_scope: str) -> str:
    return f"{name_scope}/" if name_scope else name_scope


def _tensors(leaf: Any) -> list[tensor_lib.Tensor]:
    is_tensor = isinstance(leaf, (tensor_lib.Tensor, composite_tensor.CompositeTensor))
    is_shared = hasattr(leaf, "assign") or isinstance(leaf, distributed_values.DistributedValues)
    if not is_tensor or is_shared or distribute_utils.value_container(leaf) is not leaf:
        return []
    return nest.flatten(leaf, expand_composites=True)


def _counterpart(leaf: Any, replica: int, stand_ins: list[tensor_lib.Tensor]) -> Any:
    container = distribute_utils.value_container(leaf)
    if container is not leaf:
        return container.values[replica]
    if stand_ins:
        return nest.pack_sequence_as(leaf, stand_ins, expand_composites=True)
    return leaf


def _same_in_replicas(first: Any, other: Any) -> bool:
    """Compare a leaf without tensors in two replicas, where objects such as optimizers count as the same."""
    if hasattr(first, "assign") or hasattr(other, "assign"):
        return distribute_utils.value_container(first) is distribute_utils.value_container(other)
    if first is None or other is None or _tensors(first) or _tensors(other):
        return first is other
    if isinstance(first, (str, bytes, int, float, np.ndarray, np.generic)):
        return np.array_equal(first, other)
    return True


def _name(leaf: Any) -> str:
    if isinstance(leaf, tensor_lib.Tensor):
        return f"a tensor of {leaf.dtype.name}"
    if hasattr(leaf, "assign"):
        return f"the variable {leaf.name}"
    if leaf is None or isinstance(leaf, (str, bytes, int, float)):
        return repr(leaf)
    return f"an object of class {type(leaf).__name__}"
