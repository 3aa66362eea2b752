"""Several hosts on one machine: network namespaces with addresses of their own, or loopback addresses without root."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

_numbers = itertools.count()


@dataclass(frozen=True)
class Host:
    """A host.

    Args:
        address: Its IP address.
        prefix: Command that runs another command there.
        link: Names of the switch's namespace and of the host's link in it; None without a network of its own.
    """

    address: str
    prefix: tuple[str, ...] = ()
    link: tuple[str, str] | None = None

    def cut(self) -> None:
        """Cut the host's cable."""
        assert self.link is not None
        _ip("-n", self.link[0], "link", "set", self.link[1], "down")

    def mend(self) -> None:
        """Connect the host's cable again."""
        assert self.link is not None
        _ip("-n", self.link[0], "link", "set", self.link[1], "up")


HERE = Host("127.0.0.1")


def can_have_networks() -> bool:
    return os.geteuid() == 0 and shutil.which("ip") is not None and _may_add_network()


@contextlib.contextmanager
def several_hosts(count: int) -> Iterator[list[Host]]:
    """Make hosts, connected by a switch where this process may make networks; remove them at the end."""
    if not can_have_networks():
        yield [Host(f"127.0.0.{number + 2}") for number in range(count)]
        return
    name = f"tfd-{os.getpid()}-{next(_numbers)}"
    with contextlib.ExitStack() as stack:
        switch = f"{name}-switch"
        stack.enter_context(_network(switch))
        _ip("-n", switch, "link", "add", "switch", "type", "bridge")
        _ip("-n", switch, "link", "set", "switch", "up")
        yield [
            stack.enter_context(_host(f"{name}-{number}", switch, number))
            for number in range(count)
        ]


@contextlib.contextmanager
def _host(name: str, switch: str, number: int) -> Iterator[Host]:
    address, link = f"10.199.0.{number + 1}", f"host{number}"
    with _network(name):
        _ip(
            "-n", switch, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name
        )
        _ip("-n", switch, "link", "set", link, "master", "switch", "up")
        _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        _ip("-n", name, "link", "set", "eth0", "up")
        yield Host(address, ("ip", "netns", "exec", name), (switch, link))


@contextlib.contextmanager
def _network(name: str) -> Iterator[None]:
    _ip("netns", "add", name)
    try:
        _ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        _ip("netns", "delete", name)


def _may_add_network() -> bool:
    name = f"tfd-{os.getpid()}-try"
    try:
        with _network(name):
            pass
    except subprocess.CalledProcessError:
        return False
    return True


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=20)
