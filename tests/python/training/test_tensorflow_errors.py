"""Translation of TensorFlow's exceptions."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fake_gpus import fake_nvidia_smi

from tfdistribute.errors import InputError, ModelDirectoryError, OutOfMemoryError, TrainingError
from tfdistribute.training.tensorflow_errors import translate, translate_errors

IN_A_SESSION = """Graph execution error:

Detected at node 'linear/embedding_lookup' defined at (most recent call last):
  File "bridge/__init__.py", line 30, in call
Node: 'linear/embedding_lookup'
indices[0] = 4 is not in [0, 2)
\t [[{{node linear/embedding_lookup}}]]
"""
WITH_ROOTS = """2 root error(s) found.
  (0) INVALID_ARGUMENT:  Labels must be <= n_classes - 1
  (1) CANCELLED:  something else
"""


def test_a_failure_in_a_session_is_shown_without_the_traceback_of_operations():
    assert "indices[0] = 4 is not in [0, 2)" in translate(ValueError(IN_A_SESSION), "train").problem
    assert "bridge" not in translate(ValueError(IN_A_SESSION), "train").problem


@pytest.mark.parametrize(
    "node",
    [
        "linear/linear_model/k/weighted_sum/embedding_lookup_sparse/embedding_lookup",
        "steps/dnn/input_from_feature_columns/input_layer/k_embedding/k_embedding_weights/lookup",
    ],
)
def test_a_number_that_is_no_category_is_named_with_its_column(node: str):
    text = f"indices[3,0] = 7 is not in [0, 3)\n\t [[{{{{node {node}}}}}]]"
    error = translate(ValueError(text), "train")
    assert isinstance(error, InputError)
    assert error.problem == "The column `k` has 7, but its categories are 0 to 2."
    assert "`default_value`" in str(error.remedy)


def test_of_several_root_errors_the_first_is_shown():
    problem = translate(ValueError(WITH_ROOTS), "train").problem
    assert "Labels must be <= n_classes - 1" in problem
    assert "CANCELLED" not in problem


def test_another_models_checkpoint_has_its_own_words():
    other = translate(ValueError("Key dense/kernel not found in checkpoint"), "evaluate")
    assert isinstance(other, ModelDirectoryError)


def test_an_error_of_this_package_is_found_inside_tensorflows_error():
    cause = InputError("no such row")
    with pytest.raises(InputError) as caught, translate_errors("train"):
        raise RuntimeError("wrapped") from cause
    assert caught.value is cause


def test_the_name_of_a_task_does_not_hide_what_tensorflow_says():
    text = "From /job:chief/replica:0/task:0:\nEdge Add:0 is missing\n\t [[{{node Add}}]]"
    assert translate(ValueError(text), "train").problem == (
        "train() stopped: ValueError: Edge Add:0 is missing [[{{node Add}}]]"
    )


def test_everything_else_names_the_verb():
    error = translate(ValueError("odd"), "predict")
    assert isinstance(error, TrainingError)
    assert error.problem == "predict() stopped: ValueError: odd"


def oom(device: str) -> str:
    return f"OOM when allocating tensor with shape[9,9] and type float on /job:localhost/{device} by allocator x"


# TensorFlow begins with the traceback of an operation that is not in a function of R.
TRACEBACK = "Graph execution error:\n\nDetected at node 'ones' defined at (most recent call last):\n<stack>\n"


@pytest.mark.parametrize("before", ["", f"{TRACEBACK}Node: 'ones'\n", f"{TRACEBACK}\n(1) "])
def test_a_gpu_without_memory_is_named_with_the_programs_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
):
    fake_nvidia_smi(tmp_path, monkeypatch, programs="4711, 9000, /usr/bin/python3\n")
    error = translate(ValueError(before + oom("replica:0/task:0/device:GPU:1")), "train")
    assert isinstance(error, OutOfMemoryError)
    assert error.problem.startswith("GPU:1 has run out of memory. TensorFlow says: OOM when")
    for words in ("`batch_size`", "micro_batches", "`memory_limit_mb`"):
        assert words in str(error.remedy)
    assert str(error.remedy).endswith("python3 with 9000 MB (process 4711).")


def test_programs_on_gpus_are_not_to_blame_for_the_memory_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked = fake_nvidia_smi(tmp_path, monkeypatch, programs="4711, 9000, /usr/bin/python3\n")
    error = translate(ValueError(oom("device:CPU:0")), "train")
    assert isinstance(error, OutOfMemoryError)
    assert "memory_limit_mb" not in str(error.remedy)
    assert not asked.exists()


def test_a_device_that_tensorflow_does_not_name_may_be_a_gpu():
    error = translate(ValueError("RESOURCE_EXHAUSTED: Out of memory while trying to"), "train")
    assert isinstance(error, OutOfMemoryError)
    assert error.problem.startswith("A device has run out of memory.")


def test_other_exhausted_resources_are_not_memory():
    error = translate(ValueError("RESOURCE_EXHAUSTED: Received message larger than max"), "train")
    assert not isinstance(error, OutOfMemoryError)
