"""Access to a model directory on remote storage, tried before a training starts."""

from __future__ import annotations

import errno
import os
import re
import secrets

from tfdistribute import storage
from tfdistribute.errors import ModelDirectoryError

_NO_BUCKET = re.compile(r"bucket.* does not exist|NoSuchBucket", re.IGNORECASE)
# How TensorFlow begins its errors about an answer of a store.
_ANSWER = re.compile(r"HTTP response code (\d+)[^\n]*")
_REFUSALS = {"401": errno.EACCES, "403": errno.EACCES, "404": errno.ENOENT}

_CREDENTIALS = {
    "gs": "Let GOOGLE_APPLICATION_CREDENTIALS name the key file of an account with the role Storage Object Admin, or "
    "run `gcloud auth application-default login`.",
    "s3": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of an account that may read, write, list and delete there.",
}


def check_access(model_dir: str) -> None:
    """Write, list and remove a file in a remote model directory; ModelDirectoryError if access is refused."""
    place = storage.of(model_dir)
    path = os.path.join(model_dir, f".access-{secrets.token_hex(8)}")
    try:
        place.make_directory(model_dir)
        place.write(path, b"-")
        place.names(model_dir)
        place.remove(path)
    except OSError as error:
        raise access_error(model_dir, "written", error) from error


def read_error(model_dir: str) -> ModelDirectoryError | None:
    """Explain why nothing can be read in a model directory; None if nothing was written there yet."""
    try:
        storage.of(model_dir).status(os.path.join(model_dir, "checkpoint"))
    except FileNotFoundError as error:
        return access_error(model_dir, "read", error) if _NO_BUCKET.search(str(error)) else None
    except OSError as error:
        return access_error(model_dir, "read", error)
    return None


def lost_access(text: str, model_dir: str) -> ModelDirectoryError | None:
    """Explain TensorFlow's error about an access that the storage refused during a verb; None for any other."""
    answer = _ANSWER.search(text)
    code = None if answer is None else _REFUSALS.get(answer.group(1))
    if answer is None or code is None or (code == errno.ENOENT and not _NO_BUCKET.search(text)):
        return None
    return access_error(model_dir, "used any more", OSError(code, answer.group(0)))


def access_error(
    model_dir: str, purpose: str, error: OSError, argument: str = "model_dir"
) -> ModelDirectoryError:
    if _NO_BUCKET.search(str(error)):
        remedy = "Create the bucket, or correct its name."
    elif isinstance(error, PermissionError):
        remedy = _CREDENTIALS.get(storage.scheme_of(model_dir), "Ask for access to it.")
    else:
        remedy = "Check the path and the connection to its storage, and try again."
    return ModelDirectoryError(
        f'`{argument}` "{model_dir}" cannot be {purpose}: {error.strerror}.',
        remedy,
        argument=argument,
        value=model_dir,
    )
