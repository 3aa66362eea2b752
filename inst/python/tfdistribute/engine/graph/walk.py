"""Walks along the edges of a graph."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any, TypeVar

import tensorflow as tf

Node = TypeVar("Node", bound=Hashable)
Predicate = Callable[[Any], bool]
NEVER: Predicate = frozenset[Any]().__contains__


def reach(begin: Iterable[Node], follow: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Iterate depth-first over nodes and all that follow from them, each once.

    ``follow`` is called with a node after the node was yielded.
    """
    seen: set[Node] = set()
    waiting = list(begin)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            yield node
            waiting.extend(follow(node))


def tensors_in(values: Any) -> list[Any]:
    """List the tensors in a nested structure, with the parts of composite ones."""
    leaves = tf.nest.flatten(values, expand_composites=True)
    return [leaf for leaf in leaves if isinstance(leaf, tf.Tensor)]


def sources(operation: Any, control: bool = True) -> list[Any]:
    """List the operations that must run before another one, by data or, if ``control``, by control edges."""
    read = [tensor.op for tensor in operation.inputs]
    return [*read, *operation.control_inputs] if control else read


def users(operation: Any, control: bool = False) -> list[Any]:
    """List the operations that read the results of another one or, if ``control``, wait for its end."""
    readers = [user for tensor in operation.outputs for user in tensor.consumers()]
    return [*readers, *operation._control_outputs] if control else readers


def ancestors(
    begin: Iterable[Any], control: bool = True, until: Predicate = NEVER
) -> Iterator[Any]:
    """Iterate over operations, or the operations of tensors, and everything that must run before them.

    Operations that ``until`` holds for are left out, and so is everything that only they need.
    """
    return _walk(begin, lambda each: sources(each, control), until)


def descendants(
    begin: Iterable[Any], control: bool = True, until: Predicate = NEVER
) -> Iterator[Any]:
    """Iterate over operations and everything that depends on them, with the arguments of ``ancestors()``."""
    return _walk(begin, lambda each: users(each, control), until)


def _walk(
    begin: Iterable[Any], follow: Callable[[Any], Iterable[Any]], until: Predicate
) -> Iterator[Any]:
    def inside(operations: Iterable[Any]) -> Iterator[Any]:
        return (each for each in operations if not until(each))

    first = (getattr(each, "op", each) for each in begin)
    return reach(inside(first), lambda each: inside(follow(each)))


def chain(tensor: Any, kinds: Collection[str]) -> Iterator[Any]:
    """Iterate over a tensor, its operation's first input, and so on, past operations of these types only."""
    yield tensor
    while tensor.op.type in kinds:
        tensor = tensor.op.inputs[0]
        yield tensor


def behind(tensor: Any, kinds: Collection[str]) -> Any:
    *_, last = chain(tensor, kinds)
    return last


def readers(tensor: Any) -> Iterator[tuple[Any, int]]:
    """Iterate over the operations that read a tensor, and over the positions of the inputs at which they do."""
    for operation in {each.name: each for each in tensor.consumers()}.values():
        for position, source in enumerate(operation.inputs):
            if source.name == tensor.name:
                yield operation, position


def outside_inputs(operations: Collection[Any]) -> dict[str, Any]:
    """Return the tensors that operations read from other operations, by name."""
    inside = {operation.name for operation in operations}
    read = (tensor for operation in operations for tensor in operation.inputs)
    return {tensor.name: tensor for tensor in read if tensor.op.name not in inside}


def carried(operations: Iterable[Any], begin: Iterable[Any]) -> dict[str, set[Any]]:
    """Return, by name, which operations of ``begin`` must run before each of others, which are in order."""
    found = {each.name: {each} for each in begin}
    for operation in operations:
        found[operation.name] = set[Any]().union(
            *(found.get(each.name, ()) for each in sources(operation))
        )
    return found


def in_order(operations: Iterable[Any]) -> list[Any]:
    return sorted(operations, key=lambda each: each._id)
