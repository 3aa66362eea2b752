"""ConfigProtos of sessions, from settings by name.

protobuf's ``ParseDict`` takes "2" for 2 and any number for an enum, replaces lists, and misreports paths.
"""

import contextlib
import difflib
from collections.abc import Mapping, MutableSequence
from typing import Any, cast

import tensorflow as tf
from google.protobuf.descriptor import FieldDescriptor
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow_estimator.python.estimator import run_config as estimator_run_config

from tfdistribute.errors import RunConfigError

_EXPECTED = {
    FieldDescriptor.CPPTYPE_BOOL: "TRUE or FALSE",
    FieldDescriptor.CPPTYPE_STRING: "a string",
    FieldDescriptor.CPPTYPE_FLOAT: "a number",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
}

_INTRA = "intra_op_parallelism_threads"

# Pools of threads of a training's session: TensorFlow's default, and one thread for small steps.
_POOLS, _ONE_THREAD = [0, 1], 1

# Of this process, 0 for TensorFlow's choice; empty until they are started.
_threads_at_start: list[int] = []


def make(settings: Mapping[str, Any], base: Any = None, of_task: bool = False) -> Any:
    """Add a user's settings to TensorFlow's defaults; RunConfigError for a field or value that does not fit.

    TensorFlow's RunConfig drops its own defaults (soft placement, device filters); here they stay, and lists are
    joined. ``base`` is the ConfigProto that TensorFlow would use; None for the default of one machine.
    """
    proto = tf.compat.v1.ConfigProto()
    proto.CopyFrom(base if base is not None else estimator_run_config.get_default_session_config())
    _fill(proto, settings, "session_config")
    if proto.inter_op_parallelism_threads > 0 and not of_task:
        # All other sessions of a process share the threads of the first one, however many they ask for. A task has one
        # session, with the threads of its server: with threads of its own, tasks would wait for each other for ever.
        proto.use_per_session_threads = True
    return proto


def start_threads(settings: Mapping[str, Any]) -> None:
    """Set the threads of this process by the first settings of a session, which all sessions share.

    TensorFlow starts them with its first device, before there is a session. See ``EigenThreadPoolInfo`` in
    tensorflow/core/common_runtime/local_device.cc.
    """
    if _threads_at_start:
        return
    threads = _intra_op_threads(settings)
    if threads > 0:
        # Other code may have started TensorFlow.
        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_intra_op_parallelism_threads(threads)
    _threads_at_start.append(tf.config.threading.get_intra_op_parallelism_threads())


def note_on_threads(settings: Mapping[str, Any]) -> str | None:
    """Return a sentence if the settings of a session come too late for their threads; else None."""
    threads = _intra_op_threads(settings)
    if threads == 0 or [threads] == _threads_at_start:
        return None
    return (
        f"`session_config${_INTRA}` is {threads} and has no effect: TensorFlow has started its threads already. "
        "To use it, restart R and train before anything else uses TensorFlow."
    )


def _intra_op_threads(settings: Mapping[str, Any]) -> int:
    return make({_INTRA: settings.get(_INTRA, 0)}).intra_op_parallelism_threads


def prepare_training(session_config: Any, graph: Any) -> None:
    """Add the thread of small steps, and turn off the optimizers of graphs that round otherwise in a loop.

    TensorFlow's remapper joins operations of full shapes, as in a loop, and rounds otherwise on processors without
    AVX-512. It stays on for products of 16 bits, which it rounds once, as in Keras's ``fit()``.

    TensorFlow's arithmetic optimizer adds in another order where shapes are equal, of which a loop knows more. It also
    replaces a lookup of rows by a read of the variable, which copies it in training.

    A setting that names an optimizer is kept.

    Source:
        remapper.cc, and ``SimplifyEmbeddingLookupStage`` of arithmetic_optimizer.cc, in
        tensorflow/core/grappler/optimizers; ``copy_on_read_mode`` in tensorflow/core/framework/resource_var.h.
    """
    pools = session_config.session_inter_op_thread_pool
    if not pools:
        for threads in _POOLS:
            pools.add(num_threads=threads)
    rewriting = session_config.graph_options.rewrite_options
    has_16_bits = any(
        each.type == "MatMul" and each.outputs[0].dtype.size == 2 for each in graph.get_operations()
    )
    if rewriting.remapping == RewriterConfig.DEFAULT and not has_16_bits:
        rewriting.remapping = RewriterConfig.OFF
    if rewriting.arithmetic_optimization == RewriterConfig.DEFAULT:
        rewriting.arithmetic_optimization = RewriterConfig.OFF


def one_thread(session: Any) -> Any:
    """Return options of a run whose operations follow each other on one thread; None if a session cannot do that."""
    pools = [each.num_threads for each in session._config.session_inter_op_thread_pool]
    if session.sess_str or pools != _POOLS:
        return None
    return tf.compat.v1.RunOptions(inter_op_thread_pool=_ONE_THREAD)


def _fill(message: Any, settings: Mapping[str, Any], path: str) -> None:
    fields = message.DESCRIPTOR.fields_by_name
    for name, value in settings.items():
        here = f"{path}${name}"
        if name not in fields:
            raise _unknown(name, path, list(fields))
        field = fields[name]
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            _fill_map(getattr(message, name), field, _mapping(value, here), here)
        # The property of the field that says so differs between versions of protobuf.
        elif isinstance(getattr(message, name), MutableSequence):
            _extend(getattr(message, name), field, value, here)
        elif field.message_type is not None:
            _fill(getattr(message, name), _mapping(value, here), here)
        else:
            setattr(message, name, _scalar(field, value, here))


def _fill_map(target: Any, field: Any, values: Mapping[str, Any], path: str) -> None:
    item = field.message_type.fields_by_name["value"]
    for key, value in values.items():
        if item.message_type is not None:
            _fill(target[key], _mapping(value, f"{path}${key}"), f"{path}${key}")
        else:
            target[key] = _scalar(item, value, f"{path}${key}")


def _extend(target: Any, field: Any, value: Any, path: str) -> None:
    values = cast("list[Any]", value) if isinstance(value, (list, tuple)) else [value]
    known = list(target)
    for each in values:
        if field.message_type is not None:
            _fill(target.add(), _mapping(each, path), path)
            continue
        item = _scalar(field, each, path)
        # A filter that TensorFlow has set already is not set again. A user may repeat a value.
        if item not in known:
            target.append(item)


def _mapping(value: Any, path: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    raise _misfit(value, "a named list", path)


def _scalar(field: Any, value: Any, path: str) -> Any:
    if field.enum_type is not None:
        return _enum_number(field, value, path)
    expected = _EXPECTED.get(field.cpp_type, "a whole number")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if expected == "a whole number" and number and float(value).is_integer():
        return int(value)
    if expected == "a number" and number:
        return float(value)
    if expected == "TRUE or FALSE" and isinstance(value, bool):
        return value
    if expected == "a string" and isinstance(value, str):
        return value.encode() if field.type == FieldDescriptor.TYPE_BYTES else value
    raise _misfit(value, expected, path)


def _enum_number(field: Any, value: Any, path: str) -> int:
    by_name = {item.name: item.number for item in field.enum_type.values}
    if isinstance(value, str) and value in by_name:
        return by_name[value]
    if not isinstance(value, (str, bool)) and value in by_name.values():
        return int(value)
    raise _misfit(value, f"one of {', '.join(by_name)}", path)


def _misfit(value: Any, expected: str, path: str) -> RunConfigError:
    shown = "named values" if isinstance(value, Mapping) else repr(value)
    return RunConfigError(
        f"`{path}` must be {expected}, not {shown}.",
        value=shown,
    )


def _unknown(name: str, path: str, known: list[str]) -> RunConfigError:
    near = difflib.get_close_matches(name, known, n=1)
    return RunConfigError(
        f"`{path}` has no field `{name}`.",
        f"Did you mean `{near[0]}`?" if near else f"Use one of {', '.join(sorted(known))}.",
        argument=f"{path}${name}",
        value=name,
    )
