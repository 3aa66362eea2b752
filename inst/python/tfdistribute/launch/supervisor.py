"""The watch over one job, from the start of its tasks to the end of all of them. Plain Python, one thread."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any

from tfdistribute.cluster.spec import START_PATIENCE
from tfdistribute.errors import TfdistributeError, TrainingError
from tfdistribute.launch import diagnosis, failures
from tfdistribute.launch.deadlines import Overdue, overdue
from tfdistribute.launch.host import private_directory, processes
from tfdistribute.launch.host.stop_requests import StopRequests
from tfdistribute.launch.job import Job
from tfdistribute.launch.progress import Progress
from tfdistribute.launch.restart_policy import Decision, Policy, decide, pause_s
from tfdistribute.launch.setup import Ground, prepare
from tfdistribute.launch.state import ENDED, FILE, JobState, StateFile, write_result
from tfdistribute.launch.task_group import Team
from tfdistribute.launch.task_process import TaskProcess
from tfdistribute.launch.task_view import TaskView

TICK_S = 0.03

# How long the chief may take to write its checkpoint, and a task to end when it is asked to.
SAVE_S = 4.0
TERM_S = 2.0

# How long a task may take to write its stacks, R to write its calls, and one that failed to write why.
STACKS_S = 0.5
CALLS_S = 1.0
LAST_WORDS_S = 1.0

# Told of every state that is written.
Watch = Callable[[dict[str, Any]], None]


def supervise(job: Job, watch: Watch | None = None) -> dict[str, Any]:
    """Start the tasks of a job, watch over them, heal what can be healed, and end them all.

    Every child of this process is ended with the job: call it in a process that has no others.

    Args:
        job: The job.
        watch: Told of the state, ten times a second at most.

    Returns:
        The last state, which stands in the logs' directory too.

    Raises:
        TfdistributeError: nothing could be started; see ``ground.prepare``.
    """
    private_directory.keep(job.directory, private_directory.held(job.directory))
    with StopRequests() as stops:
        ground = prepare(job)
        processes.adopt_orphans()
        try:
            return Supervisor(job, ground, stops, watch).run()
        finally:
            processes.kill_children()
            ground.release()
            private_directory.remove(job.directory)


class Supervisor:
    """The watch over one job.

    Args:
        job: The job.
        ground: What it stands on.
        stops: Requests to stop it.
        watch: Told of the state.
    """

    def __init__(
        self, job: Job, ground: Ground, stops: StopRequests, watch: Watch | None = None
    ) -> None:
        self.job = job
        self.ground = ground
        self.team = Team(ground)
        self.progress = Progress()
        network = "private" if ground.is_private else "open"
        self.state = JobState(job, logs=ground.logs, network=network, notes=ground.notes)
        self.policy = Policy(
            job.chief,
            restarts=job.supervision.restarts,
            one_by_one=job.cluster.has_servers,
            is_script=job.is_script,
            ports_can_change=not ground.is_private and job.cluster.kind == "local",
        )
        self._file = StateFile(os.path.join(job.directory, FILE))
        self._watch = watch
        self._due: dict[TaskProcess, float] = {}
        self._port_attempts = 0
        self._patience = 1
        self._chief_done_at: float | None = None
        self._stops = stops
        self._parent = None if job.parent_pid is None else processes.start_time(job.parent_pid)

    def run(self) -> dict[str, Any]:
        """Watch until the end, and write the result.

        Returns:
            The last state.
        """
        try:
            self.team.start(self.team, 0)
            while self.state.state not in ENDED:
                self._turn()
                time.sleep(TICK_S)
        except TfdistributeError as error:
            self._fail(failures.error_failure(error))
        except Exception as error:  # noqa: BLE001 - no task may outlive an error of the supervisor
            said = traceback.format_exc()
            problem = f"The supervisor failed: {type(error).__name__}: {error}"
            self._fail({**failures.error_failure(TrainingError(problem)), "traceback": said})
        self.team.end()
        self._look()
        self.state.ended = time.time()
        values = self._values()
        write_result(values, self.ground.result_places)
        self._write(at_once=True)
        return values

    def _turn(self) -> None:
        self._look()
        if self._stops.count or self._parent_is_gone():
            self._stop()
            return
        self._start_due()
        self._heal()
        if self.state.state not in ENDED:
            self._keep_deadlines()
        self._write()

    # What is seen -------------------------------------------------------------------------------

    def _look(self) -> None:
        self.team.look()
        for task in self.team:
            for event in task.taken_events():
                self._file.has_news()
                self.progress.take(event, task.task == self.policy.chief)
            while task.view.notes:
                self.state.note(f"{task.name}: {task.view.notes.pop(0)}")
        self._name_phase()

    def _name_phase(self) -> None:
        chief = self.team[self.policy.chief].view
        has_finished = chief.exit == 0 if self.job.is_script else chief.finished is not None
        if self._chief_done_at is None and has_finished:
            self._chief_done_at = time.monotonic()
        trains = any(view.trains and view.stepped_at is not None for view in self.team.views)
        if self.state.state in ("starting", "restarting") and trains and not self._due:
            self.state.state, self.state.message = "training", "The tasks train."
        if self._chief_done_at is not None and self.state.state in ("starting", "training"):
            self.state.state = "evaluating"
            self.state.message = "The chief has finished; others end their work."

    def _parent_is_gone(self) -> bool:
        pid = self.job.parent_pid
        if pid is None:
            return False
        return self._parent is None or processes.start_time(pid) != self._parent

    def _views(self) -> list[TaskView]:
        return [task.view for task in self.team if task not in self._due]

    # What is healed -----------------------------------------------------------------------------

    def _heal(self) -> None:
        views, restarts = self._views(), self.state.restarts
        decision = decide(views, self.policy, restarts, self._port_attempts, time.time())
        if decision.action == "fail":
            assert decision.cause is not None
            self._fail_by(self.team[decision.cause])
        elif decision.action == "restart":
            assert decision.cause is not None
            cause = self.team[decision.cause]
            why = str(failures.task_failure(cause.view, cause.log)["problem"])
            self._start_again([self.team[task] for task in decision.tasks], why)
        elif decision.action == "other_ports":
            self._try_other_ports(decision)
        elif decision.action == "succeed" and not self._due:
            step = self.progress.global_step
            self.state.state = "done"
            self.state.message = "Done." if step is None else f"Done at step {step}."

    def _start_again(self, tasks: list[TaskProcess], why: str) -> None:
        self.state.restarts += 1
        self._patience = 1
        pause = pause_s(self.state.restarts)
        self._schedule(tasks, pause)
        names = " and ".join(task.name for task in tasks)
        verb = "starts" if len(tasks) == 1 else "start"
        count = f"restart {self.state.restarts} of {self.policy.restarts}"
        self.state.message = f"{why} {names} {verb} again in {pause:g} s ({count})."
        self.state.note(self.state.message)

    def _try_other_ports(self, decision: Decision) -> None:
        assert decision.cause is not None
        self._port_attempts += 1
        self.state.message = f"{diagnosis.clash(self.team[decision.cause])} Other ports are tried."
        self.state.note(self.state.message)
        self._schedule([self.team[task] for task in decision.tasks], pause=0.0)
        self.team.change_ports()

    def _schedule(self, tasks: list[TaskProcess], pause: float) -> None:
        self.team.end(tasks)
        self._due.update(dict.fromkeys(tasks, time.monotonic() + pause))
        if any(task.view.trains for task in tasks):
            self.state.state = "restarting"
        self._file.has_news()

    def _start_due(self) -> None:
        now = time.monotonic()
        due = [task for task, moment in self._due.items() if moment <= now]
        for task in due:
            del self._due[task]
        self.team.start(due, self.state.restarts)

    # What takes too long ------------------------------------------------------------------------

    def _keep_deadlines(self) -> None:
        supervision = self.job.supervision
        late = overdue(
            self._views(),
            supervision.start_timeout_s * self._patience,
            supervision.stall_timeout_s,
            time.monotonic(),
            self.job.is_script,
            self._chief_done_at,
        )
        if late is None:
            return
        tasks = [self.team[view.task] for view in late.views]
        if late.kind == "evaluation" and any(task.has_worked(late.seconds) for task in tasks):
            return
        if late.kind == "end":
            for task in tasks:
                self.state.note(f"{task.name} did not end by itself after its work, and was ended.")
            self.team.end(tasks)
            return
        if late.kind == "start":
            # One that computes is building its model or reading its data, and the others wait for it.
            if self._patience < START_PATIENCE and any(task.is_at_work() for task in tasks):
                self._patience += 1
                return
            # What the tasks do is told before they are disturbed, and their logs are read after.
            failure = diagnosis.of_late_start(late, tasks)
            self._show_stacks(late, failure["problem"])
            self._fail(diagnosis.with_log(failure, tasks[0]))
            return
        what = (
            "No task made a step"
            if late.kind == "stall"
            else "The last checkpoint was not evaluated"
        )
        why = f"{what} in `stall_timeout_s` = {late.seconds:g} seconds."
        self._show_stacks(late, why)
        if self.state.restarts < self.policy.restarts:
            self._start_again(tasks, why)
        else:
            self._fail(diagnosis.of_stall(why, late, tasks, self.state.restarts))

    def _show_stacks(self, late: Overdue, why: str) -> None:
        """Let the tasks write what they do: Python its stacks, R its calls."""
        self.state.message = why
        self._file.has_news()
        self.team.show_stacks()
        self._wait(lambda: False, STACKS_S)
        # The first asks a training to end after its step, the second interrupts it where it is.
        for _ in range(2):
            for view in late.views:
                self.team[view.task].is_to_end(signal.SIGINT, whole_group=False)
                view.state = "stalled" if view.is_running else view.state
            self._wait(lambda: False, CALLS_S / 2)

    # The end ------------------------------------------------------------------------------------

    def _fail_by(self, task: TaskProcess) -> None:
        self.team.end(each for each in self.team if each is not task)
        # One that told why it failed may still be writing it into its log.
        self._wait(lambda: not task.view.is_running, LAST_WORDS_S)
        self._fail(diagnosis.of_task(task, self.state.restarts, self.ground.is_private))

    def _fail(self, failure: dict[str, Any]) -> None:
        self.state.failure = {"log_tail": None, **failure}
        self.state.state, self.state.message = "failed", str(failure["problem"])

    def _stop(self) -> None:
        self.state.state, self.state.message = "stopping", "The job is being stopped."
        self._write(at_once=True)
        chief = self.team[self.policy.chief]
        is_wanted = self._stops.count > 0
        if is_wanted and chief.view.stepped_at is not None and chief.view.is_running:
            chief.is_to_end(signal.SIGINT, whole_group=False)
            self._wait(lambda: not chief.view.is_running, SAVE_S)
        for task in self.team:
            task.is_to_end(signal.SIGTERM)
        self._wait(lambda: self.team.is_ended, TERM_S)
        saved = self.progress.checkpoint
        where = "" if saved is None else f" Its last checkpoint is of step {saved}."
        who = "The job was stopped." if is_wanted else "The session that started the job is gone."
        self.state.state, self.state.message = "stopped", f"{who}{where}"

    def _wait(self, is_over: Callable[[], bool], seconds: float) -> None:
        """Go on looking and writing; a second request to stop ends the wait."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not is_over() and self._stops.count < 2:
            time.sleep(TICK_S)
            self._look()
            self._write()

    def _values(self) -> dict[str, Any]:
        return self.state.as_values(self.team.tasks, self.progress, time.monotonic())

    def _write(self, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or self._file.is_due(now):
            values = self._values()
            self._file.write(values, now)
            if self._watch is not None:
                self._watch(values)
