"""Datasets as graphs, which other graphs and processes can hold."""

import base64
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import copies

# ``ExternalStatePolicy::POLICY_FAIL`` in tensorflow/core/framework/dataset_options.proto.
_FAIL_ON_STATE = 2


def to_graph(dataset: Any) -> str:
    """Return the ``GraphDef`` of a dataset that was made eagerly, serialized and in base 64.

    Its last operation must have ``output_types`` and ``output_shapes``, as in ``Dataset.map()``.
    FailedPreconditionError if it uses functions, tables or generators of this process.
    """
    variant = tf.data.experimental.to_variant(dataset)
    graph = tf.raw_ops.DatasetToGraphV2(
        input_dataset=variant, external_state_policy=_FAIL_ON_STATE, strip_device_assignment=True
    )
    return base64.b64encode(graph.numpy()).decode()


def from_graph(graph: str) -> Any:
    definition = _parse(graph)
    (result,) = (node for node in definition.node if node.op == "_Retval")
    definition.node.remove(result)
    last = copies.node_name(result.input[0])
    (variant,) = copies.insert(definition, {}, [f"{last}:0"], name="dataset")
    operation = variant.op
    spec = tuple(
        tf.TensorSpec(shape, dtype)
        for shape, dtype in zip(
            operation.get_attr("output_shapes"), operation.get_attr("output_types"), strict=True
        )
    )
    return tf.data.experimental.from_variant(variant, spec)


def operation_types(graph: str) -> list[str]:
    return [node.op for node in _parse(graph).node]


def _parse(graph: str) -> Any:
    return copies.parse(base64.b64decode(graph))
