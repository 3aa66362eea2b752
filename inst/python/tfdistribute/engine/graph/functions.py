"""Functions of a graph: bodies of loops, branches of conditions, and what ``tf.function`` has traced."""

from collections.abc import Iterable, Iterator
from typing import Any

from tfdistribute.engine.graph import walk
from tfdistribute.engine.graph.copies import node_name


def find(graph: Any, name: str) -> Any:
    function = graph._functions.get(name)
    return None if function is None else function.cached_definition


def find_all(graph: Any) -> list[Any]:
    return [function.cached_definition for function in graph._functions.values()]


def called_names(graph: Any, nodes: Iterable[Any]) -> Iterator[str]:
    """Iterate over the names of the functions that nodes call, by an attribute or by their type."""
    for node in nodes:
        values = node.attr.values()
        lists = (each.name for value in values for each in value.list.func)
        names = (node.op, *(value.func.name for value in values), *lists)
        yield from (name for name in names if name in graph._functions)


def called_nodes(graph: Any, nodes: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Iterate over the nodes of all functions that nodes call, directly or not, with the function's name.

    Nodes that the results of a function do not depend on are left out.
    """

    def follow(name: str) -> Iterator[str]:
        return called_names(graph, _needed_nodes(find(graph, name)))

    names = walk.reach(called_names(graph, nodes), follow)
    return ((name, node) for name in names for node in _needed_nodes(find(graph, name)))


def _needed_nodes(function: Any) -> list[Any]:
    nodes = {node.name: node for node in function.node_def}

    def nodes_of(inputs: Iterable[str]) -> list[str]:
        return [name for name in map(node_name, inputs) if name in nodes]

    results = nodes_of([*function.ret.values(), *function.control_ret.values()])
    return [nodes[name] for name in walk.reach(results, lambda name: nodes_of(nodes[name].input))]
