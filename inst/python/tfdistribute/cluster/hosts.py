"""Clusters whose tasks run on several hosts, and are started there by this package."""

from dataclasses import dataclass, field
from typing import Annotated

from tfdistribute.cluster.spec import (
    EVALUATOR,
    STALL_TIMEOUT_S,
    Restarts,
    StartedCluster,
    Supervision,
    Task,
    Timeout,
)
from tfdistribute.descriptions.constraints import ONE_LINE, Count, Fact, Ge, Line, Pattern

VARIABLE = Pattern(
    "[A-Za-z_][A-Za-z0-9_]*", "`{argument}` holds {value}, which is not the name of a variable."
)
Variables = Annotated[dict[Annotated[str, VARIABLE], Annotated[str, ONE_LINE]], Fact.SECRET]


@dataclass(frozen=True, kw_only=True)
class HostsCluster(StartedCluster):
    """Processes on hosts, with the evaluator on the host of the chief.

    Args:
        rscript: Path of `Rscript` on the hosts, a string.
        python: Path of Python with TensorFlow on the hosts, a string. NULL uses the path of this session's Python.
        libraries: Paths of R package libraries on the hosts, strings. NULL uses the libraries of this session.
        environment: Environment variables of all processes, strings with names. `TMPDIR` is the directory for the files
            of the job on the hosts.
        lease_s: Seconds after which a host that is out of reach counts as lost, a number of at least 5.
        start_timeout_s: Seconds that each training process has for its first step, a number. A process that is
            computing has up to five times as long. After that, the job fails and names the processes that never
            started.
        stall_timeout_s: Seconds without a step of any process after which the job counts as stalled, a number.
        restarts: Maximum number of restarts of processes, a count. After the first restart of all training tasks, each
            host keeps an idle process of 420 MB that has loaded TensorFlow, so that the next restart takes less time.
        devices_per_worker: Devices of each training process, a count. On a machine with NVIDIA GPUs, each process sees
            that many GPUs of its own (`CUDA_VISIBLE_DEVICES`), or shares them if there are too few. The evaluator sees
            a remaining GPU, and parameter servers see none. Without GPUs, the count must be 1.
    """

    devices_per_worker: Count = 1
    rscript: Line = "Rscript"
    python: Line | None = None  # None for that of the session.
    libraries: tuple[Line, ...] = ()  # Of R; none for those of the session.
    environment: Variables = field(default_factory=dict[str, str])
    # Without a sign of life for so long, a host counts as lost, and ends its tasks.
    lease_s: Annotated[float, Ge(5)] = 30.0
    start_timeout_s: Timeout = 120.0
    stall_timeout_s: Timeout = STALL_TIMEOUT_S
    restarts: Restarts = 3

    @property
    def names_of_hosts(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def given_addresses(self) -> dict[str, str]:
        """Addresses by host at which the tasks reach each other, as far as the user names them."""
        return {}

    @property
    def supervision(self) -> Supervision:
        return Supervision(self.start_timeout_s, self.stall_timeout_s, self.restarts, "open")

    def host_of(self, task: Task) -> str:
        number = task.index + (task.type == "worker")
        hosts = self.names_of_hosts
        return hosts[0 if task.type == EVALUATOR else number % len(hosts)]
