"""Trained models in one file, for R. TensorFlow is not started."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Any

from tfdistribute import history_file, storage, versions
from tfdistribute.bridge.estimators import read_estimator
from tfdistribute.checkpoints.contents import files_of
from tfdistribute.files import is_remote
from tfdistribute.model_file import read_model_file, write_model_file
from tfdistribute.training.model_directory import SIGNATURE, require_checkpoint

# Files of a model directory that a copy of the model needs: what the model is, what it was trained on, and its history.
_OWN_FILES = (SIGNATURE, history_file.LOSSES, history_file.EVALUATIONS)


def save_model(
    model_dir: str,
    path: str,
    model: str,
    description: dict[str, Any],
    files: dict[str, str],
    writer: dict[str, str],
    checkpoint_path: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write a trained model to one file.

    Args:
        model_dir: Directory of the trained model.
        path: The file.
        model: Kind of the model.
        description: R's description of the model, as plain values.
        files: Paths of files that the description names, by their names in a model directory.
        writer: Versions of R and of the R package.
        checkpoint_path: Prefix of a checkpoint; None for the newest.
        overwrite: Whether an existing file is replaced.
    """
    prefix = require_checkpoint(model_dir, checkpoint_path, "save_model")
    own = {name: os.path.join(model_dir, name) for name in _OWN_FILES}
    found = {**{name: file for name, file in own.items() if storage.is_file(file)}, **files}
    with tempfile.TemporaryDirectory() as directory:
        write_model_file(
            path,
            model=model,
            versions={**writer, "tensorflow": versions.tensorflow()},
            prefix=_local_checkpoint(prefix, directory),
            description=description,
            files={name: _local_file(file, directory) for name, file in found.items()},
            overwrite=overwrite,
        )


def _local_checkpoint(prefix: str, directory: str) -> str:
    """Return the prefix of a checkpoint on this machine: of a copy in the directory if it is remote."""
    if not is_remote(prefix):
        return prefix
    for file in files_of(prefix):
        _local_file(file, directory)
    return os.path.join(directory, os.path.basename(prefix))


def _local_file(path: str, directory: str) -> str:
    if not is_remote(path):
        return path
    copied = os.path.join(directory, os.path.basename(path))
    storage.copy(path, copied)
    return copied


def load_model(path: str, model_dir: str, trusted: bool) -> dict[str, Any]:
    """Restore a model directory from a model file.

    Returns:
        The ``description``, the names of the ``files``, and the ``versions`` of the programs that wrote the file.
    """
    manifest = read_model_file(path, model_dir, trusted=trusted)
    return {
        "description": manifest.description,
        "files": list(manifest.files),
        "versions": manifest.versions,
    }


def check_model(estimator: Mapping[str, Any]) -> None:
    """Check that the fields of an estimator describe a model; raises ArgumentError if not."""
    read_estimator(estimator)
