"""The operations that a compiled step may have: those that are known to give TensorFlow's numbers and errors.

XLA computes wrong numbers, without an error, from results whose size depends on values. Sizes are therefore computed
when the step is built, by TensorFlow itself, and every result must have a known shape.
"""

from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context, execute

from tfdistribute.engine.graph import effects
from tfdistribute.engine.step.compiled.lookups import NotCompilableError

# Results without inputs that set their sizes, or only sizes that are attributes.
_PLAIN = """
Abs Acos Acosh Add AddN AddV2 ApproximateEqual Asin Asinh AssignAddVariableOp AssignSubVariableOp AssignVariableOp Atan
Atan2 Atanh AvgPool AvgPoolGrad BatchMatMul BatchMatMulV2 BiasAdd BiasAddGrad Cast Ceil ClipByValue Const Conv2D Cos
Cosh DepthwiseConv2dNative Diag DiagPart Digamma Div DivNoNan Einsum Elu EluGrad EnsureShape Equal Erf Erfc Exp Expm1
Floor FloorDiv FloorMod FusedBatchNormGradV3 FusedBatchNormV3 Gather GatherNd Greater GreaterEqual Identity IdentityN
Inv InvGrad IsFinite IsInf IsNan L2Loss LeakyRelu LeakyReluGrad Less LessEqual Lgamma Log Log1p LogSoftmax LogicalAnd
LogicalNot LogicalOr MatMul MaxPool MaxPoolGrad Maximum Minimum Mod Mul MulNoNan Neg NoOp NotEqual OnesLike Pack Pow
PreventGradient ReadVariableOp RealDiv Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad ResourceApplyAdaMax
ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAddSign
ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyGradientDescent
ResourceApplyKerasMomentum ResourceApplyMomentum ResourceApplyPowerSign ResourceApplyRMSProp ResourceGather
ResourceScatterAdd ResourceScatterMax ResourceScatterMin ResourceScatterNdAdd ResourceScatterNdSub
ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate Rint Round Rsqrt RsqrtGrad Select SelectV2 Selu
SeluGrad Sigmoid SigmoidGrad Sign Sin Sinh Snapshot Softmax SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad Softsign
SoftsignGrad SparseSoftmaxCrossEntropyWithLogits Sqrt SqrtGrad Square SquaredDifference Squeeze StopGradient Sub Tan
Tanh TanhGrad TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate TruncateDiv
TruncateMod Unpack VarIsInitializedOp VariableShape Xdivy Xlog1py Xlogy ZerosLike
"""
# Positions of the inputs that set sizes, places or axes.
_SIZES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(_PLAIN.split(), ()),
    **dict.fromkeys(("All", "Any", "Max", "Mean", "Min", "Prod", "Sum"), (1,)),
    **dict.fromkeys(("ArgMax", "ArgMin", "Cumprod", "Cumsum", "ReverseV2"), (1,)),
    **dict.fromkeys(("BroadcastTo", "ExpandDims", "OneHot", "Reshape", "Tile", "Transpose"), (1,)),
    **dict.fromkeys(("MirrorPad", "MirrorPadGrad", "Pad", "PadV2"), (1,)),
    **dict.fromkeys(("Conv2DBackpropInput", "Fill", "Split"), (0,)),
    **dict.fromkeys(("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentSum"), (2,)),
    **dict.fromkeys(("Slice", "SplitV", "Roll"), (1, 2)),
    "ConcatV2": (-1,),
    "Conv2DBackpropFilter": (1,),
    "GatherV2": (2,),
    "ScatterNd": (2,),
    "StridedSlice": (1, 2, 3),
    "StridedSliceGrad": (0, 1, 2, 3),
}
# XLA computes float16 and bfloat16 with the digits of float32.
_TYPES = (tf.bool, tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.uint32, tf.uint64)
_TYPES = frozenset((*_TYPES, tf.int8, tf.int16, tf.uint16, tf.resource))
_SHAPES = ("Shape", "ShapeN", "Size", "Rank")
# Elements of a value that describes sizes, at most.
_MOST_ELEMENTS = 1024


def check_operation(operation: Any, inputs: list[Any], replaced: bool) -> None:
    """Raise NotCompilableError unless an operation is known to be right; ``replaced`` if others compute it."""
    if operation.type not in _SIZES:
        if not replaced:
            raise _error(operation, "is not known to give TensorFlow's numbers if it is compiled")
    elif any(tf.get_static_value(inputs[position]) is None for position in _SIZES[operation.type]):
        raise _error(operation, "has sizes, places or axes that depend on values")


def check_results(operation: Any, results: list[Any]) -> None:
    """Raise NotCompilableError unless the shapes of results are known, and XLA keeps their digits."""
    for result in results:
        if operation.type != "Const" and result.dtype not in _TYPES:
            raise _error(operation, f"computes in {result.dtype.name}, not as TensorFlow does")
        if result.dtype != tf.resource and not result.shape.is_fully_defined():
            raise _error(operation, "has a result whose size depends on values")


def known_results(operation: Any, inputs: list[Any]) -> list[Any] | None:
    """Return the results of an operation as constants if they are whole numbers that depend on shapes only."""
    values = _known_values(operation, inputs)
    if values is None:
        return None
    types = zip(values, operation.outputs, strict=True)
    return [tf.constant(value, output.dtype) for value, output in types]


def _known_values(operation: Any, inputs: list[Any]) -> list[Any] | None:
    if not inputs or effects.is_stateful(operation):
        return None
    if any(each.dtype not in (tf.int32, tf.int64, tf.bool) for each in operation.outputs):
        return None
    if operation.type in _SHAPES:
        is_known = all(each.shape.is_fully_defined() for each in inputs)
        # Only their shapes matter, so no memory is needed for them.
        inputs = [tf.TensorShape(each.shape) for each in inputs]
        return [_of_shape(operation.type, each) for each in inputs] if is_known else None
    if effects.may_call_functions(operation.type) or not all(map(_is_small, inputs)):
        return None
    values = [tf.get_static_value(each) for each in inputs]
    return None if any(each is None for each in values) else _computed(operation, inputs, values)


def _is_small(tensor: Any) -> bool:
    count = tensor.shape.num_elements()
    return tensor.dtype.is_numpy_compatible and count is not None and count <= _MOST_ELEMENTS


def _of_shape(kind: str, shape: Any) -> Any:
    if kind == "Size":
        return shape.num_elements()
    return shape.rank if kind == "Rank" else shape.as_list()


def _computed(operation: Any, inputs: list[Any], values: list[Any]) -> list[Any]:
    attributes: list[Any] = []
    for name in operation.node_def.attr:
        if name[0] != "_":
            value = operation.get_attr(name)
            attributes += [name, getattr(value, "as_datatype_enum", value)]
    with context.eager_mode(), tf.device("/cpu:0"):
        tensors = [
            tf.constant(value, each.dtype) for value, each in zip(values, inputs, strict=True)
        ]
        count = len(operation.outputs)
        results = execute.execute(
            operation.type, count, tensors, tuple(attributes), context.context()
        )
        return [each.numpy() for each in results]


def _error(operation: Any, reason: str) -> NotCompilableError:
    return NotCompilableError(f"{operation.type} {operation.name!r} {reason}")
