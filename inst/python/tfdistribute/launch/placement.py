"""Hosts of the tasks of a job, some of which may be lost for good."""

import math
import time
from collections.abc import Sequence

from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.connect_hosts import too_few_hosts
from tfdistribute.launch.places.place import Place
from tfdistribute.launch.reports.goodput import Goodput
from tfdistribute.launch.state import Progress
from tfdistribute.launch.task_process import TaskProcess
from tfdistribute.launch.task_view import TaskView


class Placement:
    """Hosts of the tasks, each of which keeps its own unless the job may lose hosts.

    Args:
        left_out: Training tasks, the last ones, that have no host.
    """

    def __init__(self, job: Job, tasks: Sequence[TaskProcess]) -> None:
        self._tasks = tasks
        self._training = [task for task in tasks if task.task.trains]
        self._slots = [task.place for task in self._training]
        self._lost_at: dict[Place, float] = {}
        self._tried_at = 0.0
        self.left_out: list[TaskProcess] = []
        self._fewest, self._lease_s = len(self._slots), 0.0
        if isinstance(job.cluster, HostsCluster) and job.trains:
            self._fewest, self._lease_s = job.cluster.fewest_workers, job.cluster.lease_s

    @property
    def _can_lose_hosts(self) -> bool:
        return self._fewest < len(self._slots)

    @property
    def leaving(self) -> list[str]:
        """Hosts of running tasks that will be out of reach soon."""
        running = (task.place for task in self._tasks if task.view.is_running)
        return [place.host for place in dict.fromkeys(running) if place.is_leaving]

    @property
    def returned(self) -> list[str]:
        """Hosts that are left out, but can be used again, once for each of their workers."""
        return [place.host for place in self._slots if place in self._lost_at and place.is_back]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts of the tasks that train, by rank."""
        return tuple(task.place.host for task in self._training if task not in self.left_out)

    def look_for_hosts(self) -> None:
        """Begin to connect to hosts that were left out, so that the next restart can use them."""
        now = time.monotonic()
        if self.left_out and now - self._tried_at > self._lease_s:
            self._tried_at = now
            for place in self._lost_at:
                place.reconnect()

    def renew(self, starting: Sequence[TaskProcess]) -> list[TaskProcess] | None:
        """Connect lost hosts again, and return the tasks to start now; None to wait for a host.

        After ``lease_s``, a lost host has ended its own tasks, so others may continue in its place.

        Raises:
            ClusterError: if too few hosts are left.
        """
        if not self._can_lose_hosts:
            return _renewed(starting)
        now = time.monotonic()
        for place in dict.fromkeys(self._slots):
            if now - self._lost_at.get(place, now) < self._lease_s:
                place.reconnect()
            place.renew(wait=False)
            if place.is_leaving:
                # Its tasks were ended before.
                self._lost_at.setdefault(place, now - self._lease_s)
            elif place.is_lost:
                self._lost_at.setdefault(place, now)
            else:
                self._lost_at.pop(place, None)
        if any(now - lost_at < self._lease_s for lost_at in self._lost_at.values()):
            return None
        others = [task for task in starting if not task.task.trains]
        training = self._place() if len(others) < len(starting) else []
        if training is None:
            return None
        for task in others:
            # The evaluator is on the host of the chief.
            task.place = self._training[0].place
        return None if any(task.place.is_lost for task in others) else [*training, *others]

    def _place(self) -> list[TaskProcess] | None:
        slots = sorted(self._slots, key=_is_away)
        used = sum(not _is_away(place) for place in slots)
        if used < self._fewest:
            if any(place.is_leaving for place in slots):
                # They may come back soon, or stay.
                return None
            raise too_few_hosts(list(self._lost_at), used, self._fewest)
        for task, place in zip(self._training, slots, strict=True):
            task.place = place
        self.left_out = self._training[used:]
        for task in self.left_out:
            task.view = TaskView(task.task, task.place.host, state="stopped", is_ended_by_us=True)
        return self._training[:used]


class Resizing:
    """Reasons for a healthy training to continue on other hosts."""

    def __init__(self, job: Job, placement: Placement, progress: Progress) -> None:
        # Parameter servers keep variables, and their workers do not wait for each other.
        self._can_move = job.trains and not job.cluster.has_servers
        self._every_s: float = getattr(job.cluster, "resize_every_s", math.inf)
        self._placement, self._progress = placement, progress
        self.started_at = time.monotonic()

    def reason(self) -> str | None:
        """Return why the training should restart now, as a sentence; None if it should not."""
        if not self._can_move:
            return None
        if leaving := self._placement.leaving:
            return f"The end of {_names(leaving)} was announced."
        back = self._placement.returned
        if not back or time.monotonic() - self.started_at < self._every_s:
            return None
        progress, workers = self._progress, len(self._placement.hosts)
        left = None
        if progress.last_step is not None:
            left = progress.last_step - (progress.global_step or 0)
        is_worth_it = saves_time(progress.goodput(), left, workers, workers + len(back))
        return f"{_names(back)} can be used again." if is_worth_it else None


def saves_time(goodput: Goodput, steps: int | None, workers: int, more: int) -> bool:
    """Return whether ``more`` workers take the remaining steps, a restart included, in less time than ``workers``.

    A restart takes as long as the last start, and the time of a step is inversely proportional to the workers.
    Without a known number of remaining steps, there are enough.
    """
    if goodput.start_s is None or goodput.step_s is None:
        return False
    return steps is None or steps * goodput.step_s * (1 - workers / more) > goodput.start_s


def _names(hosts: list[str]) -> str:
    return " and ".join(dict.fromkeys(hosts))


def _renewed(starting: Sequence[TaskProcess]) -> list[TaskProcess] | None:
    places = dict.fromkeys(task.place for task in starting)
    if any(place.is_leaving for place in places):
        return None
    for place in places:
        place.renew()
    return list(starting)


def _is_away(place: Place) -> bool:
    return place.is_lost or place.is_leaving
