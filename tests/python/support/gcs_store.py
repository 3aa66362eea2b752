"""A store that speaks what pyarrow needs of Google Cloud Storage, on the loopback interface.

Run as ``python gcs_store.py DIRECTORY``, it prints its port and serves until its standard input ends.

Source:
    https://cloud.google.com/storage/docs/json_api
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

BUCKET = "bucket"
# The objects of this bucket can be neither read nor written.
REFUSED = "refused"

_ROUTES = (
    (r"/upload/storage/v1/b/([^/]+)/o", "_upload"),
    (r"/storage/v1/b/([^/]+)/o/([^/]+)/rewriteTo/b/([^/]+)/o/([^/]+)", "_rewrite"),
    (r"/storage/v1/b/([^/]+)/o", "_list"),
    (r"/storage/v1/b/([^/]+)/o/(.+)", "_object"),
    (r"/storage/v1/b/([^/]+)", "_bucket"),
    (r"/([^/]+)/(.+)", "_media"),
)


@dataclass(frozen=True)
class Store:
    """The objects of the bucket, as another client sees them.

    Args:
        directory: Directory of the objects, one file each.
        environment: Environment variables with which the store is found.
    """

    directory: Path
    environment: dict[str, str]

    def path(self, name: str) -> Path:
        """Return the file of an object."""
        return self.directory / BUCKET / quote(name, safe="")

    def names(self, prefix: str = "") -> list[str]:
        """List the names of the objects that begin with ``prefix``."""
        found = (unquote(path.name) for path in (self.directory / BUCKET).iterdir())
        return sorted(name for name in found if name.startswith(prefix))

    def requests(self) -> list[str]:
        """List the requests so far, such as "POST _upload bucket name"."""
        return (self.directory / "requests").read_text(encoding="utf-8").splitlines()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    directory: Path
    uploads: dict[str, tuple[Path, bytearray]]
    lock = threading.RLock()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Write nothing."""

    def answer(self) -> None:
        """Answer a request to Google's host."""
        address = urlsplit(self.path)
        self.query = {name: values[0] for name, values in parse_qs(address.query).items()}
        self.content = self._read_content()
        for pattern, route in _ROUTES:
            if found := re.fullmatch(pattern, address.path):
                with self.lock:
                    bucket, *names = (unquote(part) for part in found.groups())
                    named = [*names, self.query.get("name", "")]
                    self._note(f"{self.command} {route} {bucket} {' '.join(named).strip()}")
                    if bucket == REFUSED:
                        return self._refuse(403, "Permission 'storage.objects' denied.")
                    if not (self.directory / bucket).is_dir():
                        return self._refuse(404, "The specified bucket does not exist.")
                    return getattr(self, route)(bucket, *names)
        return self._refuse(400, f"Unknown request: {self.path}")

    def __getattr__(self, name: str) -> Any:
        """Answer each method of HTTP alike."""
        if not name.startswith("do_"):
            raise AttributeError(name)
        return self.answer

    def _note(self, text: str) -> None:
        with (self.directory / "requests").open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")

    def _upload(self, bucket: str) -> None:
        if self.command == "POST":
            path = self._path(bucket, self.query["name"])
            if self.query.get("uploadType") == "media":
                return self._put(path, self.content)
            key = uuid.uuid4().hex
            self.uploads[key] = path, bytearray()
            place = f"http://{self.headers['Host']}/upload/storage/v1/b/{bucket}/o"
            place = f"{place}?uploadType=resumable&upload_id={key}"
            return self._send(200, b"", Location=place)
        path, written = self.uploads[self.query["upload_id"]]
        asked = self.headers.get("Content-Range", "")
        part = re.fullmatch(r"bytes (\d+)-\d+/.+", asked)
        if part is not None:
            written[int(part[1]) :] = self.content
        size = asked.rpartition("/")[2]
        if size == "*" or len(written) < int(size):
            known = {"Range": f"bytes=0-{len(written) - 1}"} if written else {}
            return self._send(308, b"", **known)
        return self._put(path, written)

    def _rewrite(self, bucket: str, name: str, to_bucket: str, to_name: str) -> None:
        path = self._path(bucket, name)
        if not path.exists():
            return self._refuse(404, "No such object")
        made = self._path(to_bucket, to_name)
        _replace(made, path.read_bytes())
        return self._send(200, {"done": True, "resource": _metadata(made)})

    def _list(self, bucket: str) -> None:
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter")
        items: list[dict[str, str]] = []
        prefixes: set[str] = set()
        for path in sorted((self.directory / bucket).iterdir()):
            name = unquote(path.name)
            rest = name.removeprefix(prefix)
            if delimiter and delimiter in rest and name.startswith(prefix):
                prefixes.add(prefix + rest[: rest.index(delimiter) + 1])
            elif name.startswith(prefix):
                items.append(_metadata(path))
        items = items[: int(self.query.get("maxResults", 1000))]
        # The names are left out where there is nothing to list.
        shown = {"items": items, "prefixes": sorted(prefixes)}
        return self._send(200, {name: each for name, each in shown.items() if each})

    def _object(self, bucket: str, name: str) -> None:
        path = self._path(bucket, name)
        if not path.exists():
            return self._refuse(404, "No such object")
        if self.command == "DELETE":
            path.unlink()
            return self._send(204, b"")
        if self.query.get("alt") == "media":
            return self._media(bucket, name)
        return self._send(200, _metadata(path))

    def _bucket(self, bucket: str) -> None:
        return self._send(200, {"name": bucket, "location": "EU"})

    def _media(self, bucket: str, name: str) -> None:
        path = self._path(bucket, name)
        if not path.exists():
            return self._refuse(404, "No such object")
        content = path.read_bytes()
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if part is None:
            return self._send(200, content)
        last = min(int(part[2] or len(content)), len(content) - 1)
        first = int(part[1])
        if first >= len(content):
            return self._send(416, b"")
        shown = f"bytes {first}-{last}/{len(content)}"
        return self._send(206, content[first : last + 1], **{"Content-Range": shown})

    def _path(self, bucket: str, name: str) -> Path:
        return self.directory / bucket / quote(name, safe="")

    def _put(self, path: Path, content: bytes | bytearray) -> None:
        _replace(path, bytes(content))
        self._send(200, _metadata(path))

    def _read_content(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        content = b""
        while size := int(self.rfile.readline(), 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return content

    def _refuse(self, code: int, message: str) -> None:
        self._send(code, {"error": {"code": code, "message": message}})

    def _send(self, code: int, content: bytes | dict[str, Any], **headers: str) -> None:
        if isinstance(content, dict):
            content = json.dumps(content).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _replace(path: Path, content: bytes) -> None:
    # The tests read the files at any time.
    written = path.parent.parent / "written"
    written.write_bytes(content)
    written.rename(path)


def _metadata(path: Path) -> dict[str, str]:
    status = path.stat()
    milliseconds = status.st_mtime_ns // 1_000_000 % 1000
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(status.st_mtime))
    return {
        "name": unquote(path.name),
        "size": str(status.st_size),
        "bucket": path.parent.name,
        "generation": str(status.st_mtime_ns),
        **dict.fromkeys(("updated", "timeCreated"), f"{moment}.{milliseconds:03d}Z"),
    }


@contextlib.contextmanager
def gcs_store(directory: Path) -> Iterator[Store]:
    """Serve an empty store inside the block; its files are in the directory."""
    (directory / BUCKET).mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield Store(
            directory,
            {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"},
        )


def _serve(directory: Path) -> None:
    fields: dict[str, Any] = {"directory": directory, "uploads": {}}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), fields))
    print(server.server_port, flush=True)  # noqa: T201
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
