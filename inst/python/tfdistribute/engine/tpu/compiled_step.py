"""The training step as a TPU compiles it: no summaries, and operations that XLA knows."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import kernels

from tfdistribute.engine.tpu.system import is_tpu
from tfdistribute.errors import ModelError

v1 = tf.compat.v1

# TensorFlow's text for a variable whose first value belongs to the body of a loop.
_NOT_LIFTED = re.compile(r"could not be lifted out of a .* with name='([^']*)'", re.DOTALL)

# Marks of operations in a program for TPUs, and in one for XLA on another device.
PROGRAM_MARKS = ("_tpu_replicate", "_xla_compile_id")
_COMPILERS = frozenset({"XLA_TPU_JIT", "XLA_CPU_JIT", "XLA_GPU_JIT"})
# Loops and conditions of TensorFlow 1 become functions before they are compiled.
_CONTROL_FLOW = frozenset(
    {"Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch", "ControlTrigger"}
)
_PROGRAM = ("TPU", "XlaCluster")


@contextlib.contextmanager
def program() -> Iterator[None]:
    """Call a model function inside the block; on a TPU, it makes a part of a program.

    Summaries are forgotten there: values never leave the program, so a session that writes summaries would fail. The
    loss has a summary of its own.

    Raises:
        ModelError: on a TPU, a variable starts from a tensor of the program.

    Source:
        ``_UNSUPPORTED_OPS`` in tensorflow/python/tpu/tpu_replication.py.
    """
    if not is_tpu(tf.distribute.get_strategy()):
        yield
        return
    summaries = v1.get_default_graph().get_collection_ref(v1.GraphKeys.SUMMARIES)
    before = len(summaries)
    try:
        yield
    except ValueError as error:
        found = _NOT_LIFTED.search(str(error))
        if found is None:
            raise
        raise ModelError(
            f'The variable "{found[1]}" starts from a tensor, which is known in the program of the TPU only.',
            "Give it an initializer, a function. Ready-made models that start so (baselines) train on a CPU.",
            argument="train_distribute",
            value=found[1],
        ) from error
    del summaries[before:]


def check_step(train_op: Any) -> None:
    """Check that every operation of a training step can be compiled, before the TPU starts.

    XLA knows the same operations on CPUs and on TPUs but for a few, so this cannot find all that a TPU refuses.

    Raises:
        ModelError: one cannot.
    """
    wrong: dict[str, str] = {}
    for kind, name in _operations(train_op):
        if kind not in wrong and not _is_compiled(kind):
            wrong[kind] = name
    if wrong:
        shown = ", ".join(f"{kind} ({name})" for kind, name in sorted(wrong.items())[:5])
        raise ModelError(
            f"The training step uses operations that a TPU cannot compile: {shown}.",
            "Compute them in the input, in a dataset's map(), and give the model their results.",
            argument="train_distribute",
            value=shown,
        )


def _operations(train_op: Any) -> Iterator[tuple[str, str]]:
    """Iterate over the types and names of the compiled operations that a step depends on."""
    graph = train_op.graph
    waiting, seen, called = [train_op], set[str](), set[str]()
    while waiting:
        operation = waiting.pop()
        if operation.name in seen:
            continue
        seen.add(operation.name)
        yield from _compiled(graph, operation.node_def, False, called)
        waiting += [*(tensor.op for tensor in operation.inputs), *operation.control_inputs]


def _compiled(graph: Any, node: Any, inside: bool, called: set[str]) -> Iterator[tuple[str, str]]:
    """Iterate over an operation and those of the functions that it calls, as far as they are in a program."""
    inside = inside or any(mark in node.attr for mark in PROGRAM_MARKS)
    if inside:
        yield node.op, node.name
    for attribute in node.attr.values():
        for name in [attribute.func.name, *(each.name for each in attribute.list.func)]:
            function = graph._functions.get(name)
            if function is not None and name not in called:
                called.add(name)
                for inner in _needed(function.cached_definition):
                    yield from _compiled(graph, inner, inside, called)


def _needed(function: Any) -> Iterator[Any]:
    """Iterate over the operations of a function that its results depend on; summaries are not among them."""
    nodes = {node.name: node for node in function.node_def}
    waiting, seen = [*function.ret.values(), *function.control_ret.values()], set[str]()
    while waiting:
        name = waiting.pop().removeprefix("^").partition(":")[0]
        if name in nodes and name not in seen:
            seen.add(name)
            yield nodes[name]
            waiting += nodes[name].input


@functools.cache
def _is_compiled(kind: str) -> bool:
    if kind in _CONTROL_FLOW or kind.startswith(_PROGRAM):
        return True
    return not _knows_compilers() or bool(_compilers(kind))


@functools.cache
def _knows_compilers() -> bool:
    """Return whether this TensorFlow tells what XLA compiles; it does once there was a session."""
    with tf.Graph().as_default(), v1.Session():
        return bool(_compilers("MatMul"))


def _compilers(kind: str) -> frozenset[str]:
    registered = kernels.get_registered_kernels_for_op(kind).kernel
    return _COMPILERS & {kernel.device_type for kernel in registered}
