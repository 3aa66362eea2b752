"""User functions that return a dataset."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tfdistribute.callbacks import Callback
from tfdistribute.errors import CallbackError, InputError
from tfdistribute.inputs import DatasetFunction

CONTEXT: Any = SimpleNamespace(num_input_pipelines=2, input_pipeline_id=1, num_replicas_in_sync=2)


def from_r(function: Callable[..., Any], *formals: str) -> Callback:
    return Callback(lambda *args, **kwargs: {"value": function(*args, **kwargs)}, formals)


@pytest.fixture
def dataset(tensorflow: Any) -> Any:
    return tensorflow.data.Dataset.range(10).batch(5)


def test_the_dataset_is_not_changed(dataset: Any):
    assert DatasetFunction(lambda: dataset).input_fn("train", 1)() is dataset


@pytest.mark.parametrize("formals", [("input_context",), ("...",)])
def test_the_context_is_given_to_functions_that_take_it(dataset: Any, formals: tuple[str, ...]):
    given: list[Any] = []

    def function(input_context: Any) -> Any:
        given.append(input_context)
        return dataset

    input_fn = DatasetFunction(from_r(function, *formals)).input_fn("train")
    input_fn(CONTEXT)
    input_fn()
    assert given == [CONTEXT, None]


def test_functions_without_arguments_are_called_without(dataset: Any):
    assert DatasetFunction(from_r(lambda: dataset)).input_fn("train")(CONTEXT) is dataset


def test_tensors_are_accepted_without_a_strategy(tensorflow: Any):
    tensors = ({"x": tensorflow.constant([1.0])}, tensorflow.constant([2.0]))
    assert DatasetFunction(lambda: tensors).input_fn("train")() is tensors


def test_tensors_are_refused_under_a_strategy(tensorflow: Any):
    """TensorFlow would fail later, with a message about iterators."""
    tensors = ({"x": tensorflow.constant([1.0])}, tensorflow.constant([2.0]))
    with pytest.raises(InputError) as caught:
        DatasetFunction(lambda: tensors).input_fn("train")(CONTEXT)
    assert (
        caught.value.problem
        == "The input function returned tensors instead of a tf.data.Dataset, and a distribution "
        "strategy cannot divide those."
    )
    assert "Dataset" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("result", "what"),
    [
        (None, "nothing"),
        ([1, 2], "an object of class builtins.list"),
        ({}, "an object of class builtins.dict"),
    ],
)
@pytest.mark.parametrize("input_context", [None, CONTEXT])
def test_anything_else_is_refused_by_what_it_is(
    tensorflow: ModuleType, result: Any, what: str, input_context: Any
):
    with pytest.raises(InputError) as caught:
        DatasetFunction(lambda: result).input_fn("train")(input_context)
    assert (
        caught.value.problem == f"The input function returned {what} instead of a tf.data.Dataset."
    )


def test_an_error_in_the_function_is_an_error_of_the_callback(tensorflow: ModuleType):
    failing = Callback(lambda: {"error": "object 'x' not found"}, ())
    with pytest.raises(CallbackError, match="object 'x' not found"):
        DatasetFunction(failing).input_fn("train")()


def test_nothing_is_known_in_advance():
    facts = DatasetFunction(lambda: None).facts()
    assert facts.features is None
    assert facts.global_batch_size is None
