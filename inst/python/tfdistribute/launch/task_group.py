"""The processes of all tasks of a job."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from tfdistribute import task_events
from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.spec import EVALUATOR, ClusterSpec, LocalCluster, Task
from tfdistribute.cluster.tf_config import to_tf_config
from tfdistribute.errors import BackendError, ClusterError
from tfdistribute.launch.host import hardware
from tfdistribute.launch.host.processes import END_S, StopRequests
from tfdistribute.launch.placement import Placement
from tfdistribute.launch.places.connect_hosts import learn_addresses, open_places, places_of
from tfdistribute.launch.places.place import Place, StartOptions
from tfdistribute.launch.reports import diagnosis
from tfdistribute.launch.setup import JobSetup
from tfdistribute.launch.task_process import TaskProcess
from tfdistribute.launch.task_view import TaskView

# How long all places together may take to end what is left of a job.
CLOSE_S = 3.0

# How long a task may take to give up a step that lost another task.
RETURN_S = 3.0

# Interval between two attempts to reach a host that may come back.
AGAIN_S = 1.0

# Interval between two looks at this many tasks, which grows with their number.
_TICK_S, _TASKS = 0.03, 16


class TaskGroup:
    def __init__(self, setup: JobSetup) -> None:
        self.job = setup.job
        self._events = os.path.join(self.job.directory, "events")
        # The job's directory also holds temporary files of killed tasks.
        self._temporary = os.path.join(self.job.directory, "tmp")
        for directory in (self._events, self._temporary):
            os.makedirs(directory, mode=0o700, exist_ok=True)
        places = places_of(self.job, setup.place)
        self.tasks = [
            TaskProcess(
                task,
                places[task],
                os.path.join(setup.logs, f"{task.type}-{task.index}.log"),
                os.path.join(self._events, f"{task.type}-{task.index}"),
            )
            for task in self.job.tasks
        ]
        for task in self.tasks:
            with contextlib.suppress(OSError):
                task.log_start = os.path.getsize(task.log)
        self.placement = Placement(self.job, self.tasks)
        self._full: set[Place] = set()
        self._cores: dict[Task, tuple[int, ...]] = {}
        self._gpus: dict[Task, dict[str, str]] = {}
        self._cluster = ClusterSpec()
        # A process still listens on the ports of its former tasks, so a restart needs other ports.
        keeps_ports = self.job.cluster.has_servers or isinstance(self.job.cluster, ClusterSpec)
        may_restart = self.job.trains and self.job.cluster.supervision.restarts > 0
        self.reuses = bool(self.job.digest) and may_restart and not keeps_ports

    def prepare(self, is_over: Callable[[], bool]) -> list[str] | None:
        """Open the places, and assign cores, GPUs and addresses to the tasks; result as of ``open_places``."""
        notes = open_places(self._places, self.job, is_over)
        if notes is not None:
            self._share_hosts()
        return notes

    def _share_hosts(self) -> None:
        for place, tasks in self._by_place():
            training = [task for task in tasks if task.trains]
            cores = hardware.assign_cores(place.cores(), len(training))
            self._cores.update(zip(training, cores, strict=True))
            if isinstance(self.job.cluster, (LocalCluster, HostsCluster)):
                gpus = place.gpus(self.job.environment)
                per_worker = self.job.cluster.devices_per_worker
                self._gpus.update(hardware.assign_gpus(gpus, tasks, per_worker))
        self.assign_addresses()

    def assign_addresses(self) -> None:
        """Choose ports for the next starts, unless the cluster has given addresses."""
        cluster = self.job.cluster
        if not isinstance(cluster, ClusterSpec):
            addresses: dict[Task, str] = {}
            for place, tasks in self._by_place():
                listening = [task for task in tasks if task.type != EVALUATOR]
                # Nodes of one machine may have one address, so a port of the other still seems free here.
                start = f"{place.address}:"
                used_addresses = {each for each in addresses.values() if each.startswith(start)}
                ports = place.free_ports(len(listening) + len(used_addresses))
                free = [
                    each
                    for each in (f"{start}{port}" for port in ports)
                    if each not in used_addresses
                ]
                addresses.update(dict.fromkeys(tasks, place.address))
                addresses.update(zip(listening, free[: len(listening)], strict=True))
            cluster = ClusterSpec.of(addresses)
        for task, address in cluster.tasks_at_addresses():
            port = address.rpartition(":")[2]
            if task.type != EVALUATOR:
                self[task].port = int(port) if port.isdecimal() else None
        self._cluster = cluster

    @property
    def _places(self) -> list[Place]:
        return list(dict.fromkeys(task.place for task in self.tasks))

    def _by_place(self) -> Iterator[tuple[Place, list[Task]]]:
        for place in dict.fromkeys(task.place for task in self.used):
            yield place, [task.task for task in self.used if task.place is place]

    def __getitem__(self, task: Task) -> TaskProcess:
        return next(each for each in self.tasks if each.task == task)

    def __iter__(self) -> Iterator[TaskProcess]:
        return iter(self.tasks)

    @property
    def used(self) -> list[TaskProcess]:
        """The tasks without those whose hosts were left out."""
        return [task for task in self.tasks if task not in self.placement.left_out]

    @property
    def hosts(self) -> tuple[str, ...]:
        return self.placement.hosts

    @property
    def views(self) -> list[TaskView]:
        return [task.view for task in self.used]

    @property
    def tick_s(self) -> float:
        return _TICK_S * max(1.0, len(self.tasks) / _TASKS)

    @property
    def has_ended(self) -> bool:
        return not any(task.view.is_running for task in self.tasks)

    def renew(self, tasks: Sequence[TaskProcess]) -> list[TaskProcess] | None:
        """Connect lost hosts again, and return the tasks to start; None to wait for a host that may come back.

        Raises ClusterError if too few hosts are left, or one that is back cannot be used.
        """
        lost = [place for place in self._places if place.is_lost]
        before = self.hosts
        starting = self.placement.renew(tasks)
        together = {task for task in self.used if task.task.type != EVALUATOR}
        places = dict.fromkeys(task.place for task in together)
        has_changed = bool(lost) or self.hosts != before
        if together <= set(starting or ()) and not any(each.is_lost for each in places):
            # Other machines may have taken the place of lost ones.
            try:
                if has_changed:
                    learn_addresses(places, self.job)
                    self._share_hosts()
                elif self.reuses:
                    self.assign_addresses()
            except ClusterError:
                if not any(each.is_lost for each in places):
                    raise
        return starting

    def start(self, tasks: Iterable[TaskProcess], restarts: int) -> None:
        """Start tasks; BackendError if their program cannot be run."""
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

    def prepare_restart(self, restarts: int) -> None:
        """After the first restart and before the last one, let a process of each host wait for a task of the next."""
        if self.reuses and 0 < restarts < self.job.cluster.supervision.restarts:
            for task in {task.place: task for task in self.used if task.task.trains}.values():
                task.place.prepare(self._start_options(task, restarts))

    def release(self, tasks: Sequence[TaskProcess], wait: Callable[..., None]) -> None:
        """Interrupt tasks that have trained, so that their processes wait for other tasks, and kill what does not."""
        trained = [task for task in tasks if self.reuses and task.view.stepped_at is not None]
        for task in trained:
            task.request_end(signal.SIGINT, whole_group=False)
        wait(lambda: not any(task.view.is_running for task in trained), RETURN_S)
        self.kill(tasks)

    def _start_options(self, task: TaskProcess, restarts: int) -> StartOptions:
        place, home = task.place, self.job.directory
        return StartOptions(
            # A script that is sent with the files of the job is where the place has them.
            [
                place.path(each, home) if each.startswith(home) else each
                for each in self.job.command
            ],
            {
                **place.environment,
                # Scripts print without a buffer.
                "PYTHONUNBUFFERED": "1",
                **self.job.environment,
                **self._gpus.get(task.task, {}),
                # On a host, below the TMPDIR of the cluster.
                "TMPDIR": place.path(self._temporary, home),
                task_events.JOB: place.directory,
                "TF_CONFIG": to_tf_config(self._cluster, task.task),
                task_events.EVENTS: place.path(task.events_path, home),
                task_events.ATTEMPT: str(restarts),
                task_events.DIGEST: self.job.digest or "",
                task_events.MODEL_DIR: self.job.model_dir or "",
            },
            self.job.working_directory,
            task.log,
            task.events_path,
            self._cores.get(task.task, ()),
            waits=self.reuses and task.task.trains,
        )

    def poll(self, stops: StopRequests) -> None:
        """Read new events and exit codes of all tasks; schedulers send some news only to the processes of tasks."""
        for place in self._places:
            place.poll()
        self.placement.look_for_hosts()
        if any(place.is_ending for place in self._places):
            stops.request(signal.SIGTERM)
        self._note_full_disks()
        now = time.monotonic()
        for task in self.tasks:
            task.poll(now)

    def _note_full_disks(self) -> None:
        full = {place for place in self._places if place.lacks_space()}
        for place in full - self._full:
            task = next(task for task in self.tasks if task.place is place)
            task.view.notes.append(diagnosis.describe_full_disk(place))
        self._full = full

    def close(self) -> None:
        for place in self._places:
            place.end()
        until = time.monotonic() + CLOSE_S
        for place in self._places:
            place.close(until - time.monotonic())

    def dump_stacks(self) -> None:
        for task in self.tasks:
            # Without its handler the signal ends the process. Before a task is up, R's own handler would end R.
            if task.view.is_up:
                task.signal(signal.SIGUSR1, whole_group=False, if_caught=True)

    def kill(self, tasks: Iterable[TaskProcess] | None = None) -> None:
        killed = self.tasks if tasks is None else list(tasks)
        for task in killed:
            task.request_end(signal.SIGKILL)
        until = time.monotonic() + END_S
        for task in killed:
            task.wait(until - time.monotonic())
