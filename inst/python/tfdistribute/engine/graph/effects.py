"""Effects of operations besides the results that they compute from their inputs."""

import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

# Types of operations that hold a variable: a resource, and two kinds of TensorFlow 1.
VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
_READS = frozenset({"ReadVariableOp", "VariableShape", "ResourceGather", "ResourceGatherNd"})
_READS |= {"VarIsInitializedOp", "IsVariableInitialized"}


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
