"""Operations that are made again one by one in another graph, some of them as other operations."""

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from tensorflow.python.framework import function_def_to_graph, ops

from tfdistribute.engine.graph import effects, functions, walk

# Called with an operation and its new inputs; returns what takes the place of its results, or None for a copy.
Replace = Callable[[Any, list[Any]], list[Any] | None]
# Called with an operation and its new results.
Check = Callable[[Any, list[Any]], None]


def rebuild(
    operations: Collection[Any], inputs: Mapping[str, Any], replace: Replace, check: Check
) -> dict[str, Any]:
    """Make operations without a cycle again in the current graph, and return their tensors by the old names.

    Devices are left out, and shapes inferred again. ``inputs`` replace tensors by their names, others are captured.
    """
    graph = ops.get_default_graph()
    tensors, made = dict(inputs), dict[str, list[Any]]()
    for operation in _each_after_its_sources(operations):
        read = [tensors.get(each.name, each) for each in operation.inputs]
        controls = [new for each in operation.control_inputs for new in made.get(each.name, ())]
        with graph.control_dependencies(controls):
            results = replace(operation, read)
            new = [] if results is None else [each.op for each in results]
            if results is None:
                new = [_copy(graph, operation, read)]
                results = new[0].outputs
            check(operation, results)
        made[operation.name] = new
        tensors |= {
            old.name: result for old, result in zip(operation.outputs, results, strict=True)
        }
    return tensors


def rebuild_called(operation: Any, inputs: list[Any], replace: Replace, check: Check) -> list[Any]:
    """Make the operations of the function that an operation calls, and return its results."""
    definition = functions.find(operation.graph, operation.get_attr("f").name)
    with operation.graph.as_default():
        body = function_def_to_graph.function_def_to_graph(definition)
    arguments = {each.name: value for each, value in zip(body.inputs, inputs, strict=True)}
    names = {each.op.name for each in body.inputs}
    results = [*body.outputs, *body.control_outputs]
    needed = list(walk.ancestors(results, until=lambda each: each.name in names))
    made = rebuild(needed, arguments, replace, check)
    return [made[each.name] for each in body.outputs]


def _copy(graph: Any, operation: Any, inputs: list[Any]) -> Any:
    if effects.may_call_functions(operation.type):
        for function in operation.graph._functions.values():
            graph._add_function_recursive(function)
    attributes = {name: value for name, value in operation.node_def.attr.items() if name[0] != "_"}
    return graph._create_op_internal(
        operation.type,
        inputs,
        [each.dtype for each in operation.outputs],
        name=operation.name,
        attrs=attributes,
        op_def=operation.op_def,
    )


def _each_after_its_sources(operations: Collection[Any]) -> Iterator[Any]:
    """Iterate over operations as they were made, except that those come first that others were given later."""
    inside = {each.name: each for each in operations}
    waits_for = {
        name: {source.name for source in walk.sources(each)} & inside.keys()
        for name, each in inside.items()
    }
    ready = [(each._id, name) for name, each in inside.items() if not waits_for[name]]
    heapq.heapify(ready)
    while ready:
        _, name = heapq.heappop(ready)
        yield inside[name]
        for user in {each.name for each in walk.users(inside[name], control=True)} & inside.keys():
            waits_for[user].discard(name)
            if not waits_for[user]:
                heapq.heappush(ready, (inside[user]._id, user))
