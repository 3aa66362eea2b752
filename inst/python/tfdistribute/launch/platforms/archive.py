"""Archive of what the tasks of a job read: the description of the job, and data in memory."""

import gzip
import hashlib
import io
import os
import tarfile
from pathlib import Path, PurePosixPath

from tfdistribute.errors import ArgumentError, ClusterError

FILE = "job.tar.gz"

# Files of a private directory that are not for tasks.
_OWN = ("lock", FILE)


def pack(directory: str) -> bytes:
    """Pack the files of a private directory. The same files give the same bytes."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for path in sorted(Path(directory).rglob("*")):
            name = path.relative_to(directory).as_posix()
            if path.is_file() and name not in _OWN:
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = path.stat().st_size, 0o600
                with path.open("rb") as file:
                    archive.addfile(entry, file)
    return packed.getvalue()


def digest_of(archive: bytes) -> str:
    return hashlib.sha256(archive).hexdigest()


def unpack(content: bytes, digest: str, directory: str) -> None:
    """Unpack an archive; ArgumentError for another digest, ClusterError for paths that ``pack`` does not write."""
    own_digest = digest_of(content)
    if own_digest != digest:
        raise ArgumentError(
            f"The archive of the job is not what was written for it: its digest is {own_digest}.",
            "Find out what changes files in the staging directory, and submit the job again.",
            argument="digest",
            value=digest,
        )
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        for entry in archive:
            name = PurePosixPath(entry.name)
            if not entry.isfile() or name.is_absolute() or ".." in name.parts:
                raise ClusterError(
                    f"The archive of the job holds {entry.name!r}, which is not a file below its directory.",
                    argument="archive",
                    value=entry.name,
                )
            path = os.path.join(directory, *name.parts)
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            source = archive.extractfile(entry)
            assert source is not None
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(source.read())
