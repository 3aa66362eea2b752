"""Which task of a cluster this process is, and whom it needs. Plain Python."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tfdistribute.cluster.spec import EVALUATOR, Task
from tfdistribute.cluster.tf_config import TfConfig, read_tf_config

PS = "ps"


@dataclass(frozen=True)
class Member:
    """This process as a task of a cluster.

    Args:
        cluster: Addresses ("host:port") by role.
        task: The task that this process is.
    """

    cluster: dict[str, tuple[str, ...]]
    task: Task

    @classmethod
    def here(cls, environment: Mapping[str, str] | None = None) -> Member | None:
        """Find out from TF_CONFIG.

        Args:
            environment: Variables by name; None for those of this process.

        Returns:
            The member; None where TF_CONFIG names no task of a cluster.

        Raises:
            ClusterError: TF_CONFIG cannot be read.
        """
        return cls.of(read_tf_config(os.environ if environment is None else environment))

    @classmethod
    def of(cls, config: TfConfig | None) -> Member | None:
        """Take a TF_CONFIG that was read; None where it names no task of a cluster."""
        if config is None or config.task_type is None or not config.cluster:
            return None
        return cls(config.cluster, Task(config.task_type, config.task_index))

    @property
    def training_tasks(self) -> tuple[tuple[Task, str], ...]:
        """Tasks that compute gradients with their addresses, in the order of their numbers in the cluster."""
        return tuple(self._placed("chief")) + tuple(self._placed("worker"))

    @property
    def servers(self) -> tuple[tuple[Task, str], ...]:
        """Parameter servers with their addresses."""
        return tuple(self._placed(PS))

    @property
    def chief(self) -> tuple[Task, str] | None:
        """The task that writes checkpoints: the chief, or worker 0 where there is none."""
        return next(iter(self.training_tasks), None)

    @property
    def is_chief(self) -> bool:
        """Whether this process writes checkpoints."""
        return self.chief is not None and self.chief[0] == self.task

    @property
    def trains(self) -> bool:
        """Whether this process computes gradients."""
        return any(task == self.task for task, _ in self.training_tasks)

    @property
    def evaluates(self) -> bool:
        """Whether this process is the evaluator."""
        return self.task.type == EVALUATOR

    @property
    def serves(self) -> bool:
        """Whether this process is a parameter server."""
        return self.task.type == PS

    @property
    def position(self) -> int:
        """Number of this process among the tasks that train."""
        return [task for task, _ in self.training_tasks].index(self.task)

    @property
    def address(self) -> str:
        """Where this process listens; empty where it does not."""
        addresses = self.cluster.get(self.task.type, ())
        return addresses[self.task.index] if self.task.index < len(addresses) else ""

    @property
    def is_alone(self) -> bool:
        """Whether this process trains without any other."""
        return self.trains and len(self.training_tasks) == 1 and not self.servers

    @property
    def needed(self) -> tuple[tuple[Task, str], ...]:
        """The others without whom this process cannot take a step.

        With parameter servers these are the servers, and the chief, who gives the variables their first values;
        without, everybody who trains.
        """
        with_servers = (*self.servers, *self.training_tasks[:1])
        others = with_servers if self.servers else self.training_tasks
        return tuple((task, address) for task, address in others if task != self.task)

    def _placed(self, role: str) -> Iterator[tuple[Task, str]]:
        for index, address in enumerate(self.cluster.get(role, ())):
            yield Task(role, index), address
