"""Trained models in one file, for R. TensorFlow is not started."""

import os
from collections.abc import Mapping
from typing import Any

from tfdistribute import storage, versions
from tfdistribute.bridge.code_fields import code_in, files_in
from tfdistribute.checkpoints.mirror import local_checkpoint, local_file
from tfdistribute.descriptions import check_directory
from tfdistribute.errors import ModelError
from tfdistribute.model_file import read_model_file, untrusted, write_model_file
from tfdistribute.training.model_directory import OWN_FILES, require_checkpoint
from tfdistribute.training.remote.lease import access_error
from tfdistribute.training.specs import read_estimator


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
    """Write a trained model to one file; ``files`` are paths by their names in a model directory."""
    prefix = require_checkpoint(model_dir, checkpoint_path, "save_estimator")
    for file in files.values():
        if not storage.exists(file):
            raise ModelError(
                f'`object` needs the file "{file}", which does not exist.',
                "Put it back there before you save the model.",
                value=file,
            )
    own = {name: os.path.join(model_dir, name) for name in OWN_FILES}
    for file in own.values():
        storage.check_own(file)
    found = {**{name: file for name, file in own.items() if storage.is_file(file)}, **files}
    write_model_file(
        path,
        model=model,
        versions={**writer, "tensorflow": versions.tensorflow(), "packages": versions.locked()},
        prefix=local_checkpoint(prefix),
        description=description,
        files={name: local_file(file) for name, file in found.items()},
        overwrite=overwrite,
    )


def load_model(path: str, model_dir: str, trusted: bool) -> dict[str, Any]:
    check_directory("model_dir", model_dir)
    manifest = read_model_file(path, model_dir, own=OWN_FILES, trusted=trusted)
    return {
        "description": manifest.description,
        "files": list(manifest.files),
        "versions": manifest.versions,
    }


def check_model(
    estimator: Mapping[str, Any], path: str, files: tuple[str, ...], trusted: bool
) -> None:
    """Check the description in a model file: ArgumentError if it does not describe a model.

    ModelError if it reads a file that is not a member, or holds code and is not trusted.
    """
    model, settings = read_estimator(estimator)
    for field, named in files_in(model):
        name = named.removeprefix(f"{estimator['model_dir']}/")
        if not any(f"{each}/".startswith(f"{name}/") for each in files):
            raise ModelError(
                f'`path` "{path}" does not hold the file that its model needs as `{field}`: "{named}".',
                "Give a file that save_estimator() wrote.",
                value=path,
            )
    code = [*code_in(model), *(f"config${each}" for each in code_in(settings))]
    if code and not trusted:
        raise untrusted(path, ", ".join(f"`{each}`" for each in code))


def copy_file(path: str, to: str) -> None:
    try:
        storage.of(to).make_directory(os.path.dirname(to))
        storage.copy(path, to)
    except OSError as error:
        raise access_error(os.path.dirname(to), "written", error) from error
