"""Clusters and their tasks as plain values."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from tfdistribute.cluster.addresses import ADDRESS, PORT, parse_address, same_addresses
from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Count, Expected, Fact, Ge, Le, Len, Never, Text
from tfdistribute.errors import ClusterError

# The roles in the `cluster` of TF_CONFIG, in TensorFlow's order; an evaluator is not part of it.
TRAINING_ROLES = ("chief", "worker", "ps")
PS = "ps"
EVALUATOR = "evaluator"

# A task that is still computing may take this many times start_timeout_s for its first step.
START_PATIENCE = 5
ROLES = (*TRAINING_ROLES, EVALUATOR)

START_TIMEOUT_S = 60.0
STALL_TIMEOUT_S = 300.0
# Least time without a sign of life after which a task counts as lost.
_SILENCE_S = 30.0

Network = Literal["auto", "private", "open"]

# More processes of one kind do not fit on a machine: each that trains takes about 650 MB.
Workers = Annotated[int, Ge(1), Le(1000)]
Servers = Annotated[int, Ge(0), Le(1000)]
# The chief included; the fewest and the most if the training goes on without lost hosts.
FlexibleWorkers = Annotated[
    Workers | Annotated[tuple[Workers, ...], Len(2, 2, "weakly")],
    Expected("one count, or the fewest and the most workers of at most 1000"),
]
Timeout = Annotated[float, Ge(1)]
Restarts = Annotated[int, Ge(0)]
Addresses = tuple[Annotated[Text, ADDRESS, PORT], ...]


def silence_s(stall_timeout_s: float) -> float:
    return min(stall_timeout_s, max(_SILENCE_S, stall_timeout_s / 10))


@dataclass(frozen=True)
class Task(Description):
    type: str  # "chief", "worker", "ps" or "evaluator"; any text until it is checked.
    index: int = 0

    @property
    def trains(self) -> bool:
        return self.type in ("chief", "worker")

    def __str__(self) -> str:
        return f"{self.type} {self.index}"


def chief_of(tasks: Iterable[Task]) -> Task | None:
    """Return the task that writes checkpoints, the chief or worker 0, of tasks in TensorFlow's order of roles."""
    return next((task for task in tasks if task.trains), None)


@dataclass(frozen=True)
class Supervision:
    start_timeout_s: float
    stall_timeout_s: float
    restarts: int = 3
    network: str = "auto"


@dataclass(frozen=True)
class Cluster(Description):
    in_words: ClassVar[str] = "a cluster such as local_cluster(2)"

    @property
    def supervision(self) -> Supervision:
        raise NotImplementedError

    @property
    def addresses(self) -> dict[str, tuple[str, ...]]:
        """Addresses by role, including the evaluator's; empty text while they are unknown."""
        raise NotImplementedError

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(task for task, _ in self.tasks_at_addresses())

    @property
    def training_processes(self) -> int:
        return sum(task.trains for task in self.tasks)

    @property
    def has_servers(self) -> bool:
        """Whether parameter servers hold the variables, so that workers do not wait for each other."""
        return any(task.type == "ps" for task in self.tasks)

    def tasks_at_addresses(self) -> Iterator[tuple[Task, str]]:
        for role in ROLES:
            for index, address in enumerate(self.addresses.get(role, ())):
                yield Task(role, index), address

    def __str__(self) -> str:
        tasks = self.tasks
        return (
            f"a cluster of {len(tasks)} task{'' if len(tasks) == 1 else 's'} "
            f"({', '.join(str(task) for task in tasks)})"
        )


@dataclass(frozen=True)
class ClusterSpec(Cluster, kind="addresses"):
    """A cluster whose addresses are known.

    Construction only rejects errors that cannot be mended, because addresses reach command lines; ``checks`` finds
    others.

    Args:
        chief: Address of the task that coordinates training and writes checkpoints, a string `"host:port"`. NULL makes
            the first worker the chief. Required with `ps`.
        worker: Addresses of the other training tasks, strings.
        ps: Addresses of the parameter servers, strings.
        evaluator: Host of the task that evaluates checkpoints, a string. It needs no port because it does not listen.
        task: The task of this process, a string such as `"worker 1"` (TensorFlow counts from 0) or a list with `type`
            and `index`. NULL if this process is not a task.
        start_timeout_s: Seconds to wait for a task that does not answer, a number. A task that answers but is still
            preparing its training has up to five times as long. After that, training fails with an error that names the
            task.
        stall_timeout_s: Seconds without a step after which the training counts as stalled, a number. A task without
            heartbeats, because it is frozen or its host is down, counts as lost after a tenth of this time, but not
            before 30 seconds.
    """

    chief: Addresses = ()
    worker: Addresses = ()
    ps: Addresses = ()
    evaluator: Addresses = ()  # Hosts, with or without a port: it does not listen.
    task: Task | None = None
    source: Annotated[str | None, Fact.INTERNAL] = (
        None  # Environment variable that it was read from.
    )
    # For a task that does not answer; START_PATIENCE times as long if it answers.
    start_timeout_s: Timeout = START_TIMEOUT_S
    # Without a step; a task is lost after a tenth of it, see ``silence_s``.
    stall_timeout_s: Timeout = STALL_TIMEOUT_S

    def __post_init__(self) -> None:
        super().__post_init__()
        texts = dict(self.tasks_at_addresses())
        for task, address in texts.items():
            # A wrong IP address in brackets.
            if parse_address(address) is None:
                raise ClusterError(
                    f"`{task.type}` holds {address!r}, which is not an address.",
                    ADDRESS.remedy,
                    value=address,
                )
        listening = {
            task: text.lower()
            for task, text in texts.items()
            if task.type != EVALUATOR and ":" in text.rpartition("]")[2]
        }
        for finding in same_addresses(texts, listening):
            role = finding.field.partition(" ")[0]
            raise ClusterError(finding.message, finding.fix, argument=role, value=finding.field)

    @classmethod
    def of(cls, addresses: Mapping[Task, str]) -> "ClusterSpec":
        ordered = sorted(addresses, key=lambda task: task.index)

        def of_role(role: str) -> tuple[str, ...]:
            return tuple(addresses[task] for task in ordered if task.type == role)

        return cls(of_role("chief"), of_role("worker"), of_role(PS), of_role(EVALUATOR))

    @property
    def addresses(self) -> dict[str, tuple[str, ...]]:
        return {role: getattr(self, role) for role in ROLES if getattr(self, role)}

    @property
    def supervision(self) -> Supervision:
        return Supervision(self.start_timeout_s, self.stall_timeout_s)


@dataclass(frozen=True)
class StartedCluster(Cluster):
    """A cluster whose processes are started for a job, and whose addresses are chosen then.

    Args:
        ps: Parameter servers, a count of at most 1000.
        evaluator: Whether an additional container evaluates checkpoints, TRUE or FALSE.
    """

    rules: ClassVar[tuple[Never, ...]] = (
        Never(
            {"workers": Annotated[tuple[int, ...], Len(2)], "ps": Count},
            "`workers` is {workers}, and a training with parameter servers (`ps` = {ps}) has a fixed number of "
            "workers.",
            "Use one number: the other workers of such a training go on without a lost one.",
        ),
    )

    workers: Workers | tuple[int, ...]
    ps: Servers = 0
    evaluator: bool = True

    @property
    def fewest_workers(self) -> int:
        return min(self.workers, default=0) if isinstance(self.workers, tuple) else self.workers

    @property
    def most_workers(self) -> int:
        return max(self.workers, default=0) if isinstance(self.workers, tuple) else self.workers

    @property
    def addresses(self) -> dict[str, tuple[str, ...]]:
        counts = {
            "chief": 1,
            "worker": self.most_workers - 1,
            PS: self.ps,
            EVALUATOR: int(self.evaluator),
        }
        return {role: ("",) * count for role, count in counts.items() if count}


@dataclass(frozen=True)
class LocalCluster(StartedCluster, kind="local"):
    """Describe a cluster of processes on this machine.

    Args:
        evaluator: Whether an additional process evaluates checkpoints, TRUE or FALSE.
        workers: Processes that train, including the chief, a count of at most 1000.
        devices_per_worker: Devices of each training process, a count. On a machine with NVIDIA GPUs, each process sees
            that many GPUs of its own (`CUDA_VISIBLE_DEVICES`), or shares them if there are too few. The evaluator sees
            a remaining GPU, and parameter servers see none. Without GPUs, the count must be 1.
        memory_limit_mb: Memory that a process may allocate on each GPU, in megabytes, so that several processes can
            share a GPU. NULL sets no limit. TensorFlow cannot limit CPU memory, so without GPUs the processes fail
            after they have started.
        start_timeout_s: Seconds that each training process has for its first step, a number. A process that is
            computing has up to five times as long. After that, the job fails and names the processes that never
            started.
        stall_timeout_s: Seconds without a step of any process after which the job counts as stalled, a number.
        restarts: Maximum number of restarts of processes, a count. After the first restart of all training tasks, each
            host keeps an idle process of 420 MB that has loaded TensorFlow, so that the next restart takes less time.
        network: `"private"` for a network of the job's own, or `"open"` for the machine's network. `"auto"` (default)
            uses a private network if it is available and the model is stored on this machine. Otherwise it uses an open
            network, with a warning. From a private network, tasks cannot reach services on this machine, such as a
            database. A training that names one, such as `"localhost:5432"`, is an error.
    """

    workers: Workers
    devices_per_worker: Count = 1
    memory_limit_mb: Annotated[float, Ge(1)] | None = None  # Of each process on each GPU.
    # To the first step; START_PATIENCE times as long for a task that computes.
    start_timeout_s: Timeout = START_TIMEOUT_S
    stall_timeout_s: Timeout = STALL_TIMEOUT_S
    restarts: Restarts = 3
    # A "private" one only the job's processes see; "auto": if the kernel allows it.
    network: Network = "auto"

    @property
    def supervision(self) -> Supervision:
        return Supervision(self.start_timeout_s, self.stall_timeout_s, self.restarts, self.network)
