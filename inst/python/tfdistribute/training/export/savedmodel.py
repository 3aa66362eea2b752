"""The verb that exports a trained model for serving."""

import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tfdistribute import storage
from tfdistribute.descriptions import check_choice
from tfdistribute.errors import ArgumentError, ModelDirectoryError, UnsupportedError
from tfdistribute.files import absolute_path, is_remote
from tfdistribute.inputs import Input
from tfdistribute.models import (
    FeatureColumn,
    Model,
    examples_receiver,
    filling_receiver,
    tensors_receiver,
)
from tfdistribute.run_config import RunSettings
from tfdistribute.training.export import onnx
from tfdistribute.training.preparation import Prepared, prepare_use
from tfdistribute.training.remote.lease import access_error
from tfdistribute.training.tensorflow_errors import translate_errors

Request = Input | Sequence[FeatureColumn] | Callable[[], Any]

# Files of an export of each format, by which an earlier one is recognized.
FORMATS = {"savedmodel": ("saved_model.pb", "saved_model.pbtxt"), "onnx": (onnx.FILE,)}


def export_savedmodel(
    model: Model,
    settings: RunSettings,
    export_dir_base: str,
    *,
    request: Request | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
    overwrite: bool = True,
    versioned: bool = False,
    format: str = "savedmodel",  # noqa: A002 - Keras's word
) -> str:
    """Write a SavedModel, on this machine atomically.

    Args:
        export_dir_base: Directory of the export, or of its versions. On remote storage the export is not atomic, but
            its last file is the file by which TensorFlow recognizes it.
        request: Content of a request to the exported model. An input: a tensor for each of its features. Its data is
            not read. Feature columns: serialized ``tf.train.Example`` messages with their features. A function: the
            ``ServingInputReceiver`` that it returns. None: the default of the model's kind, which is examples for
            models with feature columns.
        assets_extra: Files to copy beside the model: path below ``assets.extra`` to source path.
        checkpoint_path: Prefix of the checkpoint, or None, which means the newest one.
        versioned: Write into a new directory below export_dir_base, named by the time in seconds.
        format: "savedmodel", or "onnx" for a file ``model.onnx`` that reads one tensor per feature and returns the
            outputs of ``as_keras_model()``.

    Returns:
        The directory that holds the export.

    Raises:
        ArgumentError: if a file of assets_extra does not exist, or would be copied elsewhere.
        BackendError: if the packages of a format are not installed.
        InputError: if the model reads a feature that is not in the request.
        ModelDirectoryError: if the model was not trained, or the directory cannot be used.
        ModelError: if two columns read one feature in ways that one example cannot serve.
        UnsupportedError: if the content of a request is not known, or ONNX has no operator for a part of the model.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#export_saved_model
    """
    target = absolute_path(export_dir_base).rstrip("/")
    _check_target(target, overwrite, versioned)
    assets = _read_assets(assets_extra or {})
    check_choice("format", format, FORMATS)
    if format == "savedmodel":
        prepared, checkpoint = prepare_use(
            "export_savedmodel", model, settings, None, checkpoint_path
        )
        receiver = _receiver(prepared, request)

        def write(staging: str) -> str:
            written = prepared.estimator.export_saved_model(
                staging,
                receiver,
                assets_extra=assets or None,
                as_text=as_text,
                checkpoint_path=checkpoint,
            )
            return os.fsdecode(written)

    else:
        _check_alone(request=request, assets_extra=assets, as_text=as_text)
        write = functools.partial(onnx.write_onnx, model, checkpoint_path)
    parent = target if versioned else os.path.dirname(target)
    stage = tempfile.TemporaryDirectory() if is_remote(target) else _staging_directory(parent)
    with stage as staging:
        with translate_errors("export_savedmodel"):
            written = write(staging)
        if versioned:
            target = _free_version(target, int(os.path.basename(written)))
        if is_remote(target):
            return _upload(written, target)
        if versioned:
            os.rename(written, target)
        else:
            _install(written, target, staging)
        return target


def _check_alone(**values: Any) -> None:
    given = [name for name, value in values.items() if value]
    if given:
        name = "input" if given[0] == "request" else given[0]
        raise ArgumentError(
            f'`{name}` must not be given with format = "onnx".',
            "Leave it out: a request to the model has one tensor per feature.",
        )


def _receiver(prepared: Prepared, request: Request | None) -> Callable[[], Any]:
    features = prepared.directory.features
    if request is None:
        receiver = prepared.model.serving_input_receiver_fn(features)
    elif isinstance(request, Input):
        receiver = _tensors_of(prepared, request)
    elif isinstance(request, Sequence):
        receiver = examples_receiver(request, features)
    else:
        receiver = request
    return filling_receiver(receiver, prepared.directory.replacements)


def _tensors_of(prepared: Prepared, source: Input) -> Callable[[], Any]:
    model = prepared.model
    facts = model.reading(source).facts()
    if facts.features is None:
        raise UnsupportedError(
            "`input` is a function, so the features of a request are not known.",
            "Give an input_fn() with the features, or `serving_input_receiver_fn`.",
        )
    model.check(prepared.codes.applied(facts), needs_label=False)
    read = {each.feature for each in model.required_features()}
    read.discard(getattr(model, "weight_column", None) or "")
    features = {name: each for name, each in facts.features.items() if name in read or not read}
    return tensors_receiver(features)


def _check_target(target: str, overwrite: bool, versioned: bool) -> None:
    is_directory = storage.is_directory(target)
    if not _exists(target) or (versioned and is_directory):
        return
    if versioned or not is_directory:
        raise _unusable(target, "is a file.", "Give a directory.")
    entries = storage.of(target).names(target)
    if not overwrite:
        raise _unusable(
            target,
            "exists already.",
            "Give another directory, `overwrite = TRUE`, or `versioned = TRUE`.",
        )
    files = [name for names in FORMATS.values() for name in names]
    if entries and not any(name in entries for name in files):
        raise _unusable(
            target,
            f'holds other files than an export ("{sorted(entries)[0]}"), which are not replaced.',
            "Give a new directory, or `versioned = TRUE` to write into one below it.",
        )


def _unusable(target: str, why: str, remedy: str) -> ModelDirectoryError:
    return ModelDirectoryError(f'`export_dir_base` "{target}" {why}', remedy, value=target)


def _read_assets(assets: Mapping[str, str]) -> dict[str, str]:
    checked: dict[str, str] = {}
    for place, path in assets.items():
        source = os.path.expanduser(path)
        if not os.path.isfile(source):
            problem = f'`assets_extra` names "{path}", which is not a file.'
            remedy = "Give paths of files, named by their place in the export."
            raise ArgumentError(problem, remedy, argument="assets_extra", value=path)
        if os.path.isabs(place) or os.path.normpath(place).startswith(".."):
            problem = f'`assets_extra` puts a file at "{place}", outside of the export.'
            remedy = "Name files by paths below the export's directory assets.extra."
            raise ArgumentError(problem, remedy, argument="assets_extra", value=place)
        checked[place] = os.path.abspath(source)
    return checked


@contextlib.contextmanager
def _staging_directory(parent: str) -> Iterator[str]:
    """Make a directory beside the target; if the export fails, the parents that were created are removed too."""
    created = _first_missing(parent)
    try:
        os.makedirs(parent, exist_ok=True)
        staging = tempfile.mkdtemp(prefix=".export-", dir=parent)
    except OSError as error:
        raise _unusable(
            parent,
            f"cannot be written: {error.strerror}.",
            "Choose a directory that you may write to.",
        ) from error
    try:
        yield staging
    except BaseException:
        shutil.rmtree(created or staging, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _first_missing(path: str) -> str | None:
    missing = None
    while not os.path.lexists(path):
        missing, path = path, os.path.dirname(path)
    return missing


def _free_version(base: str, version: int) -> str:
    # Two exports within one second must not share a version.
    while _exists(os.path.join(base, str(version))):
        version += 1
    return os.path.join(base, str(version))


def _exists(path: str) -> bool:
    if is_remote(path):
        return storage.exists(path)
    return os.path.lexists(path)


def _upload(written: str, target: str) -> str:
    try:
        storage.of(target).remove_directory(target)
        storage.copy_directory(
            written, target, last=[name for names in FORMATS.values() for name in names]
        )
    except OSError as error:
        raise access_error(target, "written", error, "export_dir_base") from error
    return target


def _install(written: str, target: str, staging: str) -> None:
    before = os.path.join(staging, "before")
    replaced = os.path.isdir(target)
    if replaced:
        os.rename(target, before)
    try:
        os.rename(written, target)
    except OSError:
        if replaced:
            os.rename(before, target)
        raise
