"""The tasks of a job as processes: what each of them is started with, and how they are ended. Plain Python."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator

from tfdistribute.cluster.ports import free_ports
from tfdistribute.cluster.spec import EVALUATOR, ClusterSpec, LocalCluster, Task
from tfdistribute.cluster.tf_config import to_tf_config
from tfdistribute.errors import BackendError
from tfdistribute.launch.host import processes
from tfdistribute.launch.host.affinity import own_cores, shared_out
from tfdistribute.launch.host.gpus import dealt, own_gpus
from tfdistribute.launch.setup import Ground
from tfdistribute.launch.task_process import Start, TaskProcess
from tfdistribute.launch.task_view import TaskView

# In a network of their own tasks have every port.
_FIRST_PRIVATE_PORT = 2222


class Team:
    """All tasks of a job.

    Args:
        ground: What the job stands on.
    """

    def __init__(self, ground: Ground) -> None:
        self.job = ground.job
        self._is_private = ground.is_private
        events = os.path.join(self.job.directory, "events")
        os.makedirs(events, mode=0o700, exist_ok=True)
        self.tasks = [
            TaskProcess(
                task,
                os.path.join(ground.logs, f"{task.type}-{task.index}.log"),
                os.path.join(events, f"{task.type}-{task.index}"),
            )
            for task in self.job.tasks
        ]
        for task in self.tasks:
            with contextlib.suppress(OSError):
                task.log_start = os.path.getsize(task.log)
        training = [task for task in self.job.tasks if task.trains]
        self._cores = dict(zip(training, shared_out(own_cores(), len(training)), strict=True))
        self._gpus = self._dealt_gpus()
        self._cluster: ClusterSpec = self._addressed()

    def __getitem__(self, task: Task) -> TaskProcess:
        return next(each for each in self.tasks if each.task == task)

    def __iter__(self) -> Iterator[TaskProcess]:
        return iter(self.tasks)

    @property
    def views(self) -> list[TaskView]:
        """What is known of each task."""
        return [task.view for task in self.tasks]

    @property
    def is_ended(self) -> bool:
        """Whether no process runs any more."""
        return not any(task.view.is_running for task in self.tasks)

    def change_ports(self) -> None:
        """Choose other ports for the tasks that will be started."""
        self._cluster = self._addressed()

    def _addressed(self) -> ClusterSpec:
        listening = [task for task in self.job.cluster.tasks if task.type != EVALUATOR]
        first = _FIRST_PRIVATE_PORT
        fixed = tuple(range(first, first + len(listening)))
        cluster = self.job.addressed(fixed if self._is_private else free_ports(len(listening)))
        for task, address in cluster.placed():
            port = address.rpartition(":")[2]
            if task.type != EVALUATOR:
                self[task].port = int(port) if port.isdecimal() else None
        return cluster

    def _dealt_gpus(self) -> dict[Task, dict[str, str]]:
        if not isinstance(self.job.cluster, LocalCluster):
            return {}
        gpus = own_gpus({**os.environ, **self.job.environment})
        return dealt(gpus, self.job.tasks, self.job.cluster.devices_per_worker)

    def start(self, tasks: Iterable[TaskProcess], restarts: int) -> None:
        """Start tasks.

        Args:
            tasks: Which.
            restarts: How often tasks of this job were started again.

        Raises:
            BackendError: the program that they are to run cannot be run.
        """
        for task in tasks:
            try:
                task.start(self._start_of(task, restarts))
            except OSError as error:
                raise BackendError(
                    f'{task.name} cannot be started: "{self.job.command[0]}" in '
                    f'"{self.job.working_directory}": {error.strerror}.',
                    "See that the program and the directory are there, and may be used.",
                    argument="command",
                    value=self.job.command[0],
                ) from error

    def _start_of(self, task: TaskProcess, restarts: int) -> Start:
        known = {
            "TF_CONFIG": to_tf_config(self._cluster, task.task),
            "TFDISTRIBUTE_JOB": self.job.directory,
            "TFDISTRIBUTE_EVENTS": task.events_path,
            "TFDISTRIBUTE_ATTEMPT": str(restarts),
            "TFDISTRIBUTE_DIGEST": self.job.digest or "",
        }
        return Start(
            self.job.command,
            {**os.environ, **self.job.environment, **self._gpus.get(task.task, {}), **known},
            self.job.working_directory,
            self._cores.get(task.task, ()),
        )

    def look(self) -> None:
        """Learn what the tasks told, and which have ended."""
        now = time.monotonic()
        for task in self.tasks:
            task.look(now)

    def show_stacks(self) -> None:
        """Let the tasks that can do so write what they do into their logs."""
        for task in self.tasks:
            # Without a handler the signal would end it, and R has one of its own, which ends R, until it is up.
            pid = task.view.pid
            if task.view.is_up and pid is not None and processes.catches(pid, signal.SIGUSR1):
                task.signal(signal.SIGUSR1, whole_group=False)

    def end(self, tasks: Iterable[TaskProcess] | None = None) -> None:
        """Kill tasks and all that they started.

        Args:
            tasks: Which; None for all.
        """
        ended = self.tasks if tasks is None else list(tasks)
        for task in ended:
            task.is_to_end(signal.SIGKILL)
        for task in ended:
            task.collect()
