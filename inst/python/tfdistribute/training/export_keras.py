"""Trained Keras models as Keras's own files."""

from __future__ import annotations

import functools
import os
import tempfile

from tfdistribute import engine, storage
from tfdistribute.errors import ArgumentError, UnsupportedError
from tfdistribute.files import absolute_path, is_remote
from tfdistribute.models import KerasModel, Model
from tfdistribute.training.model_directory import require_checkpoint
from tfdistribute.training.remote.access import access_error


def export_keras_model(
    model: Model, path: str, checkpoint_path: str | None = None, overwrite: bool = False
) -> str:
    """Write a trained Keras model to a ``.keras`` file, which Keras loads without this package.

    Args:
        model: A model of kind "keras", of Keras 2 or Keras 3.
        path: The file; its name ends with ".keras".
        checkpoint_path: Prefix of a checkpoint; None for the newest.
        overwrite: Whether an existing file is replaced.

    Returns:
        The path.

    Raises:
        ArgumentError: path does not end with ".keras", or exists.
        ModelDirectoryError: nothing was trained.
        UnsupportedError: it is not a Keras model.
    """
    if not isinstance(model, KerasModel):
        raise UnsupportedError(
            f'A model of kind "{model.kind}" cannot be written as a Keras model.',
            "Use export_savedmodel().",
            argument="object",
            value=model.kind,
        )
    if not path.endswith(".keras"):
        raise ArgumentError(
            f'`path` "{path}" does not end with ".keras".',
            "Keras recognises its files by that ending.",
            argument="path",
            value=path,
        )
    path = absolute_path(path)
    if storage.exists(path) and not overwrite:
        raise ArgumentError(
            f'`path` "{path}" exists.', "Use `overwrite = TRUE`.", argument="path", value=path
        )
    checkpoint = require_checkpoint(model.model_dir, checkpoint_path, "export_keras_model")
    read = functools.partial(engine.tf.train.load_variable, checkpoint)
    storage.of(path).make_directory(os.path.dirname(path))
    if not is_remote(path):
        model.save_trained(read, path)
        return path
    with tempfile.TemporaryDirectory() as directory:
        written = os.path.join(directory, os.path.basename(path))
        model.save_trained(read, written)
        try:
            storage.copy(written, path)
        except OSError as error:
            raise access_error(path, "written", error, "path") from error
    return path
