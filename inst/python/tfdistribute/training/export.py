"""Export a trained model for serving."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from tfdistribute.errors import ModelDirectoryError
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.failures import explained
from tfdistribute.training.preparation import prepare_use


def export_savedmodel(
    model: Model,
    settings: RunSettings,
    export_dir_base: str,
    *,
    serving_input_receiver_fn: Callable[[], Any] | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
    overwrite: bool = True,
    versioned: bool = False,
) -> str:
    """Write a SavedModel.

    Args:
        model: A trained model.
        settings: The run configuration.
        export_dir_base: Directory of the export, or of its versions.
        serving_input_receiver_fn: Makes the serving input; None for serialised tf.train.Example of the
            model's feature columns.
        assets_extra: Files to copy beside the model: path in the export to source path.
        as_text: Write the graph as text.
        checkpoint_path: A checkpoint's prefix; None for the newest.
        overwrite: Replace an export that stands there already.
        versioned: Write into a new directory below export_dir_base, named by the time in seconds.

    Returns:
        The directory that holds the SavedModel.

    Raises:
        ModelDirectoryError: the model was not trained, or the export stands there already.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#export_saved_model
    """
    export_dir_base = os.path.abspath(os.path.expanduser(export_dir_base))
    if not versioned and not overwrite and os.path.exists(export_dir_base):
        raise ModelDirectoryError(
            f'`export_dir_base` "{export_dir_base}" exists already.',
            "Give another directory, `overwrite = TRUE`, or `versioned = TRUE`.",
            argument="export_dir_base",
            value=export_dir_base,
        )
    prepared, checkpoint = prepare_use("export", model, settings, None, checkpoint_path)
    receiver = serving_input_receiver_fn or prepared.model.serving_input_receiver_fn()
    os.makedirs(export_dir_base if versioned else os.path.dirname(export_dir_base), exist_ok=True)
    # Beside the target, so that the finished export can be moved there whole.
    workplace = export_dir_base if versioned else tempfile.mkdtemp(prefix=".export-", dir=os.path.dirname(export_dir_base))
    try:
        with explained("export_savedmodel"):
            written = prepared.estimator.export_saved_model(
                workplace,
                receiver,
                assets_extra=dict(assets_extra) if assets_extra else None,
                as_text=as_text,
                checkpoint_path=checkpoint,
            )
        written = written.decode() if isinstance(written, bytes) else str(written)
        if versioned:
            return written
        shutil.rmtree(export_dir_base, ignore_errors=True)
        os.replace(written, export_dir_base)
    finally:
        if not versioned:
            shutil.rmtree(workplace, ignore_errors=True)
    return export_dir_base
