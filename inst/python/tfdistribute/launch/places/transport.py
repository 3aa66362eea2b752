"""Differences between ssh, srun and frameworks in how agents are started."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfdistribute import __version__
from tfdistribute.errors import ClusterError
from tfdistribute.gpus import VISIBLE
from tfdistribute.launch.places.channel import Channel

# Reads the finder's source and runs it. Without line breaks and single quotes, any remote shell passes it on.
LOADER = "import sys;i=sys.stdin.buffer;exec(i.read(int(i.read(8))))"
_FINDER = Path(__file__).with_name("finder.py")
_ROOT = str(Path(__file__).parents[3])

# A pattern of the output of an agent or its command, with its meaning and the remedy.
Explanation = tuple[str, str, str]

SPACE_REMEDY = (
    "Free space there, or name a directory on another disk: `environment = c(TMPDIR = ...)`."
)
_FULL = (
    "No space left on device|No usable temporary directory",
    "it has no space for temporary files",
    SPACE_REMEDY,
)
_NOT_WRITABLE = (
    r"\] (.*): '{temporary}",
    'files cannot be written to its TMPDIR, "{temporary}" ({0})',
    "Create the directory there, or name another one: `environment = c(TMPDIR = ...)`.",
)
_OLD_PYTHON = (
    "found Python (.*)",
    "its {python} is Python {0}, and 3.10 or later is needed",
    "Give the path of another one as `python`.",
)
OTHER_PACKAGE = re.compile("found tfdistribute (.*)")
_VERSION_REMEDIES = {
    "tfdistribute": "Install the same version in R's library on the host, or name its library as `libraries`.",
    "TensorFlow": "Install the same version on the host, or name another `python`.",
}


@dataclass(frozen=True)
class Transport:
    """How a host is reached.

    Args:
        open: Opens a channel for the agent's command; OSError if a program is missing.
        rscript: Rscript on the host; None if the tasks are not R.
        temporary: Directory for the files of the job on the host; None for the host's own.
        lease_s: Seconds without a sign of life after which each end gives up the other.
        argument: The argument of the cluster that names the host.
        subject: The host as the subject of a relative clause.
        check: Remedy when the reason for a loss is not known.
        when_twice: Remedy when two names are of one machine; empty if they share nothing.
        cpus: Cores that the tasks on the host may use; None for all.
        release: Called when the host is given up for good, with the seconds that this may take.
        ends_job: Whether SIGTERM on a host is the end of the job, and not only of the host.
    """

    open: Callable[[Sequence[str]], Channel]
    explanations: Sequence[Explanation] = ()
    python: str = "python3"
    rscript: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    temporary: str | None = None
    lease_s: float = 30.0
    argument: str = "hosts"
    subject: str = "This host"
    check: str = "Check that the host runs."
    when_twice: str = "Name each machine once."
    # How long ssh may take to connect, and a host to answer.
    connect_s: float = 25.0
    cpus: int | None = None
    gpus: bool = True
    release: Callable[[float], None] = field(default=lambda seconds: None)
    ends_job: bool = False

    def agent_source(self) -> bytes:
        """Return the program that finds the package on the host, and becomes an agent."""
        return finder_source(
            "tfdistribute.launch.places.agent", (self.temporary,), self.rscript, self.environment
        )

    def cores(self, facts: Mapping[str, Any]) -> list[int]:
        """List the cores that tasks may use; empty if others use some of the host's, and which ones is not known."""
        cores = list(facts.get("cores", ()))
        return [] if self.cpus is not None and len(cores) > self.cpus else cores

    def limits(self, facts: Mapping[str, Any]) -> dict[str, str]:
        """Return variables that keep tasks to their share of a host that others use."""
        is_shared = self.cpus is not None and not self.cores(facts)
        threads = {"TF_NUM_INTRAOP_THREADS": str(self.cpus)} if is_shared else {}
        return threads if self.gpus else {**threads, VISIBLE: ""}

    def explain(self, host: str, said: str, is_started: bool = False) -> tuple[str, str] | None:
        """Return the problem and the remedy behind the output of an agent or its command; None if it is not known."""
        values = {"host": host, "python": self.python, "temporary": self.temporary or ""}
        anytime = (_FULL, *((_NOT_WRITABLE,) if self.temporary else ()))
        at_start = () if is_started else (_OLD_PYTHON, *self.explanations)
        for pattern, problem, remedy in (*anytime, *at_start):
            match = re.search(pattern.replace("{temporary}", re.escape(values["temporary"])), said)
            if match is not None:
                return problem.format(*match.groups(), **values), remedy.format(**values)
        return None

    def other_version(self, host: str, said: str) -> ClusterError | None:
        match = OTHER_PACKAGE.search(said)
        return match and version_problem(host, "tfdistribute", match[1], __version__)


def finder_source(
    module: str, arguments: Sequence[Any], rscript: str | None, environment: Mapping[str, str]
) -> bytes:
    """Return what ``LOADER`` reads to run a module of this package with its own and these arguments."""
    libraries = environment.get("R_LIBS", "").split(os.pathsep)
    values = {
        "module": module,
        "arguments": tuple(arguments),
        "version": __version__,
        "oldest": (3, 10),
        "paths": [*(f"{path}/tfdistribute/python" for path in libraries if path), _ROOT],
        "rscript": rscript or "Rscript",
        "environment": dict(environment),
    }
    source = _FINDER.read_bytes() + f"\nbecome(**{values!a})\n".encode()
    return b"%08d" % len(source) + source


def agent_command(python: str, lease_s: float, job: str) -> list[str]:
    """Return the command that becomes an agent when it has read ``agent_source`` from its standard input."""
    return [python, "-I", "-S", "-c", LOADER, f"{lease_s:g}", job]


def version_problem(host: str, package: str, version: str, wanted: str) -> ClusterError:
    has = f"has {package} {version}"
    if (package, version) == ("tfdistribute", "none"):
        has = "does not have tfdistribute"
    problem = f"{host} {has}, and this machine {wanted}."
    return ClusterError(problem, _VERSION_REMEDIES[package], argument="hosts", value=host)
