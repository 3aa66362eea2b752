"""The handshake of tasks before the first step, by which each knows the work of the others and their model_dir."""

import dataclasses
import json
import time
from collections.abc import Callable
from typing import Any, NoReturn

from tfdistribute import task_events
from tfdistribute.cluster import task_facts
from tfdistribute.cluster.peers import TasksWithAddresses, format_tasks
from tfdistribute.cluster.spec import START_PATIENCE, Task
from tfdistribute.cluster.task_facts import TaskFacts
from tfdistribute.descriptions.comparison import Entries, checksum_of, first_difference
from tfdistribute.errors import LostPeerError, TfdistributeError
from tfdistribute.interrupts import StopRequest
from tfdistribute.training.multi_worker.peers import FACTS, WORK, Peers

# Intervals between two looks at the others: a tenth of the time waited so far, within these limits.
_FIRST_POLL_S, _POLL_S = 0.02, 0.2
# A network file system may show another host's files this much later.
SHARE_S = 20.0
# Time in which another task reads the entries of this one, which differ, before this one ends.
_READ_S = 2.0


def poll_s(waited_s: float) -> float:
    return min(_POLL_S, max(_FIRST_POLL_S, waited_s / 10))


class Handshake:
    """Exchange of facts with the other tasks before the training.

    Args:
        peers: The other tasks. This task's server must be running.
        start_timeout_s: Seconds to wait for a task that does not answer; START_PATIENCE times as many for one that
            answers and is still preparing its training.
        stopped: The request of the user to stop this task.
    """

    def __init__(
        self,
        peers: Peers,
        model_dir: str,
        start_timeout_s: float,
        stopped: StopRequest | None = None,
    ) -> None:
        self.peers = peers
        self._member = peers.member
        self.model_dir = model_dir
        self.start_timeout_s = start_timeout_s
        self.stopped = stopped or StopRequest()
        self.own = peers.facts(model_dir=model_dir)
        self._work: Entries = {}
        # Names of the sockets through which the tasks share memory, by rank; empty if they do not.
        self.sockets: list[str] = []

    def announce(self, facts: TaskFacts, work: Entries | None = None) -> None:
        """Publish what this task is about to do; ``work`` are the entries of what it trains."""
        if work is not None:
            # The others read the entries only if the checksums differ.
            text = json.dumps(work)
            self.peers.publish(WORK, text)
            self._work = json.loads(text)
            facts = dataclasses.replace(facts, work=checksum_of(work))
        # As the others see them.
        self.own = TaskFacts.from_text(facts.as_text())
        self.peers.publish(FACTS, facts.as_text())

    def facts_of_chief(self) -> TaskFacts:
        chief = self._member.chief
        assert chief is not None
        return self._facts_of([chief])[chief[0]]

    def check_directory(self, chief: TaskFacts, read: Callable[[], str | None]) -> None:
        """Check that this task reads in model_dir the mark that the chief has written there.

        Raises ModelDirectoryError if it does not, for as long as a network file system may need.
        """
        if chief.training != self.peers.training:
            # It is already in its next training, while an evaluator or a server is still in this one.
            return
        end = time.monotonic() + SHARE_S
        while chief.mark is not None and read() != chief.mark:
            self._check_stop()
            if time.monotonic() > end:
                self._refuse(task_facts.unshared_directory(self.own, chief))
            time.sleep(_POLL_S)

    def compare(self, other: TaskFacts) -> None:
        in_work = self._difference_in_work(other)
        error = task_facts.difference(self.own, other, self._member.in_step, in_work)
        if error is not None:
            if in_work is not None:
                # The other task reads the entries of this one, too.
                time.sleep(_READ_S)
            self._refuse(error)

    def _difference_in_work(self, other: TaskFacts) -> tuple[str, Any, Any] | None:
        if None in (self.own.work, other.work) or self.own.work == other.work:
            return None
        for task, address in self._member.training_tasks:
            if str(task) == other.task:
                text = self.peers.read(task, address, WORK)
                return first_difference(self._work, json.loads(text)) if text else None
        return None

    def conclude(self, variables: dict[str, list[int]]) -> None:
        """Wait until all tasks agree, now that the model's variables are known.

        Raises ClusterError if two tasks are about to do different things, or are the same task, and LostPeerError if a
        task does not come.
        """
        self.announce(dataclasses.replace(self.own, variables=variables))
        others = self._others()
        if not self._member.is_chief:
            self.compare(self.facts_of_chief())
            if self._member.in_step:
                self.sockets = json.loads(self._wait_for_text(others[0], self.peers.agreed))
            return
        facts = self._facts_of(others, complete=True)
        for each in facts.values():
            self.compare(each)
        if self._member.in_step:
            self.sockets = self._shared_sockets({**facts, self._member.task: self.own})
        self.peers.publish(self.peers.agreed, json.dumps(self.sockets))

    def _shared_sockets(self, facts: dict[Task, TaskFacts]) -> list[str]:
        try:
            return task_facts.shared_sockets(
                [facts[task] for task, _ in self._member.training_tasks]
            )
        except TfdistributeError as error:
            self._refuse(error)

    def wait_for_answers(self, tasks: TasksWithAddresses) -> list[tuple[Task, str]]:
        end = time.monotonic() + self.start_timeout_s
        missing = self.peers.unanswering(tasks)
        while missing and time.monotonic() < end and not self.stopped.requested:
            time.sleep(_POLL_S)
            missing = self.peers.unanswering(missing)
        return missing

    def _others(self) -> TasksWithAddresses:
        member = self._member
        if not member.is_chief:
            return (member.chief,) if member.chief is not None else ()
        if task_events.attempt() > 0:
            # With parameter servers a chief may be restarted alone, when some workers have already ended.
            return member.needed
        return member.dependents

    def _facts_of(self, tasks: TasksWithAddresses, complete: bool = False) -> dict[Task, TaskFacts]:
        """Wait for the facts of tasks, with their variables if ``complete``. A server has no variables."""
        facts_by_task: dict[Task, TaskFacts] = {}

        def is_there(task: Task, address: str) -> bool | None:
            text = self.peers.read(task, address, FACTS)
            if not text:
                return None if text is None else False
            facts = TaskFacts.from_text(text)
            wrong = task_facts.wrong_task(self.own, facts, task, address)
            if wrong is not None:
                self._refuse(wrong)
            if facts.training < self.peers.training:
                return False
            # A task that was restarted alone begins to count again.
            if facts.training > self.peers.training and task_events.attempt() == 0:
                self._refuse(task_facts.other_training(self.own, facts), in_any_training=True)
            facts_by_task[task] = facts
            if complete and task.trains and facts.variables is None:
                # What it has announced so far may differ.
                self.compare(facts)
                return False
            return True

        self._wait_until(is_there, tasks)
        return facts_by_task

    def _wait_for_text(self, task: tuple[Task, str], key: str) -> str:
        text: str | None = None

        def is_there(task: Task, address: str) -> bool | None:
            nonlocal text
            text = self.peers.read(task, address, key)
            return None if text is None else bool(text)

        self._wait_until(is_there, [task])
        return text or ""

    def _wait_until(
        self, is_there: Callable[[Task, str], bool | None], tasks: TasksWithAddresses
    ) -> None:
        """Wait until ``is_there`` returns True for every task; None means that a task does not answer."""
        began = time.monotonic()
        answered_at = {task: began for task, _ in tasks}
        limits = {task: self.start_timeout_s for task, _ in tasks}
        missing = list(tasks)
        reported: list[tuple[Task, str]] = []
        while missing:
            self._check_stop()
            for task, address in list(missing):
                before = time.monotonic()
                answer = is_there(task, address)
                if answer:
                    missing.remove((task, address))
                elif answer is not None:
                    answered_at[task] = time.monotonic()
                else:
                    # Another attempt must end in time.
                    limits[task] = self.start_timeout_s - (time.monotonic() - before)
            now = time.monotonic()
            absent = [each for each in missing if now - answered_at[each[0]] > limits[each[0]]]
            if absent or (missing and now - began > self.start_timeout_s * START_PATIENCE):
                raise self._absence(absent or missing, now - began, not absent)
            if missing and missing != reported:
                reported = list(missing)
                task_events.emit("waiting", **{"for": ", ".join(str(task) for task, _ in missing)})
            if missing:
                time.sleep(poll_s(now - began))

    def _check_stop(self) -> None:
        if self.stopped.requested:
            raise KeyboardInterrupt
        report = self.peers.report()
        if report is not None:
            raise report

    def _refuse(self, error: TfdistributeError, in_any_training: bool = False) -> NoReturn:
        self.peers.tell(error, is_shared=True, in_any_training=in_any_training)
        raise error

    def _absence(
        self, missing: TasksWithAddresses, waited_s: float, answers: bool
    ) -> LostPeerError:
        names = format_tasks(missing)
        problem = (
            f"{names} answered, but did not begin this training (number {self.peers.training} of this process)"
            if answers
            else f"nothing answers at {names}"
        )
        return LostPeerError(
            f"{self._member.task} waited {waited_s:.0f} seconds, and {problem}.",
            "Start every task of the cluster, look into the logs of tasks that have ended, check that the hosts "
            "and ports in TF_CONFIG can be reached, or increase `start_timeout_s`.",
            argument="cluster",
            value=names,
        )
