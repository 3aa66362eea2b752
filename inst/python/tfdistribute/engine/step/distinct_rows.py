"""Sparse gradients whose rows are summed already, as lookups that read each row once make them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfdistribute.engine import patches
from tfdistribute.engine.graph import walk

# Operations and their outputs that hold each index once: of embedding lookups, and of their gradients.
_UNIQUE = {("Unique", 0), ("UniqueV2", 0)}
_UNIQUE |= {(f"SparseSegment{kind}GradV2", 1) for kind in ("Mean", "SqrtN", "Sum")}


def holds_each_index_once(indices: Any) -> bool:
    """Return whether the indices of a gradient's rows come from an operation that removes duplicates."""
    source = walk.behind(indices, ("Identity", "Reshape", "Cast"))
    return (source.op.type, source.value_index) in _UNIQUE


def install() -> None:
    """Let optimizers in graphs take such gradients as they are."""
    patches.install("distinct_rows", _update, _update)


def _update(
    original: Any, optimizer: Any, grad: Any, handle: Any, indices: Any, **kwargs: Any
) -> Any:
    if tf.executing_eagerly() or not holds_each_index_once(indices):
        return original(optimizer, grad, handle, indices, **kwargs)
    return optimizer._resource_apply_sparse(grad, handle, indices, **kwargs)
