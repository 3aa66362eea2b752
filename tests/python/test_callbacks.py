"""Errors of R functions, and R's idioms for them."""

from __future__ import annotations

from typing import Any

import pytest

from tfdistribute.callbacks import IDIOMS, Callback, as_callable, idiom_for
from tfdistribute.errors import CallbackError, ModelError, TfdistributeError

# What TensorFlow 2.15 and R 4.2 say to model functions that were written otherwise, and a word of the idiom.
TEXTS = {
    "Expected int64, but got 10000.0 of type 'float'.": "10000L",
    "Value passed to parameter 'dim' has DataType float32 not in list of allowed values: int32, int64": "10000L",
    "Received an invalid value for `units`, expected a positive integer. Received: units=16.0": "10000L",
    "argument is not interpretable as logical": "tf$where()",
    "missing value where TRUE/FALSE needed": "lapply()",
    "requires numeric/complex matrix/vector arguments": "tf$matmul(x, y)",
    "'x' must be an array of at least two dimensions": "sum(x, axis = 2)",
    "cannot coerce type 'environment' to vector of type 'logical'": "tf$where()",
    "Non-numeric argument to mathematical function": "tf$sigmoid(x)",
    "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: AutoGraph did convert this function.": "tf$cond()",
    "Value passed to parameter 'labels' has DataType string not in list of allowed values: int32": "factor",
    "Column dtype and SparseTensors dtype must be compatible. key: f, column dtype: <dtype: 'string'>": "input_layer()",
    'Layer "model" expects 2 input(s), but it received 1 input tensors.': "as.list(features)",
    "Layer dense_1 expects 1 input(s), but it received 7 input tensors.": 'features[c("x", "y")]',
    "Expected list for 'values' argument to 'pack' Op, not <tf.Tensor 'stack:0'>": "unname(features)",
    "KeyError: 0": "unname(features)",
    "A `Concatenate` layer should be called on a list of at least 1 input.": "unname(features)",
    "Value passed to parameter 'inputs' has DataType string not in list of allowed values: float32": "unname(features)",
    "Failed to convert '{'x': TensorShape([None, 10])}' to a shape: ''x''could not be converted": "features$x",
    "cannot compute Sub as input #1(zero-based) was expected to be a float tensor but is a int32 tensor": "tf$cast(",
    "Expected any non-tensor type, but got a tensor instead.": "unname(x)",
    "the condition has length > 1": "tf$where()",
    "Input 'y' of 'Sub' Op has type int32 that does not match type float32 of argument 'x'.": "tf$cast(",
    "Input 'y' of 'Sub' Op has type float32 that does not match type float64 of argument 'x'.": "tf$float64",
    "Tensor conversion requested dtype float64 for Tensor with dtype float32": "tf$float64",
    "cannot compute Sub as input #1(zero-based) was expected to be a double tensor but is a float tensor": "tf$float64",
    "The requested array has an inhomogeneous shape after 1 dimensions.": "name its parts",
}


def failing(text: str, **fields: Any) -> Callback:
    return Callback(lambda: {"error": text, **fields}, (), "model_fn")


def error_of(callback: Callback) -> TfdistributeError:
    with pytest.raises(TfdistributeError) as raised:
        callback()
    return raised.value


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_of_tensorflow_has_an_idiom_of_r(text: str) -> None:
    assert TEXTS[text] in str(error_of(failing(text)).remedy)


def test_every_idiom_is_found_by_a_text() -> None:
    assert {idiom_for(text) for text in TEXTS} == {idiom for _, idiom in IDIOMS}


def test_an_error_that_has_many_causes_has_no_idiom() -> None:
    for text in (
        "non-numeric argument to binary operator",
        "non-numeric argument to mathematical function",
    ):
        assert idiom_for(text) is None


def test_an_error_names_the_function_and_the_place_and_adds_no_empty_remedy() -> None:
    error = error_of(failing("no luck", place=" at net.R:12, in `f(x)`", traceback="1. f"))
    assert isinstance(error, CallbackError)
    assert str(error) == "`model_fn` failed at net.R:12, in `f(x)`: no luck"
    assert (error.text, error.r_traceback, error.argument) == ("no luck", "1. f", "model_fn")
    assert (
        error_of(failing("Expected int32, but got 1.0 of type 'float'", has_remedy=True)).remedy
        is None
    )


def test_a_feature_that_is_not_there_is_named() -> None:
    absent = {"name": "spede", "features": ["speed", "dist"]}
    error = error_of(failing("ValueError: None values not supported.", absent=absent))
    assert (
        error.remedy
        == "features$spede is NULL: the features are speed, dist. Did you mean features$speed?"
    )
    alone = {"name": "zzz", "features": "speed"}
    error = error_of(failing("None values not supported.", absent=alone))
    assert error.remedy == "features$zzz is NULL: the features are speed."
    assert error_of(failing("no luck", absent=absent)).remedy is None


def test_an_error_of_this_package_keeps_its_class_on_its_way_through_r() -> None:
    text = (
        "tfdistribute.errors.ModelError: model_fn uses Keras.\nUse another.\n\nRun py_last_error()"
    )
    error = error_of(failing(text))
    assert type(error) is ModelError
    assert (error.problem, error.remedy) == ("model_fn uses Keras.", "Use another.")


def test_a_function_without_a_name_is_an_r_function() -> None:
    function = as_callable({"call": lambda: {"error": "no luck"}})
    assert isinstance(function, Callback)
    assert str(error_of(function)) == "An R function failed: no luck"
