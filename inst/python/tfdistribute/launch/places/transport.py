"""How the agents of hosts are started, and what it means if one does not start: what differs between ssh and srun."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tfdistribute import __version__
from tfdistribute.errors import ClusterError

# Reads the finder's source and runs it. Neither line breaks nor single quotes: any remote shell passes it on.
_LOADER = "import sys;i=sys.stdin.buffer;exec(i.read(int(i.read(8))))"
_FINDER = Path(__file__).with_name("finder.py")
_ROOT = str(Path(__file__).parents[3])
_OLDEST_PYTHON = (3, 10)

# What the finder says, and an agent that cannot write its files or finds no directory for them.
_FOUND = re.compile(r"^found (tfdistribute|Python) (\S+)$", re.MULTILINE)
_NO_SPACE = re.compile("No space left on device|No usable temporary directory")

SPACE_REMEDY = (
    "Free space there, or name a directory on another disk: `environment = c(TMPDIR = ...)`."
)
_DIRECTORY_REMEDY = (
    "Create the directory there, or name another one: `environment = c(TMPDIR = ...)`."
)
_VERSION_REMEDIES = {
    "tfdistribute": "Install the same version in R's library on the host, or name its library as `libraries`.",
    "TensorFlow": "Install the same version on the host, or name another `python`.",
}


@dataclass(frozen=True)
class Transport:
    """How a host is reached.

    Args:
        command: Turns the agent's command into the one that runs it on the host.
        explain: Turns what that command wrote before it ended into a problem and a remedy; None if it says nothing.
        python: Python on the host; the package is looked for where it, R or the session has it.
        lease_s: Seconds without a sign of life after which each end gives up the other.
        argument: The argument of the cluster that names the host.
        subject: The host as the subject of a relative clause.
        check: What to do when the reason for a loss is not known.
        when_twice: What to do when two names are those of one machine.
        temporary: Directory for the files of the job on the host; None for that of the host.
        ignores_end: Whether tasks ignore SIGTERM, because others than the supervisor send it.
        rscript: Rscript on the host.
        environment: Variables of the tasks.
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
    rscript: str = "Rscript"
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def agent_source(self) -> bytes:
        """Return the program that finds the package on the host, and becomes an agent."""
        libraries = self.environment.get("R_LIBS", "").split(os.pathsep)
        arguments = {
            "version": __version__,
            "oldest": _OLDEST_PYTHON,
            "temporary": self.temporary,
            "paths": [*(f"{path}/tfdistribute/python" for path in libraries if path), _ROOT],
            "rscript": self.rscript,
            "environment": dict(self.environment),
        }
        source = _FINDER.read_bytes() + f"\nbecome_agent(**{arguments!a})\n".encode()
        return b"%08d" % len(source) + source

    def why_lost(self, said: str, lost: str, has_answered: bool) -> tuple[str, str]:
        """Say why the host is out of reach, as the end of a sentence, and what to do.

        Args:
            said: What the command wrote besides frames.
            lost: What the connection knows.
            has_answered: Whether an agent was there.
        """
        if re.search(_NO_SPACE, said):
            return "it has no space for temporary files", SPACE_REMEDY
        refused = re.search(rf"\] (.*): '{re.escape(self.temporary or '/')}", said)
        if self.temporary and refused is not None:
            why = f'files cannot be written to its TMPDIR, "{self.temporary}" ({refused[1]})'
            return why, _DIRECTORY_REMEDY
        explained = None if has_answered else self._why_not_started(said)
        if explained is not None:
            return explained
        last = f" ({said.splitlines()[-1]})" if said else ""
        return f"{lost}{last}", self.check

    def _why_not_started(self, said: str) -> tuple[str, str] | None:
        found = _FOUND.search(said)
        if found is None or found[1] != "Python":
            return self.explain(said)
        oldest = ".".join(map(str, _OLDEST_PYTHON))
        why = f"its {self.python} is Python {found[2]}, and {oldest} or later is needed"
        return why, "Give the path of another one as `python`."

    def problem(self, host: str, said: str, lost: str, has_answered: bool) -> ClusterError:
        found = None if has_answered else _FOUND.search(said)
        if found is not None and found[1] == "tfdistribute":
            return version_problem(host, "tfdistribute", found[2], __version__)
        why, remedy = self.why_lost(said, lost, has_answered)
        problem = f"{self.subject} cannot be used: {why}."
        return ClusterError(problem, remedy, argument=self.argument, value=host)


def agent_command(python: str, lease_s: float, job: str) -> list[str]:
    """Return the command that becomes the agent of a job when it has read ``agent_source`` from its standard input."""
    return [python, "-I", "-S", "-c", _LOADER, f"{lease_s:g}", job]


def version_problem(host: str, package: str, found: str, wanted: str) -> ClusterError:
    """Say that a host has another version of a package, or none."""
    has = f"has {package} {found}"
    if (package, found) == ("tfdistribute", "none"):
        has = "does not have tfdistribute"
    problem = f"{host} {has}, and this machine {wanted}."
    return ClusterError(problem, _VERSION_REMEDIES[package], argument="hosts", value=host)
