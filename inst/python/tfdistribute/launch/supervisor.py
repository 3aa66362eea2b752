"""Single-threaded supervisor of one job, from the start of its tasks to their end."""

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from tfdistribute.cluster.spec import PS, Task
from tfdistribute.errors import TfdistributeError, TrainingError
from tfdistribute.launch import failures
from tfdistribute.launch.deadlines import Deadlines, Overdue
from tfdistribute.launch.host import processes
from tfdistribute.launch.host.processes import StopRequests
from tfdistribute.launch.job import Job
from tfdistribute.launch.job_files import ENDED, QUEUED
from tfdistribute.launch.placement import Resizing
from tfdistribute.launch.reports import diagnosis
from tfdistribute.launch.reports.report import JobReport, OnState
from tfdistribute.launch.restart_policy import Decision, Pauses, Policy, next_action
from tfdistribute.launch.setup import Allocation, JobSetup
from tfdistribute.launch.task_group import AGAIN_S, TaskGroup
from tfdistribute.launch.task_process import TaskProcess

# How long a task may take to end after SIGTERM.
TERM_S = 2.0
# How long the chief may take to save a checkpoint before the training continues on other hosts.
LEAVE_S = 20.0
# How long Python may take to write its stacks, and R to write its calls.
STACKS_S, CALLS_S = 0.5, 1.0
# How long a failed task may take to write its log.
LAST_LOG_S = 1.0


class Supervisor:
    def __init__(
        self,
        job: Job,
        setup: JobSetup,
        stops: StopRequests,
        on_state: OnState | None,
        allocation: Allocation,
    ) -> None:
        self.job = job
        self.setup = setup
        self._allocation = allocation
        self.tasks = TaskGroup(setup)
        self._report = JobReport(setup, self.tasks.tasks, allocation, on_state)
        self.state, self.progress = self._report.state, self._report.progress
        self.policy = Policy.of(job, setup.is_private)
        self._resizing = Resizing(job, self.tasks.placement, self.progress)
        self._due: dict[TaskProcess, float] = {}
        self._lost: set[Task] = set()
        self._port_attempts, self._moves = 0, 0
        self._pauses = Pauses(self.progress.checkpoint)
        limits = job.cluster.supervision
        self._deadlines = Deadlines(limits.start_timeout_s, limits.stall_timeout_s, job.is_script)
        self._chief_done_at: float | None = None
        self._stops = stops
        self._parent = processes.Watch(job.parent_pid)

    def run(self) -> dict[str, Any]:
        try:
            self._report.write(self._report.values())
            notes = self.tasks.prepare(self._is_over)
            for note in notes or ():
                self.state.note(note)
            if notes is not None:
                self.progress.hosts = self.tasks.hosts
                self._start(self.tasks)
            while self.state.state not in ENDED:
                self._tick()
                time.sleep(self.tasks.tick_s)
        except TfdistributeError as error:
            self._fail(failures.error_failure(error))
        except Exception as error:  # noqa: BLE001 - no task may outlive an error of the supervisor
            problem = f"The supervisor failed: {type(error).__name__}: {error}"
            failure = failures.error_failure(TrainingError(problem))
            self._fail({**failure, "traceback": traceback.format_exc()})
        self.tasks.kill()
        self._poll()
        self.tasks.close()
        if self.state.state != QUEUED:
            self.state.ended = time.time()
        values = self.setup.keep(self._report.values(), self._stops)
        self._report.write(values)
        return values

    def _tick(self) -> None:
        self._poll()
        if self._is_over():
            self._stop()
            return
        if not os.path.isdir(self.job.directory):
            self._fail(failures.error_failure(diagnosis.deleted_directory(self.job.directory)))
            return
        self._start_due()
        self._react()
        if self.state.state not in ENDED:
            self._move()
            self._check_deadlines()
        self._report.write()

    # Observation ----------------------------------------------------------------------------------

    def _poll(self) -> None:
        self.tasks.poll(self._stops)
        for task in self.tasks:
            for event in task.take_events():
                self._report.has_news = True
                self.progress.take(event, task.task == self.policy.chief)
                if event["event"] in ("checkpoint", "evaluation"):
                    self._allocation.keep(self.progress)
            while task.view.notes:
                self.state.note(f"{task.name}: {task.view.notes.pop(0)}")
        self._update_phase()

    def _update_phase(self) -> None:
        chief = self.tasks[self.policy.chief].view
        has_finished = chief.exit == 0 if self.job.is_script else chief.finished is not None
        if self._chief_done_at is None and has_finished:
            self._chief_done_at = time.monotonic()
        trains = any(view.trains and view.stepped_at is not None for view in self.tasks.views)
        if trains and not self._due:
            self._lost.clear()
        if self.state.state in ("starting", "restarting") and trains and not self._due:
            self.tasks.prepare_restart(self.state.restarts)
            self.state.state = self.job.activity
            self.state.message = f"The tasks are {self.job.activity}."
        if self._chief_done_at is not None and self.state.state in ("starting", "training"):
            self.state.state = "evaluating"
            self.state.message = "The chief has finished; other tasks complete their work."

    def _is_over(self) -> bool:
        return self._stops.count > 0 or self._parent.is_gone()

    def _started(self) -> list[TaskProcess]:
        return [task for task in self.tasks.used if task not in self._due]

    # Restarts -------------------------------------------------------------------------------------

    def _react(self) -> None:
        views, restarts = [task.view for task in self._started()], self.state.restarts
        decision = next_action(
            views, self.policy, restarts, self._port_attempts, time.time(), self._lost
        )
        if decision.action == "fail":
            assert decision.cause is not None
            self._fail_by(self.tasks[decision.cause])
        elif decision.action == "restart":
            assert decision.cause is not None
            cause = self.tasks[decision.cause]
            why = str(failures.task_failure(cause.view, cause.log)["problem"])
            if decision.counts:
                self._lost.clear()
            self._lost.update(view.task for view in views if view.loss is not None)
            self._restart([self.tasks[task] for task in decision.tasks], why, decision.counts)
        elif decision.action == "change_ports":
            self._change_ports(decision)
        elif decision.action == "succeed" and not self._due:
            step = self.progress.global_step
            self.state.state = "done"
            self.state.message = (
                "The tasks have finished."
                if step is None
                else f"Training has ended at step {step}: {self.progress.goodput()}."
            )

    def _restart(self, tasks: list[TaskProcess], why: str, counts: bool = True) -> None:
        self.state.restarts += counts
        self._deadlines.patience = 1
        pause = self._pauses.next_s(self.progress.checkpoint) if counts else 0.0
        self._schedule(tasks, pause, why)
        count = f"restart {self.state.restarts} of {self.policy.restarts}"
        self.state.announce(f"{why} {diagnosis.describe_restart(tasks, pause)} ({count}).")

    def _move(self) -> None:
        """Continue on other hosts from a checkpoint of the current step, which is not a failure."""
        why = None if self._due or self._chief_done_at is not None else self._resizing.reason()
        if why is None:
            return
        chief = self.tasks[self.policy.chief]
        if chief.view.stepped_at is not None:
            chief.request_end(signal.SIGINT, whole_group=False)
            self._wait(lambda: not chief.view.is_running or self._is_over(), LEAVE_S)
            if self._chief_done_at is not None or self._is_over():
                return
        self._moves += 1
        tasks = [each for each in self.tasks.used if each.task.trains or each.place.is_leaving]
        self._schedule(tasks, 0.0, why)
        self.state.announce(f"{why} {diagnosis.describe_restart(tasks, 0.0)}.")

    def _change_ports(self, decision: Decision) -> None:
        assert decision.cause is not None
        self._port_attempts += 1
        why = f"{diagnosis.describe_port_conflict(self.tasks[decision.cause])} Trying other ports."
        self.state.announce(why)
        self._schedule([self.tasks[task] for task in decision.tasks], 0.0, why)
        self.tasks.assign_addresses()

    def _schedule(self, tasks: list[TaskProcess], pause: float, why: str) -> None:
        self._due.update(dict.fromkeys(tasks, time.monotonic() + pause))
        self.tasks.release(tasks, self._wait)
        # Their last events belong to the former start.
        self._poll()
        if self.tasks[self.policy.chief] in tasks:
            self.progress.sums.mark("begin", time.time(), why=why)
        if any(task.view.trains for task in tasks):
            self.state.state = "restarting"
        self._report.has_news = True

    def _start_due(self) -> None:
        now = time.monotonic()
        due = [task for task, moment in self._due.items() if moment <= now]
        starting = self.tasks.renew(due) if due else []
        if starting is None:
            self._due.update(dict.fromkeys(due, time.monotonic() + AGAIN_S))
            return
        for task in due:
            del self._due[task]
        if self.tasks.hosts != self.progress.hosts:
            self.progress.hosts = self.tasks.hosts
            self.state.note(f"The workers are now on {', '.join(self.tasks.hosts)}.")
        self._start(starting)

    def _start(self, tasks: Iterable[TaskProcess]) -> None:
        if self.tasks[self.policy.chief] in tasks:
            self.progress.sums.mark("start", time.time())
            self._resizing.started_at = time.monotonic()
        attempt = self.state.restarts + self._moves + self._allocation.starts_before
        self.tasks.start(tasks, attempt)

    # Deadlines ------------------------------------------------------------------------------------

    def _check_deadlines(self) -> None:
        views = [task.view for task in self._started()]
        late = self._deadlines.find_overdue(views, time.monotonic(), self._chief_done_at)
        tasks = [] if late is None else [self.tasks[view.task] for view in late.views]
        if late is None or self._deadlines.extend(late, tasks):
            return
        if late.kind == "end":
            for task in tasks:
                self.state.note(f"{task.name} did not end after its work, and was killed.")
            self.tasks.kill(tasks)
            return
        restarts, can_restart = self.state.restarts, self.state.restarts < self.policy.restarts
        restarting = tasks
        if late.kind == "start":
            # Processes that had a task before may be the reason. All without a step get new ones.
            can_restart = can_restart and self.tasks.reuses and restarts > 0
            restarting = [each for each in self.tasks.used if each.task.trains]
        elif late.kind == "stall":
            # A frozen server stops all others, and cannot be told from one that only waits.
            tasks += [task for task in self.tasks if task.task.type == PS]
        # The states are taken before the tasks are interrupted, their logs afterwards.
        failure = diagnosis.diagnose_deadline(
            late, tasks, self.tasks.tasks, 0 if can_restart else restarts
        )
        self._dump_stacks(late, failure["problem"])
        if can_restart:
            self._restart(restarting, failure["problem"])
        else:
            self._fail(diagnosis.with_log(failure, tasks[0]))

    def _dump_stacks(self, late: Overdue, message: str) -> None:
        # Python logs its stacks, and R logs its calls.
        self.state.message = message
        self._report.has_news = True
        self.tasks.dump_stacks()
        self._wait(lambda: False, STACKS_S)
        # The first signal asks a training to end after its step; the second interrupts it anywhere.
        for _ in range(2):
            for view in late.views:
                self.tasks[view.task].request_end(signal.SIGINT, whole_group=False)
                view.state = "stalled" if view.is_running else view.state
            self._wait(lambda: False, CALLS_S / 2)

    # End ------------------------------------------------------------------------------------------

    def _fail_by(self, task: TaskProcess) -> None:
        elsewhere = self._allocation.reason_to_move(task.view, self.progress)
        if elsewhere is not None:
            self._queue(elsewhere)
            return
        self.tasks.kill(each for each in self.tasks if each is not task)
        # A task that reported its failure may still be writing its log.
        self._wait(lambda: not task.view.is_running, LAST_LOG_S)
        self._fail(diagnosis.diagnose_task(task, self.state.restarts, self.setup.is_private))

    def _fail(self, failure: dict[str, Any]) -> None:
        self.state.failure = {"log_tail": None, **failure}
        self.state.state, self.state.message = "failed", str(failure["problem"])

    def _stop(self) -> None:
        self.state.state, self.state.message = "stopping", "The job is being stopped."
        self._report.write(self._report.values())
        chief = self.tasks[self.policy.chief]
        is_requested = self._stops.count > 0
        has_trained = self.job.trains and chief.view.stepped_at is not None
        if is_requested and has_trained and chief.view.is_running:
            chief.request_end(signal.SIGINT, whole_group=False)
            self._wait(lambda: not chief.view.is_running, self._allocation.save_s(self._stops))
        for task in self.tasks:
            task.request_end(signal.SIGTERM)
        self._wait(lambda: self.tasks.has_ended, TERM_S)
        again = self._allocation.reason_to_restart(self._stops)
        if again is not None:
            self._queue(again)
            return
        gone = "The session that started the job is gone."
        why = self._allocation.why_stopped(self._stops) if is_requested else gone
        self.state.state = "stopped"
        self.state.message = f"{why}{self.progress.checkpoint_in_words}"

    def _queue(self, why: str) -> None:
        self.state.state = QUEUED
        self.state.announce(f"{why}{self.progress.checkpoint_in_words} The job continues.")
        self.progress.sums.mark("begin", time.time(), why=why)
        self._allocation.keep(self.progress, at_once=True)

    def _wait(self, is_over: Callable[[], bool], seconds: float) -> None:
        # A second request to stop ends the wait.
        end = time.monotonic() + seconds
        while time.monotonic() < end and not is_over() and self._stops.count < 2:
            time.sleep(self.tasks.tick_s)
            self._poll()
            self._report.write()
