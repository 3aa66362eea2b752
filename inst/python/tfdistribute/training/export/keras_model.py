"""The verbs that make a Keras model of a trained model."""

import functools
import os
import tempfile
from collections.abc import Callable
from typing import Any

from tfdistribute import engine, storage
from tfdistribute.checkpoints.mirror import local_checkpoint
from tfdistribute.errors import ArgumentError
from tfdistribute.files import absolute_path, is_remote
from tfdistribute.models import Model, TrainedFeatures
from tfdistribute.training.model_directory import ModelDirectory, require_checkpoint
from tfdistribute.training.remote.lease import access_error


def as_keras_model(
    model: Model, checkpoint_path: str | None = None, *, verb: str = "as_keras_model"
) -> Any:
    """Return a trained model as a model of Keras, with outputs named as by ``predict()``.

    Args:
        checkpoint_path: Prefix of the checkpoint, or None, which means the newest one.

    Raises:
        ModelDirectoryError: if nothing was trained, or the directory holds another model.
        UnsupportedError: if Keras 3 is missing, or has no layers that do the same as the model.
    """
    model, known, read = read_trained(model, checkpoint_path, verb)
    return engine.keras.outside_graphs(model.as_keras_model, known, read)


def read_trained(
    model: Model, checkpoint_path: str | None, verb: str
) -> tuple[Model, TrainedFeatures, Callable[[str], Any]]:
    """Return the model as it was trained, the features of the training, and a reader of variables."""
    checkpoint = local_checkpoint(require_checkpoint(model.model_dir, checkpoint_path, verb))
    directory = ModelDirectory(model.model_dir)
    model = model.complete_from_signature(directory.structure)
    directory.check_owner(model.structure(), for_training=False)
    read = functools.partial(engine.tf.train.load_variable, checkpoint)
    codes = directory.codes.features
    return model, TrainedFeatures(directory.features, codes, directory.replacements), read


def export_keras_model(
    model: Model, path: str, checkpoint_path: str | None = None, overwrite: bool = False
) -> str:
    """Write the model of ``as_keras_model()`` to a ``.keras`` file, which Keras loads without this package.

    It raises the same errors, and ArgumentError if path does not end with ".keras", or exists.
    """
    if not path.endswith(".keras"):
        raise ArgumentError(
            f'`path` "{path}" does not end with ".keras".',
            "Keras recognises its files by that ending.",
            value=path,
        )
    path = absolute_path(path)
    if storage.exists(path) and not overwrite:
        raise ArgumentError(f'`path` "{path}" exists.', "Use `overwrite = TRUE`.", value=path)
    made = as_keras_model(model, checkpoint_path, verb="export_keras_model")
    storage.of(path).make_directory(os.path.dirname(path))
    if not is_remote(path):
        engine.keras.outside_graphs(made.save, path)
        return path
    with tempfile.TemporaryDirectory() as directory:
        written = os.path.join(directory, os.path.basename(path))
        engine.keras.outside_graphs(made.save, written)
        try:
            storage.copy(written, path)
        except OSError as error:
            raise access_error(path, "written", error, "path") from error
    return path
