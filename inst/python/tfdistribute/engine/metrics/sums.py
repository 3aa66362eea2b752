"""Metrics whose states are sums over rows, so that several processes can each evaluate a shard.

A maximum, a percentile or a moving mean does not add up, and would be silently wrong. So the graph must show that
every state of a metric is only added to, and that the summand does not depend on a state.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import effects, walk
from tfdistribute.errors import UnsupportedError

v1 = tf.compat.v1

_ADDITIONS = frozenset({"AssignAddVariableOp", "AssignAdd", "ResourceScatterAdd", "ScatterAdd"})
_ASSIGNMENTS = frozenset({"AssignVariableOp", "Assign"})
_SUMS = frozenset({"Add", "AddV2"})
_PASSING = frozenset({"Identity"})


def sum_states(values: Mapping[str, Any]) -> list[Any]:
    """Find the local variables that hold the states of metrics, by name; UnsupportedError for another kind of state."""
    local = {
        _operation(variable).name: variable
        for variable in [
            *v1.get_collection(v1.GraphKeys.LOCAL_VARIABLES),
            *v1.get_collection(v1.GraphKeys.METRIC_VARIABLES),
        ]
    }
    sums: dict[str, Any] = {}
    for name, value in values.items():
        for operation in walk.ancestors([tf.convert_to_tensor(value)], control=False):
            variable = local.get(operation.name)
            if variable is not None:
                if not _is_sum(variable, local):
                    raise _refusal(name, variable.op.name)
                sums[operation.name] = variable
            elif _keeps_other_state(operation):
                raise _refusal(name, operation.name)
    return [sums[name] for name in sorted(sums)]


def _is_sum(variable: Any, local: Mapping[str, Any]) -> bool:
    own = _operation(variable)
    users = (user for user in walk.users(own) if user is not variable.initializer)
    writers = [user for user in users if effects.may_write(user)]
    return all(_adds(writer, own, local) for writer in writers)


def _adds(writer: Any, own: Any, local: Mapping[str, Any]) -> bool:
    if writer.type in _ADDITIONS:
        return not _reads_state(list(writer.inputs)[1:], local)
    if writer.type not in _ASSIGNMENTS:
        return False
    # Keras 3 writes the sum of a state and a value.
    addition = walk.behind(writer.inputs[1], _PASSING).op
    if addition.type not in _SUMS:
        return False
    terms = list(addition.inputs)
    others = [term for term in terms if not _is_value_of(term, own)]
    return len(others) == 1 and not _reads_state(others, local)


def _is_value_of(tensor: Any, own: Any) -> bool:
    operation = walk.behind(tensor, _PASSING).op
    return operation is own or (
        operation.type == "ReadVariableOp" and operation.inputs[0].op is own
    )


def _reads_state(tensors: Iterable[Any], local: Mapping[str, Any]) -> bool:
    return any(operation.name in local for operation in walk.ancestors(tensors, control=False))


def _keeps_other_state(operation: Any) -> bool:
    is_state = operation.type in effects.VARIABLES or effects.reads_variable(operation)
    return effects.is_stateful(operation) and not is_state


def _operation(variable: Any) -> Any:
    return variable.handle.op if hasattr(variable, "handle") else variable.op


def _refusal(metric: str, state: str) -> UnsupportedError:
    return UnsupportedError(
        f"The metric `{metric}` cannot be evaluated by several workers: its state `{state}` is not a sum over rows.",
        "Evaluate without `cluster`, or compute the metric from sums, as tf.compat.v1.metrics.mean() does.",
        argument="cluster",
        value=metric,
    )
