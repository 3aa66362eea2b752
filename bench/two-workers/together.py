"""Two processes that measure at the same time, each on its own core: ``together.py WORKER.py``.

A worker takes turns and measures the examples per second of its process; the result is the sum over both.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from way import MARK, take_turns

PROCESSES = 2
WORKER = str(Path(__file__).resolve().parent / sys.argv[1])


def started() -> list[subprocess.Popen[str]]:
    """Start the workers, and wait until they can measure."""
    *addresses, main = [f"127.0.0.1:{port}" for port in free_ports(PROCESSES + 1)]
    common = {
        "WORKERS": ",".join(addresses),
        # For PyTorch.
        "MASTER_ADDR": main.partition(":")[0],
        "MASTER_PORT": main.partition(":")[2],
        "WORLD_SIZE": str(PROCESSES),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    workers = [
        subprocess.Popen(
            ["taskset", "-c", str(rank), sys.executable, WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **common, "RANK": str(rank)},
        )
        for rank in range(PROCESSES)
    ]
    for worker in workers:
        answer(worker)
    return workers


def answer(worker: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what a worker says next; other output is ignored."""
    assert worker.stdout is not None
    for line in worker.stdout:
        if line.startswith(MARK):
            return json.loads(line.removeprefix(MARK))
    sys.exit(f"a worker ended with exit status {worker.wait()}")


def measure(steps: int) -> float:
    for worker in WORKERS:
        assert worker.stdin is not None
        worker.stdin.write(f"{steps}\n")
        worker.stdin.flush()
    return sum(answer(worker)["value"] for worker in WORKERS)


def free_ports(count: int) -> list[int]:
    """Return free ports of the loopback interface."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


WORKERS = started()
take_turns(measure)
