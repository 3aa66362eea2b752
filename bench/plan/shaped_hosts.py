"""Hosts in network namespaces whose links have a rate and a delay, and a stand-in for ssh that reaches them.

A relay passes packets on between the hosts, because the kernels of many containers have no ``tc netem``. A packet
occupies the sender's and the receiver's link for its size divided by the rate, and arrives a delay later.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import itertools
import os
import select
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# linux/if_tun.h
_SET_INTERFACE = 0x400454CA
_TUN_WITHOUT_HEADER = 0x1001
# The largest packet, so that the relay has few of them.
_MTU = 65_000
_DESTINATION = slice(16, 20)
_SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
exec ip netns exec "{prefix}$2" sh -c "$3"
"""


@contextlib.contextmanager
def shaped_hosts(
    count: int, bits_per_s: float, delay_s: float, directory: Path
) -> Iterator[tuple[list[str], str]]:
    """Make hosts; yield their names, and the path of a program that takes the arguments of ssh."""
    prefix = f"tfd-{os.getpid()}-"
    hosts = [f"host{number}" for number in range(1, count + 1)]
    with contextlib.ExitStack() as stack:
        for name in hosts:
            _ip("netns", "add", prefix + name)
            stack.callback(_ip, "netns", "delete", prefix + name)
            _ip("-n", prefix + name, "link", "set", "lo", "up")
        devices = [f"tfd{os.getpid()}.{number}" for number in range(count)]
        command = [sys.executable, __file__, str(bits_per_s), str(delay_s), *devices]
        relay = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        stack.callback(relay.wait)
        stack.callback(relay.kill)
        assert relay.stdout is not None
        relay.stdout.readline()
        for number, (name, device) in enumerate(zip(hosts, devices, strict=True)):
            _ip("link", "set", device, "netns", prefix + name)
            inside = ("-n", prefix + name)
            _ip(*inside, "address", "add", f"10.198.0.{number + 1}/24", "dev", device)
            _ip(*inside, "link", "set", device, "mtu", str(_MTU), "up")
        ssh = directory / "ssh"
        ssh.write_text(_SSH.format(prefix=prefix))
        ssh.chmod(0o755)
        yield hosts, str(ssh)


def relay(bits_per_s: float, delay_s: float, devices: list[str]) -> None:
    # As the kernel's own queues, it does not wait for processes that compute.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    links = {bytes((10, 198, 0, i + 1)): _open(each) for i, each in enumerate(devices)}
    print("ready", flush=True)
    sent = dict.fromkeys(links.values(), 0.0)
    received = dict.fromkeys(links.values(), 0.0)
    waiting: list[tuple[float, int, int, bytes]] = []
    numbers = itertools.count()
    while True:
        wait_s = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for link in select.select(list(sent), [], [], wait_s)[0]:
            with contextlib.suppress(BlockingIOError, OSError):
                packet = os.read(link, _MTU)
                to = links.get(packet[_DESTINATION])
                if to is None:
                    continue
                seconds = len(packet) * 8 / bits_per_s
                sent[link] = max(time.monotonic(), sent[link]) + seconds
                received[to] = max(sent[link], received[to] + seconds)
                heapq.heappush(waiting, (received[to] + delay_s, next(numbers), to, packet))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, to, packet = heapq.heappop(waiting)
            with contextlib.suppress(OSError):
                os.write(to, packet)


def _open(device: str) -> int:
    link = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(link, _SET_INTERFACE, struct.pack("16sH22x", device.encode(), _TUN_WITHOUT_HEADER))
    return link


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=20)


if __name__ == "__main__":
    relay(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
