"""The processes of all tasks of a job."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator

from tfdistribute import task_events
from tfdistribute.cluster.ports import free_ports
from tfdistribute.cluster.spec import EVALUATOR, ClusterSpec, LocalCluster, Task
from tfdistribute.cluster.tf_config import to_tf_config
from tfdistribute.errors import BackendError
from tfdistribute.launch.host import hardware, processes
from tfdistribute.launch.setup import JobSetup
from tfdistribute.launch.task_process import StartOptions, TaskProcess
from tfdistribute.launch.task_view import TaskView

# In a private network every port is free.
_FIRST_PRIVATE_PORT = 2222


class TaskGroup:
    """All tasks of a job."""

    def __init__(self, setup: JobSetup) -> None:
        self.job = setup.job
        self._is_private = setup.is_private
        events = os.path.join(self.job.directory, "events")
        # What tasks leave in their temporary directory when they are killed goes with the job.
        self._temporary = os.path.join(self.job.directory, "tmp")
        for directory in (events, self._temporary):
            os.makedirs(directory, mode=0o700, exist_ok=True)
        self.tasks = [
            TaskProcess(
                task,
                os.path.join(setup.logs, f"{task.type}-{task.index}.log"),
                os.path.join(events, f"{task.type}-{task.index}"),
            )
            for task in self.job.tasks
        ]
        for task in self.tasks:
            with contextlib.suppress(OSError):
                task.log_start = os.path.getsize(task.log)
        training = [task for task in self.job.tasks if task.trains]
        cores = hardware.assign_cores(hardware.available_cores(), len(training))
        self._cores = dict(zip(training, cores, strict=True))
        self._gpus = self._assign_gpus()
        self._cluster: ClusterSpec = self._assign_addresses()

    def __getitem__(self, task: Task) -> TaskProcess:
        return next(each for each in self.tasks if each.task == task)

    def __iter__(self) -> Iterator[TaskProcess]:
        return iter(self.tasks)

    @property
    def views(self) -> list[TaskView]:
        """The state of each task."""
        return [task.view for task in self.tasks]

    @property
    def has_ended(self) -> bool:
        """Whether all processes have ended."""
        return not any(task.view.is_running for task in self.tasks)

    def change_ports(self) -> None:
        """Choose other ports for the next starts."""
        self._cluster = self._assign_addresses()

    def _assign_addresses(self) -> ClusterSpec:
        listening = [task for task in self.job.cluster.tasks if task.type != EVALUATOR]
        first = _FIRST_PRIVATE_PORT
        fixed = tuple(range(first, first + len(listening)))
        cluster = self.job.with_ports(fixed if self._is_private else free_ports(len(listening)))
        for task, address in cluster.placed():
            port = address.rpartition(":")[2]
            if task.type != EVALUATOR:
                self[task].port = int(port) if port.isdecimal() else None
        return cluster

    def _assign_gpus(self) -> dict[Task, dict[str, str]]:
        if not isinstance(self.job.cluster, LocalCluster):
            return {}
        gpus = hardware.available_gpus({**os.environ, **self.job.environment})
        return hardware.assign_gpus(gpus, self.job.tasks, self.job.cluster.devices_per_worker)

    def start(self, tasks: Iterable[TaskProcess], restarts: int) -> None:
        """Start tasks.

        Raises:
            BackendError: the program of the tasks cannot be run.
        """
        for task in tasks:
            try:
                task.start(self._start_options(task, restarts))
            except OSError as error:
                raise BackendError(
                    f'{task.name} cannot be started: "{self.job.command[0]}" in '
                    f'"{self.job.working_directory}": {error.strerror}.',
                    "Check that the program and the directory exist and may be used.",
                    argument="command",
                    value=self.job.command[0],
                ) from error

    def _start_options(self, task: TaskProcess, restarts: int) -> StartOptions:
        own = {
            "TF_CONFIG": to_tf_config(self._cluster, task.task),
            task_events.JOB: self.job.directory,
            task_events.EVENTS: task.events_path,
            task_events.ATTEMPT: str(restarts),
            task_events.DIGEST: self.job.digest or "",
            task_events.MODEL_DIR: self.job.model_dir or "",
        }
        return StartOptions(
            self.job.command,
            {
                **os.environ,
                "TMPDIR": self._temporary,
                **self.job.environment,
                **self._gpus.get(task.task, {}),
                **own,
            },
            self.job.working_directory,
            self._cores.get(task.task, ()),
        )

    def poll(self) -> None:
        """Read new events and exit codes of all tasks."""
        now = time.monotonic()
        for task in self.tasks:
            task.poll(now)

    def dump_stacks(self) -> None:
        """Let the tasks write their stacks into their logs, if they can."""
        for task in self.tasks:
            # Without its handler the signal ends the process. Before a task is up, R's own handler would end R.
            pid = task.view.pid
            if task.view.is_up and pid is not None and processes.catches(pid, signal.SIGUSR1):
                task.signal(signal.SIGUSR1, whole_group=False)

    def kill(self, tasks: Iterable[TaskProcess] | None = None) -> None:
        """Kill tasks, or all of them, with their process groups, and wait for their ends."""
        killed = self.tasks if tasks is None else list(tasks)
        for task in killed:
            task.request_end(signal.SIGKILL)
        for task in killed:
            task.wait()
