"""This process as one task of a cluster."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tfdistribute import task_events
from tfdistribute.cluster.checks import check_at_start
from tfdistribute.cluster.spec import (
    EVALUATOR,
    PS,
    TRAINING_ROLES,
    Cluster,
    ClusterSpec,
    Task,
    chief_of,
)
from tfdistribute.cluster.tf_config import TfConfig, read_tf_config, to_tf_config
from tfdistribute.errors import ClusterError

# Trainings of this process by their clusters. All tasks of a cluster call the same verbs, so they count alike.
_trainings = Counter[str]()


@dataclass(frozen=True)
class Member:
    # Addresses by role, without the evaluator, which does not listen.
    cluster: dict[str, tuple[str, ...]]
    task: Task
    protocol: str = "grpc"

    @classmethod
    def of(cls, config: TfConfig | None, protocol: str | None = None) -> "Member | None":
        """Make the member of a parsed TF_CONFIG; None if it does not name a task of a cluster."""
        if config is None or config.task_type is None or not config.cluster:
            return None
        cluster = {role: each for role, each in config.cluster.items() if role != EVALUATOR}
        return cls(cluster, Task(config.task_type, config.task_index), protocol or "grpc")

    @classmethod
    def here(cls) -> "Member | None":
        return cls.of(read_tf_config(os.environ))

    @property
    def training_tasks(self) -> tuple[tuple[Task, str], ...]:
        return tuple(each for each in self._tasks(*TRAINING_ROLES) if each[0].trains)

    @property
    def servers(self) -> tuple[tuple[Task, str], ...]:
        return tuple(self._tasks(PS))

    @property
    def chief(self) -> tuple[Task, str] | None:
        chief = chief_of(task for task, _ in self.training_tasks)
        return None if chief is None else (chief, self.cluster[chief.type][chief.index])

    @property
    def is_chief(self) -> bool:
        return self.chief is not None and self.chief[0] == self.task

    @property
    def evaluates(self) -> bool:
        return self.task.type == EVALUATOR

    @property
    def serves(self) -> bool:
        return self.task.type == PS

    @property
    def rank(self) -> int:
        return [task for task, _ in self.training_tasks].index(self.task)

    @property
    def in_step(self) -> bool:
        """Whether several tasks train and wait for each other in every step, as they do without parameter servers."""
        return len(self.training_tasks) > 1 and not self.servers

    @property
    def is_alone(self) -> bool:
        return self.task.trains and len(self.training_tasks) == 1 and not self.servers

    @property
    def address(self) -> str:
        addresses = self.cluster.get(self.task.type, ())
        return addresses[self.task.index] if self.task.index < len(addresses) else ""

    @property
    def target(self) -> str:
        """Address of the server for this task's sessions; empty for a task that needs no server."""
        return "" if self.is_alone else f"{self.protocol}://{self.address}"

    @property
    def job_name(self) -> str:
        directory = os.environ.get(task_events.JOB)
        if directory:
            return os.path.basename(os.path.normpath(directory))
        return self._name

    @property
    def training(self) -> int:
        """Number of the current training in this cluster, by which tasks and the keys of sums tell trainings apart."""
        return _trainings[self._name]

    def begin_training(self) -> int:
        _trainings[self._name] += 1
        return self.training

    @property
    def _name(self) -> str:
        return json.dumps({role: list(each) for role, each in sorted(self.cluster.items())})

    @property
    def needed(self) -> tuple[tuple[Task, str], ...]:
        """The other tasks without which this one cannot take a step.

        With parameter servers, the chief is one, because it initializes the variables.
        """
        with_servers = (*self.servers, *self.training_tasks[:1])
        others = with_servers if self.servers else self.training_tasks
        return tuple((task, address) for task, address in others if task != self.task)

    @property
    def watched(self) -> tuple[tuple[Task, str], ...]:
        """The tasks whose signs of life this one watches.

        In step, only the chief watches all and tells the others, so watching does not grow with the square of the
        tasks.
        """
        chief = self.chief
        if not self.in_step or self.is_chief or chief is None:
            return self.needed
        return (chief,)

    @property
    def dependents(self) -> tuple[tuple[Task, str], ...]:
        """The tasks that this one tells why it ends: the chief tells all others, and each of them tells the chief."""
        everyone = (*self.servers, *self.training_tasks)
        if self.is_chief:
            return tuple(each for each in everyone if each[0] != self.task)
        # With parameter servers, the others go on without a worker.
        is_needed = (self.in_step or self.serves) and not self.evaluates
        return () if self.chief is None or not is_needed else (self.chief,)

    def _tasks(self, *roles: str) -> Iterator[tuple[Task, str]]:
        for role in roles:
            for index, address in enumerate(self.cluster.get(role, ())):
                yield Task(role, index), address


def enter_cluster(cluster: Cluster | None, protocol: str | None = None) -> Member | None:
    """Become the task of a cluster that this process trains as, and return it; None if the process trains alone.

    If ``cluster`` names the task of this process, TF_CONFIG is set accordingly. Raises ClusterError if
    TF_CONFIG cannot be read, or its cluster has a mistake, see ``checks``.
    """
    if (
        isinstance(cluster, ClusterSpec)
        and cluster.task is not None
        and not os.environ.get("TF_CONFIG")
    ):
        os.environ["TF_CONFIG"] = to_tf_config(cluster, cluster.task)
    config = read_tf_config(os.environ)
    if config is not None:
        check_at_start(config)
        if config.task_type is None:
            raise ClusterError(
                f"TF_CONFIG has a cluster of {config.tasks} tasks, and does not say which of them this process is.",
                'Add a task such as {"type": "chief", "index": 0}, or unset TF_CONFIG to train on this machine alone.',
                argument="TF_CONFIG",
                value="task",
            )
    member = Member.of(config, protocol=protocol)
    if member is None or (member.is_alone and not task_events.is_supervised()):
        return None
    return member
