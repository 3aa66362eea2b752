"""How hosts are reached: what differs between ssh and srun."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

SPACE_REMEDY = (
    "Free space there, or name a directory on another disk: `environment = c(TMPDIR = ...)`."
)
DIRECTORY_REMEDY = (
    "Create the directory there, or name another one: `environment = c(TMPDIR = ...)`."
)


@dataclass(frozen=True)
class Transport:
    """How a host is reached.

    Args:
        command: Turns the agent's command into the one that runs it on the host.
        explain: Turns what that command wrote before it ended into a problem and a remedy; None if it says nothing.
        lease_s: Seconds without a sign of life after which each end gives up the other.
        argument: The argument of the cluster that names the host.
        subject: The host as the subject of a relative clause.
        check: What to do when the reason for a loss is not known.
        when_twice: What to do when two names are those of one machine.
        temporary: Directory for the files of the job on the host; None for that of the host.
        ignores_end: Whether tasks ignore SIGTERM, because others than the supervisor send it.
    """

    command: Callable[[Sequence[str]], Sequence[str]]
    explain: Callable[[str], tuple[str, str] | None] = field(default=lambda said: None)
    python: str = "python3"
    lease_s: float = 30.0
    argument: str = "hosts"
    subject: str = "This host"
    check: str = "Check that the host runs."
    when_twice: str = "Name each machine once."
    temporary: str | None = None
    ignores_end: bool = False
