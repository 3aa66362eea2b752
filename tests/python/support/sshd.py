"""Real ssh servers on several hosts of this machine, and an ssh client that knows them."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.hosts import Host, several_hosts

PORT = 2022
_SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@dataclass(frozen=True)
class Hosts:
    """Hosts with ssh servers.

    Args:
        names: Their names in the configuration of ssh.
        hosts: The hosts.
        ssh: A program that is ssh with that configuration, run on a host of its own.
        servers: Process ids of the servers.
    """

    names: list[str]
    hosts: list[Host]
    ssh: str
    servers: list[int]

    def mount(self, number: int, directory: Path) -> None:
        """Mount a disk of a host's own; only with networks, which come with own mounts."""
        disk = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(directory)]
        command = ["nsenter", f"--mount=/proc/{self.servers[number]}/ns/mnt", *disk]
        subprocess.run(command, check=True, capture_output=True, timeout=20)

    def processes(self, number: int) -> list[str]:
        """Command lines of a host's processes besides those of sshd; only with networks."""
        name = self.hosts[number].prefix[-1]
        listed = subprocess.run(
            ["ip", "netns", "pids", name], capture_output=True, text=True, check=True, timeout=20
        )
        found = []
        for pid in listed.stdout.split():
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                if line and not line.startswith("sshd") and "/sshd" not in line:
                    found.append(line)
        return found


def has_sshd() -> bool:
    return _SSHD is not None and shutil.which("ssh") is not None


@contextlib.contextmanager
def ssh_hosts(directory: Path, count: int = 2) -> Iterator[Hosts]:
    """Start ssh servers on hosts of their own where this process may make networks, else on loopback addresses."""
    names = [f"node-{chr(ord('a') + number)}" for number in range(count)]
    _key(directory / "id")
    shutil.copy(directory / "id.pub", directory / "authorized_keys")
    if os.geteuid() == 0:
        # Where sshd separates privileges.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with several_hosts(count + 1) as (client, *hosts), contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(_server(directory, name, host))
            for name, host in zip(names, hosts, strict=True)
        ]
        _write_config(directory, names, hosts)
        program = directory / "ssh"
        command = [*client.prefix, "ssh"]
        program.write_text(f'#!/bin/sh\nexec {" ".join(command)} -F {directory}/config "$@"\n')
        program.chmod(0o755)
        yield Hosts(names, hosts, str(program), servers)


@contextlib.contextmanager
def _server(directory: Path, name: str, host: Host) -> Iterator[int]:
    assert _SSHD is not None
    _key(directory / f"{name}-key")
    config = directory / f"{name}-sshd"
    lines = [
        f"ListenAddress {host.address}:{PORT}",
        f"HostKey {directory}/{name}-key",
        f"AuthorizedKeysFile {directory}/authorized_keys",
        "PidFile none",
        "UsePAM no",
        "StrictModes no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin prohibit-password",
    ]
    config.write_text("\n".join(lines) + "\n")
    with (directory / f"{name}.log").open("wb") as log:
        server = subprocess.Popen(
            [*host.prefix, _SSHD, "-D", "-e", "-f", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait_for(host, server, directory / f"{name}.log")
        yield server.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        server.wait(10)


def _wait_for(host: Host, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 15
    while time.monotonic() < end and server.poll() is None:
        if b"Server listening" in log.read_bytes():
            return
        time.sleep(0.05)
    raise AssertionError(f"sshd does not listen on {host.address}: {log.read_text()}")


def _key(path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=20)


def _write_config(directory: Path, names: Sequence[str], hosts: Sequence[Host]) -> None:
    known: list[str] = []
    # The first value of an option counts.
    config = [
        f"Host *-stranger\n  UserKnownHostsFile {directory}/nobody",
        f"Host *-closed\n  Port {PORT + 1}",
        f"Host *-keyless\n  IdentityFile {directory}/no-id",
        f"Host * !*-keyless\n  IdentityFile {directory}/id",
    ]
    for name, host in zip(names, hosts, strict=True):
        key = (directory / f"{name}-key.pub").read_text().split(None, 2)
        known.append(f"[{host.address}]:{PORT} {key[0]} {key[1]}")
        config.append(f"Host {name} {name}-*\n  HostName {host.address}\n  Port {PORT}")
    config.append(
        f"Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  User {getpass.getuser()}\n"
        f"  UserKnownHostsFile {directory}/known_hosts\n  GlobalKnownHostsFile /dev/null"
    )
    (directory / "known_hosts").write_text("\n".join(known) + "\n")
    (directory / "nobody").write_text("")
    (directory / "config").write_text("\n".join(config) + "\n")
