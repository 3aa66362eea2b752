"""Members of a framework that are the hosts of a job."""

import contextlib
import dataclasses
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tfdistribute.cluster.frameworks.framework import FrameworkCluster
from tfdistribute.cluster.frameworks.mirai import MiraiCluster
from tfdistribute.cluster.frameworks.ray import RayCluster
from tfdistribute.cluster.frameworks.spark import SparkCluster
from tfdistribute.errors import ClusterError, from_values
from tfdistribute.launch.frameworks.broker import Broker, send_order
from tfdistribute.launch.places.channel import Channel
from tfdistribute.launch.places.transport import Explanation, Transport

# Classes by the kind of the cluster.
FRAMEWORKS = {
    MiraiCluster.kind: "tfdistribute.launch.frameworks.mirai:MiraiFramework",
    RayCluster.kind: "tfdistribute.launch.frameworks.ray:RayFramework",
    SparkCluster.kind: "tfdistribute.launch.frameworks.spark:SparkFramework",
}

# How long a framework may take to end what it has started.
_END_S = 5.0
_BLOCK_BYTES = 1 << 16
_CODE = (
    # Not the working directory, which may hold a file with the name of the framework.
    "import sys; sys.path[0] = sys.argv.pop(1); "
    "from tfdistribute.launch.frameworks.driver import main; main()"
)
DRIVER = (sys.executable, "-c", _CODE, str(Path(__file__).parents[3]))
_EXPLANATIONS: tuple[Explanation, ...] = (
    (
        r"not found|No such file or directory",
        "it has no {python}",
        "Give the path of its Python as `python`.",
    ),
)


def transports(cluster: FrameworkCluster) -> Callable[[str], Transport]:
    """Return how each member is reached. The first member that is asked for starts all of them."""
    gang = Gang(cluster)
    return gang.transport_to


class Gang:
    def __init__(self, cluster: FrameworkCluster) -> None:
        self._cluster = cluster
        self._driver: _Driver | None = None
        self._users = 0

    def transport_to(self, host: str) -> Transport:
        cluster, index = self._cluster, self._cluster.names_of_hosts.index(host)
        self._users += 1
        return Transport(
            open=lambda command: MemberChannel(self, index, command),
            explanations=_EXPLANATIONS,
            argument="cluster",
            subject=f"The {host} of {cluster.framework}",
            check=f"See the state of {cluster.framework}.",
            when_twice="",
            connect_s=cluster.start_timeout_s,
            cpus=cluster.cpus_per_worker,
            gpus=cluster.gpus_per_worker > 0,
            release=self._release,
        )

    def running_driver(self) -> "_Driver":
        # After the end of a driver, a restarted framework needs new members.
        if self._driver is not None:
            self._driver.poll()
        if self._driver is None or self._driver.refusal is not None:
            self._end(_END_S)
            self._driver = _Driver(self._cluster)
        return self._driver

    def _release(self, seconds: float) -> None:
        self._users -= 1
        if self._users == 0:
            self._end(max(seconds, _END_S))

    def _end(self, seconds: float) -> None:
        if self._driver is not None:
            self._driver.end(seconds)
            self._driver = None


class _Driver:
    def __init__(self, cluster: FrameworkCluster) -> None:
        self._framework = cluster.framework
        self.refusal: ClusterError | None = None
        self.has_members = False
        self.waits: str | None = None
        self.leaving: list[int] = []
        self.broker: Broker | None = None
        self._said = b""
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            DRIVER,
            bufsize=0,
            stdin=pipe,
            stdout=pipe,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        os.set_blocking(self._output.fileno(), False)
        self._tell(
            framework=FRAMEWORKS[cluster.kind],
            cluster=dataclasses.asdict(cluster),
            members=len(cluster.names_of_hosts),
        )

    @property
    def descriptors(self) -> list[int]:
        if self.refusal is not None or self._output.closed:
            return []
        return [self._output.fileno(), *([] if self.broker is None else self.broker.descriptors)]

    def _tell(self, **order: Any) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._input.write(json.dumps(order).encode() + b"\n")

    def poll(self) -> None:
        if self.refusal is not None:
            return
        data: bytes | None = b""
        with contextlib.suppress(BlockingIOError):
            while data := self._output.read(_BLOCK_BYTES):
                self._said += data
        *lines, self._said = self._said.split(b"\n")
        for line in lines:
            self._take(json.loads(line))
        if data == b"" and self.refusal is None:
            self.refusal = ClusterError(f"The connection to {self._framework} ended.")
        if self.refusal is not None and self.broker is not None:
            self.broker.close()

    def _take(self, news: dict[str, Any]) -> None:
        if "refusal" in news:
            error = from_values(news["refusal"])
            self.refusal = ClusterError(
                error.problem, error.remedy, argument=error.argument, value=error.value
            )
        elif "address" in news:
            self.broker = Broker(news["address"])
            self._tell(host=self.broker.host, port=self.broker.port, token=self.broker.token)
        else:
            self.waits, self.leaving = news["waits"], news["leaving"]

    def end(self, seconds: float) -> None:
        if self.broker is not None:
            self.broker.close()
        self._input.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        # A framework ends the processes of a client that disappears.
        self._process.kill()
        self._process.wait()
        self._output.close()


class MemberChannel(Channel):
    def __init__(self, gang: Gang, index: int, command: Sequence[str]) -> None:
        self._gang, self._index, self._command = gang, index, command
        self._driver = gang.running_driver()
        self._sockets: list[socket.socket] = []
        self._was_open = False

    @property
    def refusal(self) -> ClusterError | None:
        return None if self._sockets else self._driver.refusal

    @property
    def waits(self) -> str | None:
        return None if self._was_open else self._driver.waits

    @property
    def opening(self) -> Sequence[int]:
        return self._driver.descriptors

    @property
    def is_leaving(self) -> bool:
        self._driver.poll()
        return self._index in self._driver.leaving

    def is_open(self) -> bool:
        if self._sockets:
            return True
        self._driver.poll()
        if self._driver.has_members and self._driver.refusal is not None:
            # The framework was lost, which took this member with it, and the next driver says whether it is back.
            self._driver = self._gang.running_driver()
        broker = self._driver.broker
        sockets = None if broker is None or self.refusal else broker.take(self._index)
        if sockets is None:
            return False
        self._driver.has_members = True
        try:
            send_order(sockets[0], self._command)
        except OSError:
            return False
        self._sockets, self._was_open = sockets, True
        self.writing = self.reading = sockets[0].fileno()
        self.errors = sockets[1].fileno()
        return True

    def end(self) -> None:
        with contextlib.suppress(OSError):
            if self._sockets:
                self._sockets[0].shutdown(socket.SHUT_WR)

    def close(self, seconds: float) -> None:
        self.end()
        until = time.monotonic() + seconds
        with contextlib.suppress(OSError):
            while self._sockets and (left := until - time.monotonic()) > 0:
                is_readable = select.select(self._sockets[:1], [], [], left)[0]
                if is_readable and not self._sockets[0].recv(_BLOCK_BYTES):
                    break
        for each in self._sockets:
            each.close()
        self._sockets = []
