"""Effects of operations besides the results that they compute from their inputs."""

import functools
from collections.abc import Collection
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tfdistribute.engine.graph import functions, walk

# Types of operations that hold a variable: a resource, and two kinds of TensorFlow 1.
VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
_READS = frozenset({"ReadVariableOp", "VariableShape", "ResourceGather", "ResourceGatherNd"})
_READS |= {"VarIsInitializedOp", "IsVariableInitialized"}
_OF_TABLES = frozenset({"LookupTableFindV2", "LookupTableSizeV2", "LookupTableExportV2"})
# Beginnings of operations that draw random numbers from a variable, hold values within a step, or only check them.
_WITHOUT_STATE = ("Stateful", "Rng", "TensorArray", "Assert", "Check")


def is_stateful(operation: Any) -> bool:
    definition = operation.op_def
    return definition is not None and definition.is_stateful


@functools.cache
def may_call_functions(kind: str) -> bool:
    definition = op_def_registry.get(kind)
    return definition is None or any("func" in each.type for each in definition.attr)


@functools.cache
def has_seeds(kind: str) -> bool:
    """Return whether operations of a type draw random numbers, with a hidden counter that starts from their seeds."""
    definition = op_def_registry.get(kind)
    if definition is None or not definition.is_stateful:
        return False
    return {"seed", "seed2"} <= {each.name for each in definition.attr}


def changes_state(operation: Any) -> bool:
    """Return whether an operation, or a function that it calls, changes a variable, a table or the like.

    Random numbers that are drawn do not count.
    """
    return any(map(_changes_resource, _kinds(operation)))


def readers_after(operation: Any, names: Collection[str]) -> list[Any]:
    """List the operations with these names that read what an operation changes, and run after it."""
    if not changes_state(operation):
        return []
    handles = (each for each in operation.inputs if each.dtype == tf.resource)
    readers = (user for each in (*handles, *operation.outputs) for user in each.consumers())
    found = [each for each in readers if each.name in names and each != operation]
    after = {each.name for each in walk.descendants([operation])} if found else ()
    return [each for each in found if each.name in after]


def has_effects(operation: Any) -> bool:
    """Return whether it matters how often an operation runs, apart from random numbers and checks."""
    return any(_changes_resource(kind) or _acts(kind) for kind in _kinds(operation))


def _kinds(operation: Any) -> set[str]:
    if not may_call_functions(operation.type):
        return {operation.type}
    called = functions.called_nodes(operation.graph, [operation.node_def])
    return {node.op for _, node in called if not may_call_functions(node.op)}


@functools.cache
def _acts(kind: str) -> bool:
    definition = op_def_registry.get(kind)
    return (
        definition is not None
        and definition.is_stateful
        and not (kind in _READS | _OF_TABLES or kind.startswith(_WITHOUT_STATE) or has_seeds(kind))
    )


@functools.cache
def _changes_resource(kind: str) -> bool:
    definition = op_def_registry.get(kind)
    if definition is None or kind in _READS | _OF_TABLES:
        return False
    if kind.startswith((*_WITHOUT_STATE, "Collective")):
        return False
    inputs = definition.input_arg
    return any(each.type == tf.resource.as_datatype_enum or each.is_ref for each in inputs)


def reads_variable(operation: Any) -> bool:
    """Return whether an operation reads a variable, or its shape and the like, and does not change it."""
    return operation.type in _READS


def may_write(operation: Any) -> bool:
    """Return whether an operation may change a variable that it gets."""
    if reads_variable(operation) or operation.type == "Identity":
        return False
    # A resource may be changed by any operation that gets it. A reference is changed by those that return it.
    gets_resource = any(tensor.dtype == tf.resource for tensor in operation.inputs)
    return gets_resource or returns_reference(operation)


def returns_reference(operation: Any) -> bool:
    return any(tensor.dtype._is_ref_dtype for tensor in operation.outputs)


def names_resource(operation: Any) -> bool:
    """Return whether an operation does nothing but name a variable, a table or an iterator."""
    # The replicas of a TPU share the second.
    named = not operation.inputs or operation.type == "TPUReplicatedInput"
    return named and any(tensor.dtype == tf.resource for tensor in operation.outputs)
