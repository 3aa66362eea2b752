"""Clusters whose hosts are members of a gang: processes that a framework such as Ray starts together and replaces."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.spec import EVALUATOR, PS, FlexibleWorkers, Task, Timeout
from tfdistribute.descriptions.constraints import Count, Fact, Ge, Le


@dataclass(frozen=True, kw_only=True)
class FrameworkCluster(HostsCluster):
    """Processes of a framework; ``member`` is its word for one that trains or holds variables.

    Args:
        cpus_per_worker: CPUs that the processes in each daemon use, a count.
        gpus_per_worker: GPUs that the processes in each daemon use, a count from 0.
        workers: Processes that train, including the chief, a count of at most 1000. Each has its own actor. Two counts
            such as `c(2, 4)` are the fewest and the most workers, see section Lost nodes. They require `ps = 0`.
        resize_every_s: Minimum seconds between a start of the training and a restart that only adds workers, a number.
    """

    framework: ClassVar[str]
    member: ClassVar[str]

    workers: FlexibleWorkers
    cpus_per_worker: Annotated[int, Ge(1), Le(10_000)] = 1  # Parameter servers have as many.
    gpus_per_worker: Annotated[int, Ge(0), Le(10_000)] = 0
    resize_every_s: Timeout = 60.0
    devices_per_worker: Annotated[Count, Fact.INTERNAL] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "devices_per_worker", max(1, self.gpus_per_worker))

    @property
    def names_of_hosts(self) -> tuple[str, ...]:
        return tuple(f"{self.member} {number}" for number in range(self.most_workers + self.ps))

    def host_of(self, task: Task) -> str:
        first = {PS: self.most_workers, EVALUATOR: 0, "worker": 1}
        return self.names_of_hosts[first.get(task.type, 0) + task.index]
