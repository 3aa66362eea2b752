"""State of Keras layers in a graph: moving averages and other variables that a layer's call writes.

In ``fit()``, TensorFlow runs these writes, and runs the reads of a variable before or after them as the layer's code
does. In a graph of TensorFlow 1, nothing depends on them.
"""

import functools
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfdistribute.engine import keras2
from tfdistribute.engine.graph import edit, effects
from tfdistribute.engine.repairs import replicated_variables
from tfdistribute.errors import ModelError

v1 = tf.compat.v1

# Endings of the types of operations that return rows.
_ROWS = ("GetNext", "GetNextSync", "GetNextFromShard", "PyFunc")
# The function of TensorFlow that runs merge calls, in another thread than the layer's call.
_MERGE = ("mirrored_run.py", "_call_for_each_replica")


def updates() -> list[Any]:
    """Return the collected updates and the writes of layers in the default graph.

    The writes and the reads of a layer's variable then run in the order of the layer's code.
    """
    operations = v1.get_default_graph().get_operations()
    collected = list(v1.get_collection(v1.GraphKeys.UPDATE_OPS))
    known = {each.name for each in collected}
    found = [
        each
        for each in operations
        if each.name not in known and effects.changes_state(each) and _is_of_layer(each)
    ]
    if found:
        initial = _initializers()
        found = [each for each in found if each.name not in initial]
    return collected + _in_order(operations, found)


def writes_of(variables: Iterable[Any]) -> list[Any]:
    """Return the writes of variables in the default graph, as ``updates()`` does, without their initial values."""
    copies = [copy for each in variables for copy in replicated_variables.components(each)]
    handles = {copy.handle.name for copy in copies}
    initial = {copy.initializer.name for copy in copies}
    operations = v1.get_default_graph().get_operations()
    found = [
        each
        for each in operations
        if each.name not in initial
        and handles.intersection(_handles(each))
        and effects.changes_state(each)
    ]
    return _in_order(operations, found)


def refuse_keras_3() -> None:
    """Raise ModelError if Keras 3 made a variable in the default graph."""
    module = sys.modules.get("keras.src.layers.layer")
    if module is None:
        return
    folder = str(Path(inspect.getfile(module)).parent.parent)
    for operation in v1.get_default_graph().get_operations():
        if operation.type in effects.VARIABLES and _is_made_in(
            operation, lambda frame: frame.filename.startswith(folder)
        ):
            raise ModelError(
                f"The model function makes the variable {operation.name!r} with Keras 3, whose layers, metrics and "
                "optimizers do not work in an Estimator's graph.",
                "Use tf$keras$layers (Keras 2), or give a whole Keras 3 model to keras_model_to_estimator().",
                argument="model_fn",
                value=operation.name,
            )


def _is_of_layer(operation: Any) -> bool:
    """Return whether a layer's call made the operation, itself or by a merge call."""
    file = _layer_file()
    return _is_made_in(
        operation,
        lambda frame: (
            (frame.filename == file and frame.name == "__call__")
            or (Path(frame.filename).name, frame.name) == _MERGE
        ),
    )


@functools.cache
def _layer_file() -> str:
    return inspect.getfile(keras2.base_layer_v1)


def _is_made_in(operation: Any, fits: Callable[[Any], bool]) -> bool:
    return any(fits(frame) for frame in operation.traceback or ())


def _initializers() -> set[str]:
    keys = (v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.LOCAL_VARIABLES)
    variables = (each for key in keys for each in v1.get_collection(key))
    return {
        copy.initializer.name
        for variable in variables
        for copy in replicated_variables.components(variable)
    }


def _wait_for_rows(operations: Sequence[Any], writes: Sequence[Any]) -> None:
    """Let writes wait for the input, at whose end they must not run once more."""
    first = operations.index(writes[0])
    inputs = [each for each in operations[:first] if each.type.endswith(_ROWS)]
    for write in writes:
        edit.add_controls(write, inputs)


def _in_order(operations: Sequence[Any], writes: list[Any]) -> list[Any]:
    if writes:
        _wait_for_rows(operations, writes)
    names = {each.name for each in writes}
    written = {handle for each in writes for handle in _handles(each)}
    last: dict[str, Any] = {}
    reads = defaultdict[str, list[Any]](list)
    for operation in operations:
        for handle in written.intersection(_handles(operation)):
            before = [last[handle]] if handle in last else []
            if operation.name in names:
                edit.add_controls(operation, [*before, *reads.pop(handle, ())])
                last[handle] = operation
            elif effects.reads_variable(operation):
                edit.add_controls(operation, before)
                reads[handle].append(operation)
    return writes


def _handles(operation: Any) -> list[str]:
    return [tensor.name for tensor in operation.inputs if tensor.dtype == tf.resource]
