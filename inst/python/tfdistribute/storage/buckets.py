"""Buckets and other remote storage through pyarrow's file systems, and containers of Azure through its own client.

Credentials are read from the environment and the files in which the tools of each provider look for them. No error
contains them: addresses in errors lose their queries, and the errors of pyarrow are not chained.
"""

import contextlib
import datetime as dt
import errno
import functools
import importlib
import io
import os
import re
import shutil
import site
import sys
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from tfdistribute.errors import BackendError

# The file system of pyarrow for Azure ends the process when a connection breaks (an exception of C++ is not caught).
OF_AZURE = ("az", "abfs", "abfss")
_PACKAGES_OF_AZURE = "azure-storage-blob azure-identity"
_BUCKETS = ("s3", "gs", *OF_AZURE)
# Their files have the paths in their addresses.
_BY_PATH = ("file", "hdfs", "viewfs")
_VARIABLES = ("AWS_", "S3_", "AZURE_", "GOOGLE_", "STORAGE_EMULATOR_HOST")
_BUFFER_BYTES, _READ_BYTES, _RETRY_S = 1 << 20, 1 << 24, 30

_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|(bucket|container) does not exist", re.IGNORECASE)
_DENIED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|EXPIRED_TOKEN|Authoriz|Authentic|permission|credential"
    r"|HTTP status code 40[13]|\b40[13]\b",
    re.IGNORECASE,
)
# How Google's answers contain their reason.
_MESSAGE = re.compile(r'"message": *"((?:[^"\\]|\\.)*)"')
_QUERY = re.compile(r"\?[^\s'\"]*")


def arrow_module(name: str) -> Any:
    if sys.flags.no_site and "pyarrow" not in sys.modules:
        # The supervisor of a job starts without packages.
        site.main()
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BackendError(
            f"pyarrow cannot be imported by {sys.executable}: {error}.",
            'Run install_tfdistribute() in R, or `pip install "pyarrow<21"`.',
        ) from error


@dataclass(frozen=True)
class Status:
    """Facts about a file on any storage."""

    size: int
    modified_ns: int  # On the clock of the storage, since 1970.
    is_directory: bool = False
    identity: int = 0  # Differs between two files of one name on this machine; 0 on remote storage.
    changed_ns: int = 0  # Unlike ``modified_ns``, programs cannot set it; 0 on remote storage.


class Bucket:
    """The file system of a scheme, whose files appear when they are whole."""

    def __init__(self, files: Any) -> None:
        self._files = files

    def open(self, path: str) -> BinaryIO:
        with _os_errors(path):
            file = _BucketFile(path, *self._opened(path))
        return cast("BinaryIO", io.BufferedReader(file, _BUFFER_BYTES))

    def write(self, path: str, content: bytes | BinaryIO) -> None:
        source = io.BytesIO(content) if isinstance(content, bytes) else content
        with _os_errors(path), self._files.open_output_stream(_place(path)) as file:
            shutil.copyfileobj(source, file, _READ_BYTES)

    def status(self, path: str) -> Status:
        with _os_errors(path):
            info = self._files.get_file_info(_place(path))
        if info.type.name == "NotFound":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return Status(info.size or 0, info.mtime_ns or 0, info.type.name == "Directory")

    def names(self, directory: str) -> list[str]:
        root = _place(directory).rstrip("/")
        # pyarrow lists directories of Google only if they have an object of their own.
        selector = arrow_module("pyarrow.fs").FileSelector(
            root, allow_not_found=True, recursive=directory.startswith("gs:")
        )
        with contextlib.suppress(FileNotFoundError), _os_errors(directory):
            paths = (info.path.rstrip("/") for info in self._files.get_file_info(selector))
            return sorted({path[len(root) :].split("/")[1] for path in paths if path != root})
        return []

    def check(self, path: str) -> None:
        bucket = _place(path).partition("/")[0]
        if not bucket:
            return
        with _os_errors(path):
            if self._files.get_file_info(bucket).type.name == "NotFound":
                raise OSError("bucket does not exist")

    def make_directory(self, path: str) -> None:
        # In a bucket, a directory is there as soon as a file is in it.
        if path.startswith(_BY_PATH):
            with _os_errors(path):
                self._files.create_dir(_place(path))

    def rename(self, path: str, to: str) -> None:
        with self.open(path) as file:
            self.write(to, file)
        self.remove(path)

    def remove(self, path: str) -> None:
        with _os_errors(path):
            self._files.delete_file(_place(path))

    def remove_directory(self, path: str) -> None:
        with contextlib.suppress(OSError), _os_errors(path):
            self._files.delete_dir(_place(path))

    def _opened(self, path: str) -> tuple[int, Any, Any]:
        """Return the size of a file, and what reads so many bytes from a position and closes it."""
        file = self._files.open_input_file(_place(path))
        return file.size(), file.read_at, file.close


class _Containers(Bucket):
    """The containers of an account of Azure."""

    def write(self, path: str, content: bytes | BinaryIO) -> None:
        with _os_errors(path):
            self._at(path)[1].upload_blob(content, overwrite=True)

    def status(self, path: str) -> Status:
        container, blob = self._at(path)
        try:
            with _os_errors(path):
                facts = blob.get_blob_properties() if blob else container.get_container_properties()
        except FileNotFoundError:
            if not self.names(path):
                raise
            return Status(0, 0, is_directory=True)
        # How Hadoop, and accounts with directories, mark a blob that stands for one.
        is_directory = not blob or facts.metadata.get("hdi_isfolder") == "true"
        size, modified_ns = facts.size if blob else 0, int(facts.last_modified.timestamp() * 1e9)
        return Status(size, modified_ns, is_directory)

    def names(self, directory: str) -> list[str]:
        container, blob = self._at(directory)
        above = f"{blob.blob_name}/" if blob else ""
        with contextlib.suppress(FileNotFoundError), _os_errors(directory):
            found = {each.name for each in container.walk_blobs(above)} - {above}
            return sorted({name[len(above) :].rstrip("/") for name in found})
        return []

    def check(self, path: str) -> None:
        with _os_errors(path):
            self._at(path)[0].get_container_properties()

    def remove(self, path: str) -> None:
        with _os_errors(path):
            self._at(path)[1].delete_blob()

    def remove_directory(self, path: str) -> None:
        container, blob = self._at(path)
        with contextlib.suppress(OSError), _os_errors(path):
            # A directory that is a blob must be empty.
            for each in reversed(list(container.list_blobs(blob.blob_name))):
                if f"{each.name}/".startswith(f"{blob.blob_name}/"):
                    container.delete_blob(each.name)

    def _opened(self, path: str) -> tuple[int, Any, Any]:
        blob = self._at(path)[1]

        def read(count: int, start: int) -> bytes:
            return blob.download_blob(start, count).readall()

        return blob.get_blob_properties().size, read, bool

    def _at(self, path: str) -> tuple[Any, Any]:
        """Return a container and, if the path leads further, a blob in it."""
        container, _, name = _place(path).rstrip("/").partition("/")
        client = self._files.get_container_client(container.partition("@")[0])
        return client, client.get_blob_client(name) if name else None


class _BucketFile(io.RawIOBase):
    def __init__(self, path: str, size: int, read: Any, close: Any) -> None:
        super().__init__()
        self._path, self._read, self._close = path, read, close
        self._size, self._position = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # Google answers a request beyond the end with an error.
        count = max(min(len(buffer), self._size - self._position), 0)
        with _os_errors(self._path):
            content = self._read(count, self._position) if count else b""
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)

    def readall(self) -> bytes:
        # Python's own asks for 8 KiB at a time.
        return b"".join(iter(lambda: self.read(_READ_BYTES) or b"", b""))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        self._close()
        super().close()


def find(path: str) -> Bucket:
    """Return the storage of a remote path; BackendError if nothing installed reads its scheme."""
    address = urlsplit(path)
    if address.scheme not in (*_BUCKETS, *_BY_PATH):
        raise BackendError(
            f'"{path}" has the scheme "{address.scheme}", which nothing installed reads.',
            "Use a path on this machine, or one of s3://, gs://, az:// and hdfs://.",
            value=path,
        )
    known = [each for each in os.environ.items() if each[0].startswith(_VARIABLES)]
    host = address.netloc if address.scheme in _BY_PATH else address.netloc.partition("@")[2]
    try:
        with _os_errors(path):
            # A fork must not use the connections of its parent.
            return _found(f"{address.scheme}://{host}/", (*sorted(known), ("", str(os.getpid()))))
    except ImportError as error:
        raise BackendError(
            f'"{path}" needs {_PACKAGES_OF_AZURE}, which {sys.executable} cannot import: {error}.',
            f"Run `pip install {_PACKAGES_OF_AZURE}` for that Python.",
            value=path,
        ) from error
    except OSError as error:
        raise BackendError(
            f'"{path}" cannot be used: {error.strerror}.',
            "Correct the environment variables with the credentials and the endpoint of the storage.",
            value=path,
        ) from error


def finish() -> None:
    """End the use of S3, as pyarrow wants before a process ends. R ends without Python's functions for the end."""
    used = sys.modules.get("pyarrow.fs")
    if used is not None:
        used.ensure_s3_finalized()


@functools.lru_cache(maxsize=8)
def _found(root: str, variables: tuple[tuple[str, str], ...]) -> Bucket:
    fs, environment = arrow_module("pyarrow.fs"), dict(variables)
    if root.startswith(_BY_PATH):
        return Bucket(fs.FileSystem.from_uri(root)[0])
    if root.startswith(OF_AZURE):
        return _Containers(_account(urlsplit(root).netloc, environment))
    if root.startswith("s3"):
        # TensorFlow's own file system read the others.
        old, is_plain = environment.get("S3_ENDPOINT"), environment.get("S3_USE_HTTPS") == "0"
        if old and "://" not in old:
            old = f"{'http' if is_plain else 'https'}://{old}"
        url = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or old
        return Bucket(fs.S3FileSystem(**_endpoint(url)))
    endpoint = _endpoint(environment.get("STORAGE_EMULATOR_HOST"))
    limit = dt.timedelta(seconds=_RETRY_S)
    return Bucket(fs.GcsFileSystem(anonymous=bool(endpoint), retry_time_limit=limit, **endpoint))


def _account(host: str, environment: dict[str, str]) -> Any:
    """Connect to an account by its host, such as "name.dfs.core.windows.net", or by the environment."""
    blob = importlib.import_module("azure.storage.blob")
    # By default, its clients try again for minutes.
    retries = blob.LinearRetry(backoff=1, retry_total=2, random_jitter_range=0)
    limits = {"connection_timeout": 5, "read_timeout": 8, "max_block_size": _READ_BYTES}
    options = {**limits, "retry_policy": retries}
    known = {name.removeprefix("AZURE_STORAGE_"): value for name, value in environment.items()}
    if text := known.get("CONNECTION_STRING"):
        service = blob.BlobServiceClient.from_connection_string(text, **options)
        if host and service.account_name != host.partition(".")[0]:
            raise OSError(f"AZURE_STORAGE_CONNECTION_STRING is of account {service.account_name}")
        return service
    name = known.get("ACCOUNT") or known.get("ACCOUNT_NAME")
    if not (host or name):
        raise OSError("AZURE_STORAGE_CONNECTION_STRING and AZURE_STORAGE_ACCOUNT are not set")
    host = host.replace(".dfs.", ".blob.", 1) or f"{name}.blob.core.windows.net"
    credential = known.get("KEY") or known.get("ACCOUNT_KEY") or known.get("SAS_TOKEN")
    if not credential:
        credential = importlib.import_module("azure.identity").DefaultAzureCredential()
    return blob.BlobServiceClient(f"https://{host}", credential, **options)


def _endpoint(url: str | None) -> dict[str, str]:
    if not url:
        return {}
    scheme, _, host = url.rpartition("://")
    return {"endpoint_override": host.rstrip("/"), "scheme": scheme or "http"}


def _place(path: str) -> str:
    address = path.partition("://")[2]
    return f"/{address.partition('/')[2]}" if path.startswith(_BY_PATH) else address


@contextlib.contextmanager
def _os_errors(path: str) -> Generator[None]:
    try:
        yield
    except (OSError, ValueError, NotImplementedError, _azure_error()) as error:
        code, whole = errno.EIO, (isinstance(error, OSError) and error.strerror) or str(error)
        answer = _MESSAGE.search(whole)
        text = answer.group(1) if answer else f"{whole}\n".splitlines()[0]
        text = _QUERY.sub("", text)[:300].rstrip(".")
        if _NO_BUCKET.search(text):
            code = errno.ENOENT
            text = f'The bucket "{_place(path).partition("/")[0]}" does not exist'
        elif isinstance(error, FileNotFoundError) or getattr(error, "status_code", 0) == 404:
            code, text = errno.ENOENT, os.strerror(errno.ENOENT)
        elif isinstance(error, PermissionError) or _DENIED.search(whole):
            code = errno.EACCES
        # The error of pyarrow may contain what _QUERY removes.
        raise OSError(code, text, path) from None


def _azure_error() -> type[Exception]:
    return getattr(sys.modules.get("azure.core.exceptions"), "AzureError", OSError)
