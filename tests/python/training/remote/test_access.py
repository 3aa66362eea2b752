"""Errors about access to remote storage."""

from __future__ import annotations

import pytest

from tfdistribute.training.model_directory import directory_error

DIRECTORY = "gs://bucket/model"
ANSWER = "Error executing an HTTP request: HTTP response code {} with body '{}'\n\t when reading"


@pytest.mark.parametrize(
    ("code", "body", "remedy"),
    [
        (401, "Invalid Credentials", "GOOGLE_APPLICATION_CREDENTIALS"),
        (403, "denied", "GOOGLE_APPLICATION_CREDENTIALS"),
        (404, "The specified bucket does not exist.", "Create the bucket"),
    ],
)
def test_access_that_is_lost_during_a_training_is_told(code: int, body: str, remedy: str) -> None:
    error = directory_error(ANSWER.format(code, body), DIRECTORY)
    assert error is not None
    assert f'`model_dir` "{DIRECTORY}" cannot be used any more' in error.problem
    assert body.rstrip(".") in error.problem
    assert remedy in str(error.remedy)


def test_an_answer_about_one_object_is_no_loss_of_access() -> None:
    assert directory_error(ANSWER.format(404, "No such object"), DIRECTORY) is None
    assert directory_error("Loss is NaN", DIRECTORY) is None
