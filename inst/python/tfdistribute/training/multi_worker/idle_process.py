"""Idle process, which has loaded TensorFlow before its task is known."""

import contextlib
import json
import os
import select
import socket

from tfdistribute import engine, task_events

_MAX_BYTES = 1 << 20
_READY = b"."

# Parts of the engine that training tasks use. Each is imported when it is first used.
_PARTS = (
    "collectives",
    "devices",
    "estimator",
    "features",
    "hooks",
    "losses",
    "metrics",
    "model_graphs",
    "model_parts",
    "multi_worker",
    "optimizers",
    "session_config",
    "tpu",
)


def await_task() -> None:
    """Load TensorFlow, wait for the task, and become the process of the task. The process ends if there is none.

    If the task is already there, nothing is loaded. An error of TensorFlow is raised when the task uses it.
    """
    with socket.socket(fileno=os.dup(0)) as channel:
        if not select.select([channel], [], [], 0)[0]:
            with contextlib.suppress(Exception):
                for name in ("tf", *_PARTS):
                    getattr(engine, name)
            # The supervisor may be gone, or may have sent the task.
            with contextlib.suppress(OSError):
                channel.send(_READY)
        _begin(channel)


def _begin(channel: socket.socket) -> None:
    message, logs, _flags, _address = socket.recv_fds(channel, _MAX_BYTES, 1)
    while not message.endswith(b"\n") and (more := channel.recv(_MAX_BYTES)):
        message += more
    if not message.endswith(b"\n"):
        os._exit(0)
    _redirect_output(logs[0])
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    del os.environ[task_events.PREPARED]
    os.environ.update(json.loads(message))
    engine.begin_task()


def _redirect_output(log: int) -> None:
    with contextlib.suppress(OSError):
        os.write(log, os.pread(1, _MAX_BYTES, 0))
        os.ftruncate(1, 0)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
