"""Values that operations read, computed once more from other tensors."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from tfdistribute.engine.graph import edit, walk
from tfdistribute.engine.graph.copies import Subgraph


def recompute(
    users: Collection[Any],
    depending: Collection[str],
    inputs: Mapping[str, Any],
    name: str,
    check: Callable[[Subgraph, list[Any]], None],
) -> None:
    """Let operations read copies of what they read, for which ``inputs`` replace tensors by name.

    Args:
        users: The operations. They read each other's results as before.
        depending: Names of the operations that depend on the replaced tensors.
        inputs: Replacements, by the names of tensors.
        name: Scope of the copies.
        check: Gets what will be copied, before it is.
    """
    ends = {each.name for each in users} | {each.partition(":")[0] for each in inputs}
    reads = [
        (user, position, tensor)
        for user in users
        for position, tensor in enumerate(user.inputs)
        if tensor.name in inputs or (tensor.op.name in depending and tensor.op.name not in ends)
    ]
    originals = walk.in_order(
        walk.ancestors(
            (tensor for *_, tensor in reads),
            control=False,
            until=lambda each: each.name in ends or each.name not in depending,
        )
    )
    subgraph, inside = Subgraph(originals), {each.name for each in originals}
    check(subgraph, originals)
    wanted = [*(tensor for *_, tensor in reads), *originals]
    copies = subgraph.copy(inputs, wanted, name)
    for (user, position, _), copy in zip(reads, copies, strict=False):
        edit.set_input(user, position, copy)
    for original, copy in zip(originals, copies[len(reads) :], strict=True):
        edit.add_controls(copy, (c for c in original.control_inputs if c.name not in inside))
