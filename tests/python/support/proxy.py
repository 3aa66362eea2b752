"""A proxy on the loopback interface that breaks connections to a store, or keeps them without an answer."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator

from support.buckets import Store

_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")
_TICK_S = 0.05


class Proxy:
    """A server whose connections end after ``limit`` bytes in a direction; None for no end.

    If it breaks ``once``, only one of them does. While it ``stalls``, it passes nothing on.
    """

    def __init__(self, store: Store) -> None:
        self.limit: int | None = None
        self.once = self.stalls = False
        self._to = int(_PORT.findall(str(store.environment))[0])
        self._ended = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(_TICK_S)
        port = str(self._server.getsockname()[1])
        self.environment = {
            name: _PORT.sub(port, value) for name, value in store.environment.items()
        }
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def end(self) -> None:
        self._ended.set()
        # The first one adds the others.
        for thread in self._threads:
            thread.join()
        self._server.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(OSError):
                here = self._server.accept()[0]
                there = socket.create_connection(("127.0.0.1", self._to))
                for source, target in ((here, there), (there, here)):
                    thread = threading.Thread(target=self._pass_on, args=(source, target))
                    thread.start()
                    self._threads.append(thread)

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        count = 0
        source.settimeout(_TICK_S)
        while not self._ended.is_set():
            if self.stalls:
                time.sleep(_TICK_S)
                continue
            try:
                content = source.recv(65536)
                left = len(content) if self.limit is None else max(self.limit - count, 0)
                target.sendall(content[:left])
            except TimeoutError:
                continue
            except OSError:
                break
            count += len(content)
            if left < len(content) and self.once:
                self.limit = None
            if not content or left < len(content):
                break
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        source.close()


@contextlib.contextmanager
def proxy_of(store: Store) -> Iterator[Proxy]:
    proxy = Proxy(store)
    try:
        yield proxy
    finally:
        proxy.end()
