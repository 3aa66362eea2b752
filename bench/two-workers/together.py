"""Two simultaneous processes, each on its own core: ``together.py WORKER.py``.

A worker ends with ``{"value": examples per second of this process}``; the result is the sum over both.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from way import take_turns

PROCESSES = 2
WORKER = str(Path(__file__).resolve().parent / sys.argv[1])


def measure(steps: int) -> float:
    *addresses, main = [f"127.0.0.1:{port}" for port in free_ports(PROCESSES + 1)]
    common = {
        "WORKERS": ",".join(addresses),
        # For PyTorch.
        "MASTER_ADDR": main.partition(":")[0],
        "MASTER_PORT": main.partition(":")[2],
        "WORLD_SIZE": str(PROCESSES),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    processes = [
        subprocess.Popen(
            ["taskset", "-c", str(rank), sys.executable, WORKER, str(steps)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **common, "RANK": str(rank)},
        )
        for rank in range(PROCESSES)
    ]
    try:
        outputs = [process.communicate(timeout=240)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return sum(json.loads(output.strip().splitlines()[-1])["value"] for output in outputs)


def free_ports(count: int) -> list[int]:
    """Return free ports of the loopback interface."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


take_turns(measure)
