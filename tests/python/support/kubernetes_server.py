"""A server that speaks the part of Kubernetes' API that jobs use, and a kubectl that speaks to it."""

from __future__ import annotations

import json
import re
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_PATH = re.compile(
    r"/api(?:s/(?P<group>[a-z0-9.]+))?/v1(?:alpha1)?/namespaces/(?P<namespace>[a-z0-9-]+)"
    r"/(?P<kind>[a-z]+)(?:/(?P<name>[a-z0-9.-]+))?(?P<log>/log)?"
)
_GROUPS = {
    "tfjobs": "kubeflow.org",
    "jobs": "batch",
    "trainjobs": "trainer.kubeflow.org",
    "trainingruntimes": "trainer.kubeflow.org",
}

Object = dict[str, Any]


class KubernetesServer:
    """The objects of a cluster.

    Args:
        url: Its address.
        objects: Objects by kind and name.
        logs: Text by pod.
        refusal: HTTP status, reason and message of every answer; None to answer.
        api: Answers to questions for what the cluster has, by path.
    """

    def __init__(self) -> None:
        self.url = ""
        self.objects: dict[tuple[str, str], Object] = {}
        self.logs: dict[str, str] = {}
        self.refusal: tuple[int, str, str] | None = None
        self.api: dict[str, Object] = {}
        self._made = 0

    def names(self, kind: str) -> list[str]:
        return [name for each, name in self.objects if each == kind]

    def only(self, kind: str) -> Object:
        (name,) = self.names(kind)
        return self.objects[kind, name]

    def add_pod(self, name: str, labels: dict[str, str], status: Object, **spec: Any) -> None:
        metadata = {"name": name, "labels": labels}
        self.objects["pods", name] = {"metadata": metadata, "spec": spec, "status": status}

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if self.refusal is not None:
            return _status(*self.refusal)
        if path in self.api:
            return 200, self.api[path]
        parts = urlsplit(path)
        found = _PATH.fullmatch(parts.path)
        if found is None or found["group"] != _GROUPS.get(found["kind"]):
            message = "the server could not find the requested resource"
            return _status(404, "NotFound", message)
        kind, name = found["kind"], found["name"]
        if method == "POST":
            return self._create(kind, json.loads(body))
        if name is None:
            return 200, {"items": list(self._selected(kind, parse_qs(parts.query)))}
        if (kind, name) not in self.objects:
            return _status(404, "NotFound", f'{kind}.{found["group"]} "{name}" not found')
        if method == "DELETE":
            self._delete(kind, name)
            return 200, {"kind": "Status", "status": "Success"}
        return self._log(name) if found["log"] else (200, self.objects[kind, name])

    def _log(self, name: str) -> tuple[int, Any]:
        if name not in self.logs:
            message = f'container "tensorflow" in pod "{name}" is waiting to start'
            return _status(400, "BadRequest", message)
        return 200, self.logs[name]

    def _create(self, kind: str, value: Object) -> tuple[int, Any]:
        # Not needed by the kubectl below, which is a program of its own.
        from support.kubernetes_schemas import SCHEMAS, mistakes

        name = value["metadata"]["name"]
        wrong = list(mistakes(value, SCHEMAS[kind]))
        if wrong:
            return _status(422, "Invalid", f'{value["kind"]} "{name}" is invalid: {wrong[0]}')
        if (kind, name) in self.objects:
            return _status(409, "AlreadyExists", f'{kind} "{name}" already exists')
        runtime = value["spec"]["runtimeRef"]["name"] if kind == "trainjobs" else None
        if runtime is not None and ("trainingruntimes", runtime) not in self.objects:
            message = f'admission webhook denied the request: TrainingRuntime "{runtime}" not found'
            return _status(403, "Forbidden", message)
        self._made += 1
        value["metadata"]["uid"] = f"uid-{self._made}"
        self.objects[kind, name] = value
        return 201, value

    def _selected(self, kind: str, query: dict[str, list[str]]) -> Iterator[Object]:
        label, _, wanted = query["labelSelector"][0].partition("=")
        for (each, _), value in self.objects.items():
            if each == kind and value["metadata"].get("labels", {}).get(label) == wanted:
                yield value

    def _delete(self, kind: str, name: str) -> None:
        """Delete an object, and what it owns."""
        uid = self.objects.pop((kind, name))["metadata"].get("uid")
        for key, value in list(self.objects.items()):
            owners = value["metadata"].get("ownerReferences", ())
            if any(owner["uid"] == uid for owner in owners):
                del self.objects[key]


def _status(code: int, reason: str, message: str) -> tuple[int, Any]:
    return code, {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


@contextmanager
def kubernetes_server() -> Iterator[KubernetesServer]:
    served = KubernetesServer()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            code, value = served.answer(self.command, self.path, b"".join(self._body()))
            is_text = isinstance(value, str)
            content = value.encode() if is_text else json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain" if is_text else "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _body(self) -> Iterator[bytes]:
            if self.headers.get("Transfer-Encoding") != "chunked":
                yield self.rfile.read(int(self.headers.get("Content-Length") or 0))
                return
            # kubectl sends what it reads from its standard input.
            while size := int(self.rfile.readline(), 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - the names of http.server

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def kubectl(arguments: list[str]) -> int:
    """Do what kubectl does with these arguments: --server URL, a verb, --raw PATH, and -f - for a body."""
    server, verb, path = arguments[1], arguments[2], arguments[4]
    method = {"create": "POST", "get": "GET", "delete": "DELETE"}[verb]
    body = sys.stdin.buffer.read() if "-f" in arguments else None
    request = urllib.request.Request(server + path, data=body, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            sys.stdout.write(answer.read().decode())
    except urllib.error.HTTPError as error:
        status = json.loads(error.read())
        sys.stderr.write(f"Error from server ({status['reason']}): {status['message']}\n")
        return 1
    except urllib.error.URLError:
        sys.stderr.write(
            "The connection to the server was refused - did you specify the right host or port?\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(kubectl(sys.argv[1:]))
