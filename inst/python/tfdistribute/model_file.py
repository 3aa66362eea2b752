"""A trained model in one file: a ZIP archive with a description in JSON, a checkpoint and the files that they need.

The archive holds no pickles. Its first member, ``tfdistribute.json``, is a :class:`Manifest`, which lists all others.
Members are stored without compression under the paths that they get in a model directory, so a file cannot unpack to
more than its own size.
"""

import contextlib
import dataclasses
import json
import os
import re
import shutil
import stat
import struct
import tempfile
import zipfile
from collections.abc import Collection, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, cast

from tfdistribute import storage
from tfdistribute.checkpoints.contents import files_of, is_whole
from tfdistribute.checkpoints.newest import STATE, name_newest
from tfdistribute.descriptions import Description, read
from tfdistribute.errors import ArgumentError, ModelDirectoryError, ModelError
from tfdistribute.files import is_remote, open_regular, parse_json, umask

FORMAT = 1
MANIFEST = "tfdistribute.json"

# The member with the values of R that the description names as code.
FUNCTIONS = "functions.rds"
_CHECKPOINT = re.compile(r"[A-Za-z0-9._]+-\d+")
_PART = r"[A-Za-z0-9_][A-Za-z0-9._+-]*"
_NAME = re.compile(rf"{_PART}(/{_PART})*")

# What zipfile raises for archives that are damaged.
_BAD_ARCHIVE = (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, struct.error)

_LARGEST_MANIFEST = 1 << 28
_MOST_MEMBERS = 10_000
_COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class Manifest(Description):
    format: int
    model: str
    versions: dict[str, Any]
    checkpoint: str  # Such as "model.ckpt-200".
    description: dict[str, Any]
    files: dict[str, int]  # Sizes in bytes by the members' names.

    def values(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        pending: list[Any] = [self.description]
        for value in pending:
            if isinstance(value, dict):
                found.append(cast("dict[str, Any]", value))
                pending += found[-1].values()
            elif isinstance(value, list):
                pending += cast("list[Any]", value)
        return [node for node in found if node.get("type") == kind]


def write_model_file(
    path: str,
    *,
    model: str,
    versions: Mapping[str, Any],
    prefix: str,
    description: Mapping[str, Any],
    files: Mapping[str, str],
    overwrite: bool = False,
) -> None:
    """Write a model file; it appears under its name when it is complete.

    ``files`` are paths of other files and directories, by their names in the model directory. Raises
    ModelDirectoryError if the checkpoint was removed meanwhile, and ModelError for a file that archives cannot hold.
    """
    if storage.exists(path) and not overwrite:
        raise ArgumentError(f'`path` "{path}" exists.', "Use `overwrite = TRUE`.", value=path)
    # The index is removed first, and must be missed if a training has removed the checkpoint before it was listed.
    own = (file for file in (f"{prefix}.index", *files_of(prefix)) if not file.endswith(".meta"))
    members = {os.path.basename(file): file for file in own} | dict(_expanded(files))
    for name in members:
        if not _NAME.fullmatch(name):
            raise ModelError(
                f'`object` needs a file called "{name}", which a model file cannot hold.',
                "Rename it to ASCII letters, digits, and any of . _ + -.",
                value=name,
            )
    try:
        sizes = {name: os.path.getsize(file) for name, file in members.items()}
        manifest = Manifest(
            FORMAT, model, dict(versions), os.path.basename(prefix), dict(description), sizes
        )
        _write(path, manifest, members)
    except OSError as error:
        if not is_whole(prefix):
            raise ModelDirectoryError(
                f'The checkpoint "{prefix}" was removed while it was copied, as a training does that saves newer ones.',
                "Save the model again, or give run_config() a larger `keep_checkpoint_max`.",
                argument="model_dir",
                value=os.path.dirname(prefix),
            ) from error
        raise ArgumentError(
            f'`path` "{path}" cannot be written: {error.strerror}.', value=path
        ) from error


def read_model_file(
    path: str, model_dir: str, *, own: Collection[str] = (), trusted: bool = False
) -> Manifest:
    """Verify a model file, and restore its model directory, which appears when it is complete.

    ``own`` are files that every model directory may have. Raises ModelError if it is not a model file, is damaged or
    newer, or holds R functions and is not ``trusted``.
    """
    _check_free(model_dir)
    with _opened(path) as archive:
        manifest = _verified(archive, path, own)
        if manifest.values("code") and not trusted:
            raise untrusted(path, "R functions")
        try:
            _restore(archive, manifest, path, model_dir)
        except _BAD_ARCHIVE as error:
            raise _broken(path, "its content does not match its checksums") from error
        except OSError as error:
            raise ModelDirectoryError(
                f'`model_dir` "{model_dir}" cannot be written: {error.strerror}.',
                value=model_dir,
            ) from error
    return manifest


def untrusted(path: str, code: str) -> ModelError:
    return ModelError(
        f'`path` "{path}" holds code that runs when the model is used: {code}.',
        "If you trust whoever wrote the file, use load_estimator(path, trusted = TRUE).",
        argument="trusted",
        value="FALSE",
    )


def _expanded(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, path in files.items():
        if not os.path.isdir(path):
            yield name, path
        for file in sorted(Path(path).rglob("*")):
            if file.is_file():
                yield f"{name}/{file.relative_to(path).as_posix()}", str(file)


def _write(path: str, manifest: Manifest, members: Mapping[str, str]) -> None:
    text = json.dumps(dataclasses.asdict(manifest), ensure_ascii=False, indent=1)
    directory = None if is_remote(path) else os.path.dirname(path) or "."
    with tempfile.NamedTemporaryFile(dir=directory, delete=False) as file:
        try:
            # Members' dates are those of 1980, so that the same model gives the same file.
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr(zipfile.ZipInfo(MANIFEST), text.encode())
                for name, source in members.items():
                    info = zipfile.ZipInfo(name)
                    info.file_size = manifest.files[name]
                    with open_regular(source) as content, archive.open(info, "w") as member:
                        shutil.copyfileobj(content, member, _COPY_BYTES)
            if is_remote(path):
                storage.copy(file.name, path)
                os.unlink(file.name)
            else:
                os.chmod(file.name, 0o666 & ~umask())
                os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _check_free(model_dir: str) -> None:
    is_empty = storage.is_directory(model_dir) and not storage.of(model_dir).names(model_dir)
    if (storage.exists(model_dir) or os.path.islink(model_dir)) and not is_empty:
        raise ModelDirectoryError(
            f'`model_dir` "{model_dir}" exists and is not empty.',
            "Name a directory that does not exist, or NULL for a temporary one.",
            value=model_dir,
        )


@contextlib.contextmanager
def _opened(path: str) -> Generator[zipfile.ZipFile, None, None]:
    try:
        file = storage.of(path).open(path)
    except OSError as error:
        reason = error.strerror or "it is not a regular file"
        raise ArgumentError(f'`path` "{path}" cannot be read: {reason}.', value=path) from error
    with file:
        try:
            archive = zipfile.ZipFile(file)
        except _BAD_ARCHIVE as error:
            raise _broken(path, "it is not a ZIP archive, or was cut off") from error
        with archive:
            yield archive


def _broken(path: str, reason: str) -> ModelError:
    return ModelError(
        f'`path` "{path}" is not a whole model file: {reason}.',
        "Give a file that save_estimator() wrote, or save the model again.",
        value=path,
    )


def _verified(archive: zipfile.ZipFile, path: str, own: Collection[str]) -> Manifest:
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS:
        raise _broken(path, f"it has {len(members)} members")
    for member in members:
        _check_member(member, path)
    if sum(member.file_size for member in members) > storage.of(path).status(path).size:
        raise _broken(path, "its members overlap")
    manifest = _manifest(archive, path)
    actual = sorted((member.filename, member.file_size) for member in members)
    listed = sorted([*manifest.files.items(), (MANIFEST, archive.getinfo(MANIFEST).file_size)])
    if actual != listed:
        raise _broken(path, f"{MANIFEST} lists other members than it has")
    index = f"{manifest.checkpoint}.index"
    if not _CHECKPOINT.fullmatch(manifest.checkpoint) or index not in manifest.files:
        raise _broken(path, "it has no checkpoint")
    _check_needed(manifest, path, own)
    return manifest


def _check_needed(manifest: Manifest, path: str, own: Collection[str]) -> None:
    functions = [FUNCTIONS] if manifest.values("code") else []
    needed = {*own, *functions, *(str(node.get("name")) for node in manifest.values("file"))}
    checkpoint = re.compile(rf"{re.escape(manifest.checkpoint)}\.(index|data-\d{{5}}-of-\d{{5}})")
    for name in manifest.files:
        places = {name, *(str(each) for each in PurePosixPath(name).parents if each.name)}
        if not places & needed and not checkpoint.fullmatch(name):
            raise _broken(path, f'its description does not need "{name}"')


def _check_member(member: zipfile.ZipInfo, path: str) -> None:
    name = member.filename
    if not _NAME.fullmatch(name):
        raise _broken(
            path, f"{json.dumps(name[:80])} is not the name of a file in a model directory"
        )
    if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
        raise _broken(path, f'"{name}" is not a regular file')
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
        raise _broken(path, f'"{name}" is compressed or encrypted')


def _manifest(archive: zipfile.ZipFile, path: str) -> Manifest:
    try:
        if archive.getinfo(MANIFEST).file_size > _LARGEST_MANIFEST:
            raise _broken(path, f"{MANIFEST} is larger than {_LARGEST_MANIFEST} bytes")
        values = parse_json(archive.read(MANIFEST))
    except (KeyError, OSError, *_BAD_ARCHIVE) as error:
        raise _broken(path, f"{MANIFEST} is missing or is not JSON") from error
    fields = cast("dict[str, Any]", values) if isinstance(values, dict) else {}
    version = fields.get("format")
    if isinstance(version, int) and version > FORMAT:
        writer = fields.get("versions")
        known = cast("dict[str, Any]", writer) if isinstance(writer, dict) else {}
        name = known.get("tfdistribute")
        raise ModelError(
            f'`path` "{path}" was written by tfdistribute {str(name)[:20]} in format {version}, and this version reads '
            f"format {FORMAT}.",
            "Update tfdistribute.",
            value=path,
        )
    try:
        return read(Manifest, fields)
    except ArgumentError as error:
        raise _broken(path, f"{MANIFEST} does not describe a model ({error.problem})") from error


def _restore(archive: zipfile.ZipFile, manifest: Manifest, path: str, model_dir: str) -> None:
    parent = None
    if not is_remote(model_dir):
        parent = os.path.dirname(os.path.abspath(model_dir))
        os.makedirs(parent, exist_ok=True)
    made = tempfile.mkdtemp(prefix=".tfdistribute-", dir=parent)
    try:
        for name in manifest.files:
            target = os.path.join(made, *name.split("/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with archive.open(name) as member, open(target, "xb") as file:
                shutil.copyfileobj(member, file, _COPY_BYTES)
        if not is_whole(os.path.join(made, manifest.checkpoint)):
            raise _broken(path, "its checkpoint does not hold what was written")
        name_newest(made, manifest.checkpoint)
        if is_remote(model_dir):
            storage.copy_directory(made, model_dir, last=(STATE,))
            shutil.rmtree(made)
        else:
            os.chmod(made, 0o777 & ~umask())
            os.rename(made, model_dir)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
