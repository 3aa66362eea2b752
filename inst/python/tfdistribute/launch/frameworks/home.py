"""Program of one member of a gang, which connects to the broker of its job and becomes an agent.

The framework's Python may be too old for the package, so this uses the standard library of Python 3.6 only. The
address, the token and the number come from standard input, because others can read command lines.
"""

import ctypes
import json
import os
import signal
import socket
import sys
import time
import uuid
from typing import Any

# Exit code when nobody listens any more, because the job is over.
OVER = 75
_PAUSE_S = 0.2
_CONNECT_S = 10
_SET_PARENT_DEATH_SIGNAL = 1


def main() -> None:
    _die_with_parent(os.getppid(), signal.SIGKILL)
    where = json.load(sys.stdin)
    me = os.getpid()
    while True:
        agent = os.fork()
        if agent == 0:
            # The agent's guard cleans up. A framework may kill the process group that it has started.
            os.setsid()
            # Frameworks let their processes ignore Ctrl-C.
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            _die_with_parent(me, signal.SIGINT)
            _call(where)
        status = os.waitpid(agent, 0)[1]
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == OVER:
            return
        time.sleep(_PAUSE_S)


def _die_with_parent(parent: int, number: int) -> None:
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(number))
    if os.getppid() != parent:
        os._exit(1)


def _call(where: Any) -> None:
    streams: Any = []
    caller = uuid.uuid4().hex
    try:
        streams = [_connect(where, stream, caller) for stream in ("agent", "errors")]
        order = _line_of(streams[0])
    except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
        order = b""
    except OSError:
        os._exit(1)
    if not order:
        os._exit(OVER)
    agent, errors = streams
    for source, target in ((agent, 0), (agent, 1), (errors, 2)):
        os.dup2(source.fileno(), target)
    command = json.loads(order.decode())["command"]
    try:
        os.execvp(command[0], command)  # noqa: S606 - it is an argument list
    except OSError as error:
        os.write(2, (command[0] + ": " + os.strerror(error.errno or 0)).encode())
    os._exit(1)


def _connect(where: Any, stream: str, caller: str) -> Any:
    connection = socket.create_connection((where["host"], where["port"]), _CONNECT_S)
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    hello: Any = {
        "token": where["token"],
        "index": where["index"],
        "stream": stream,
        "caller": caller,
    }
    connection.sendall(json.dumps(hello).encode() + b"\n")
    return connection


def _line_of(connection: Any) -> bytes:
    # Bytes after the line are for the agent.
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            return b""
        line += byte
    return line


if __name__ == "__main__":
    main()
