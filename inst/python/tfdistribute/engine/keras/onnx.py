"""Models of Keras 3 in the format ONNX, with optional packages."""

import contextlib
import importlib
import importlib.util
import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any

from tfdistribute.engine.keras import keras3_models
from tfdistribute.errors import BackendError, UnsupportedError

PACKAGES = ("tf2onnx", "onnx")
# Keras writes operators of this version, which ONNX Runtime 1.14 and newer read.
_OPSET = 18


def check_packages() -> None:
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise BackendError(
            f"ONNX needs the Python package {missing[0]}, which is not installed.",
            f"Run `pip install {' '.join(PACKAGES)}` for the Python of this session.",
        )


def write(model: Any, encoders: Mapping[str, Any], path: str) -> None:
    """Write a model whose inputs in ``encoders`` (see ``models.conversion.program``) read a feature by its values.

    UnsupportedError if ONNX lacks an operator.
    """
    keras = keras3_models.keras_3()
    named = dict(zip([each.name for each in model.inputs], model.inputs, strict=True))
    spec = {
        name: keras.InputSpec(shape=(None, *each.shape[1:]), dtype=each.dtype, name=name)
        for name, each in named.items()
    }
    is_named = isinstance(getattr(model, "_inputs_struct", None), Mapping)
    signature = [spec] if is_named else list(spec.values())
    with _quiet():
        model.export(path, "onnx", verbose=False, input_signature=signature, opset_version=_OPSET)
    onnx = importlib.import_module("onnx")
    written = onnx.load(path)
    _add_encoders(onnx, written, encoders)
    try:
        onnx.checker.check_model(written)
    except onnx.checker.ValidationError as error:
        os.remove(path)
        reason = str(error).strip().splitlines()[0]
        raise UnsupportedError(
            f"ONNX has no operator for a part of the model: {reason}",
            "Use export_savedmodel() with its default format.",
            argument="format",
        ) from error
    onnx.save(written, path)


def _add_encoders(onnx: Any, written: Any, encoders: Mapping[str, Any]) -> None:
    """Replace inputs of numbers by operators that compute them from the values of a feature."""
    graph, helper = written.graph, onnx.helper
    for name, encoder in encoders.items():
        own = next(each for each in graph.input if each.name == name)
        graph.input.remove(own)
        is_text = isinstance(next(iter(encoder.numbers)), str)
        if all(each.name != encoder.feature for each in graph.input):
            source = graph.input.add()
            source.CopyFrom(own)
            source.name = encoder.feature
            source.type.tensor_type.elem_type = (
                onnx.TensorProto.STRING if is_text else onnx.TensorProto.INT64
            )
        node = helper.make_node(
            "LabelEncoder",
            [encoder.feature],
            [name],
            domain="ai.onnx.ml",
            default_int64=encoder.default,
            values_int64s=list(encoder.numbers.values()),
            **{"keys_strings" if is_text else "keys_int64s": list(encoder.numbers)},
        )
        graph.node.insert(0, node)
    if encoders and all(each.domain != "ai.onnx.ml" for each in written.opset_import):
        written.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    # tf2onnx logs operators that it does not know, which the checks below report.
    logger = logging.getLogger("tf2onnx")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
