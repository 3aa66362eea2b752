"""R's functions of tensors: its groups Math and Summary, and matrices."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine.tensors.operators import like
from tfdistribute.errors import ArgumentError, UnsupportedError

# Functions with TensorFlow's names, and others.
_SAME = "abs sign sqrt floor exp expm1 log1p cos sin tan acos asin atan cosh sinh tanh acosh asinh atanh lgamma digamma"
_MATH: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(tf.math, name) for name in _SAME.split()},
    "ceiling": tf.math.ceil,
    "trunc": lambda x: tf.sign(x) * tf.floor(tf.abs(x)),
    "round": lambda x, digits=0: tf.round(x * 10.0**digits) / 10.0**digits,
    "log": lambda x, base=math.e: _log(x, base),
    "log2": lambda x: _log(x, 2),
    "log10": lambda x: _log(x, 10),
    "cospi": lambda x: tf.cos(x * math.pi),
    "sinpi": lambda x: tf.sin(x * math.pi),
    "tanpi": lambda x: tf.tan(x * math.pi),
    "trigamma": lambda x: tf.math.polygamma(tf.ones_like(x), x),
    "cumsum": lambda x: tf.cumsum(_vector(x, "cumsum")),
    "cumprod": lambda x: tf.math.cumprod(_vector(x, "cumprod")),
}
# These keep whole numbers; the others compute with fractions.
_OF_WHOLE_NUMBERS = frozenset({"abs", "sign", "cumsum", "cumprod"})
_ROUNDING = frozenset({"floor", "ceiling", "trunc", "round"})

_REDUCTIONS: Mapping[str, Callable[..., Any]] = {
    "sum": tf.reduce_sum,
    "prod": tf.reduce_prod,
    "max": tf.reduce_max,
    "min": tf.reduce_min,
    "mean": lambda x, **options: tf.reduce_mean(_fractions(x), **options),
    "all": lambda x, **options: tf.reduce_all(tf.cast(x, tf.bool), **options),
    "any": lambda x, **options: tf.reduce_any(tf.cast(x, tf.bool), **options),
}


def function(name: str, values: Sequence[Any], **options: Any) -> Any:
    """Apply a function of R, such as "exp"; numbers get the dtype of the first tensor.

    ``options`` are ``axis`` and ``keepdims`` of reductions; ``n`` of ``head`` and ``tail``. An unknown name raises
    UnsupportedError.
    """
    if name in _REDUCTIONS or name == "range":
        return _summary(name, _tensors(values), **options)
    if name in _OTHERS:
        return _OTHERS[name](_tensors(values), **options)
    return _math(name, *values)


def _tensors(values: Sequence[Any]) -> list[Any]:
    first = next(each for each in values if tf.is_tensor(each))
    return [tf.convert_to_tensor(like(each, first)) for each in values]


def _math(name: str, value: Any, *arguments: Any) -> Any:
    if name not in _MATH:
        raise UnsupportedError(
            f"{name}() does not work on tensors, because TensorFlow does not have it.",
            argument="x",
        )
    x = _numbers(tf.convert_to_tensor(value))
    if x.dtype.is_integer and name in _ROUNDING:
        return x
    if name not in _OF_WHOLE_NUMBERS:
        x = _fractions(x)
    return _MATH[name](x, *arguments)


def _numbers(x: Any) -> Any:
    return tf.cast(x, tf.int32) if x.dtype.is_bool else x


def _fractions(x: Any) -> Any:
    return tf.cast(x, tf.float32) if x.dtype.is_integer else x


def _log(x: Any, base: Any) -> Any:
    logarithm = tf.math.log(x)
    return logarithm if base == math.e else logarithm / tf.math.log(tf.cast(base, x.dtype))


def _vector(x: Any, name: str) -> Any:
    if x.shape.rank not in (None, 1):
        raise ArgumentError(
            f"{name}() needs a vector, not a tensor of {x.shape.rank} dimensions.",
            f"Use tf${'' if name == 'cumsum' else 'math$'}{name}(x, axis), whose axes count from 0.",
            argument="x",
        )
    return x


def _summary(name: str, tensors: list[Any], axis: Any = None, keepdims: bool = False) -> Any:
    if name == "range":
        ends = [_summary(end, tensors, axis, keepdims) for end in ("min", "max")]
        return tf.stack(ends, axis=-1)
    if len(tensors) > 1 and (axis is not None or keepdims):
        raise ArgumentError(
            f"`axis` and `keepdims` of {name}() need a single tensor, not {len(tensors)}.",
        )
    parts = [_reduce(name, each, axis, keepdims) for each in tensors]
    return parts[0] if len(parts) == 1 else _reduce(name, tf.stack(_of_one_dtype(parts)))


def _reduce(name: str, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _REDUCTIONS[name](_numbers(x), axis=axis, keepdims=keepdims)


def _of_one_dtype(tensors: list[Any]) -> list[Any]:
    """Turn TRUE and FALSE beside numbers into numbers, and whole numbers beside fractions into fractions."""
    dtypes = {each.dtype for each in tensors}
    if len(dtypes) > 1 and dtypes <= {tf.bool, tf.int32, tf.float32}:
        common = tf.float32 if tf.float32 in dtypes else tf.int32
        return [tf.cast(each, common) for each in tensors]
    return tensors


def _transpose(tensors: list[Any]) -> Any:
    (x,) = tensors
    if x.shape.rank is not None and x.shape.rank > 2:
        raise ArgumentError(
            f"t() needs a matrix or a vector, not a tensor of {x.shape.rank} dimensions.",
            "Use tf$transpose(x, perm), whose axes count from 0.",
            argument="x",
        )
    return tf.transpose(x) if x.shape.rank in (None, 2) else tf.reshape(x, [1, -1])


def _bind(tensors: list[Any], axis: int) -> Any:
    """Join vectors and matrices as columns (axis 1) or as rows (axis 0). A single number is repeated."""
    tensors = _of_one_dtype(tensors)
    whole = [
        tf.expand_dims(each, axis) if each.shape.rank == 1 else each
        for each in tensors
        if each.shape.rank != 0
    ]
    length = tf.shape(whole[0])[1 - axis] if whole else 1
    shape = [length, 1] if axis == 1 else [1, length]
    rest = iter(whole)
    return tf.concat(
        [tf.fill(shape, each) if each.shape.rank == 0 else next(rest) for each in tensors], axis
    )


_OTHERS: Mapping[str, Callable[..., Any]] = {
    "t": _transpose,
    "cbind": lambda tensors: _bind(tensors, 1),
    "rbind": lambda tensors: _bind(tensors, 0),
    "head": lambda tensors, n: tensors[0][:n],
    "tail": lambda tensors, n: tensors[0][-n:] if n else tensors[0][:0],
}
