"""Access to hosts by the system's ssh."""

import shlex
from collections.abc import Callable, Sequence

from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.launch.places.channel import CommandChannel
from tfdistribute.launch.places.transport import Transport

# The first value of an option counts, so the user's options cannot weaken these.
_OPTIONS = (
    "-T",
    *("-e", "none"),
    *("-o", "BatchMode=yes"),
    *("-o", "StrictHostKeyChecking=yes"),
    *("-o", "ClearAllForwardings=yes"),
    *("-o", "ForwardAgent=no"),
    *("-o", "ForwardX11=no"),
    *("-o", "PermitLocalCommand=no"),
    *("-o", "ControlPath=none"),
    *("-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=5"),
    *("-o", "ServerAliveCountMax=3"),
    *("-o", "LogLevel=ERROR"),
)

# Output of ssh or the remote shell, with its meaning and the remedy.
_EXPLANATIONS = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed|No \w+ host key is known",
        "its host key is not the known one",
        'Connect once by hand, "ssh {host}", and compare the key: if a known key has changed, another machine answers.',
    ),
    (
        r"Permission denied|Too many authentication failures",
        "it does not let you in without a password",
        'Install a key with "ssh-copy-id {host}", or load the key into ssh-agent.',
    ),
    (
        r"Could not resolve hostname",
        "its name is not known",
        "Check the spelling, or give HostName in ~/.ssh/config.",
    ),
    (
        r"Connection refused",
        "no sshd listens there",
        "Start sshd on the host, or give its Port in ~/.ssh/config.",
    ),
    (
        r"timed out|No route to host|Network is unreachable",
        "it cannot be reached",
        "Check the network and the firewall.",
    ),
    (
        r"not found|No such file or directory",
        "it has no {python} on the PATH of a login without a terminal",
        "Give the path of its Python as `python`.",
    ),
)


def transports(cluster: SshCluster) -> Callable[[str], Transport]:
    return lambda host: Transport(
        open=lambda command: CommandChannel(ssh_command(cluster.ssh, host, command)),
        explanations=_EXPLANATIONS,
        subject=f'`hosts` holds "{host}", which',
        check="Check that the host runs and that ssh works without a question.",
    )


def ssh_command(ssh: Sequence[str], host: str, command: Sequence[str]) -> list[str]:
    return [ssh[0], *_OPTIONS, *ssh[1:], "--", host, shlex.join(command)]
