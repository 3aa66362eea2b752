"""Process that has loaded TensorFlow, and waits for the task of a later start."""

import contextlib
import json
import os
import socket
import sys
from pathlib import Path

from tfdistribute import engine, task_events
from tfdistribute.interrupts import defer_interrupt

_INTERRUPTED, _MOST_TASK_BYTES = 130, 1 << 20
# TensorFlow's servers keep the variables of former tasks.
_MOST_BYTES = 2 << 30


def await_task(status: int | None = None) -> bool:
    """Wait for the next task, and become its process; return False if this process must end with ``status``.

    Without a ``status``, it has had no task yet. The process ends if there is none.
    """
    if status is None:
        # The task reports what is wrong with TensorFlow.
        with contextlib.suppress(Exception):
            _ = (engine.tf, engine.estimator, engine.multi_worker)
    elif task_events.CHANNEL not in os.environ or not _can_continue(status):
        return False
    # The supervisor may have interrupted a task that had ended.
    with contextlib.suppress(KeyboardInterrupt), defer_interrupt():
        channel = socket.socket(fileno=os.dup(int(os.environ[task_events.CHANNEL])))
        if status is not None:
            channel.send(bytes([status]))
        text, logs, _, _ = socket.recv_fds(channel, _MOST_TASK_BYTES, 1)
        channel.close()
        if not text:
            os._exit(0)
        task = json.loads(text)
        for descriptor in (1, 2):
            os.dup2(logs[0], descriptor)
        os.close(logs[0])
        for thread in os.listdir("/proc/self/task") if task["cores"] else ():
            # A thread may just have ended.
            with contextlib.suppress(OSError):
                os.sched_setaffinity(int(thread), task["cores"])
        os.environ.update(task["environment"])
    return True


def _can_continue(status: int) -> bool:
    """Return whether only a lost task or an interrupt has ended this one, and it has left little behind."""
    if status != _INTERRUPTED and not task_events.has_lost_task():
        return False
    # The library that grows trees, and memory of GPUs, cannot be released.
    if "ydf" in sys.modules or engine.devices.gpu_count():
        return False
    children = (path.read_text() for path in Path("/proc/self/task").glob("*/children"))
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return not any(children) and pages * os.sysconf("SC_PAGE_SIZE") < _MOST_BYTES
