"""Decisions about lost and late tasks: tables of cases, without processes."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from support.planted_files import PLANTS, Plant, is_kept, link

from tfdistribute import storage
from tfdistribute.cluster.spec import ClusterSpec, LocalCluster, Task
from tfdistribute.errors import ArgumentError, ClusterError, UnsupportedError, from_values
from tfdistribute.launch.deadlines import END_S, Deadlines
from tfdistribute.launch.failures import error_failure, task_failure
from tfdistribute.launch.host import hardware, private_directory
from tfdistribute.launch.host.hardware import (
    VISIBLE,
    assign_cores,
    assign_gpus,
    available_gpus,
    devices_of_tasks,
)
from tfdistribute.launch.host.logs import LogReader, is_usable, level_of, open_log, tail
from tfdistribute.launch.job import Job, read_job, write_job
from tfdistribute.launch.job_files import RESULT_FILE
from tfdistribute.launch.restart_policy import (
    PORT_ATTEMPTS,
    Pauses,
    Policy,
    next_action,
)
from tfdistribute.launch.state import JobState, Progress
from tfdistribute.launch.task_view import TaskView
from tfdistribute.task_events import EventFile

CHIEF, WORKER, SECOND = Task("chief"), Task("worker", 0), Task("worker", 1)
PS, EVALUATOR = Task("ps"), Task("evaluator")
GANG = Policy(CHIEF, restarts=2)
SERVED = Policy(CHIEF, restarts=2, one_by_one=True)
NOW = 100.0


def view(task: Task, **known: Any) -> TaskView:
    return TaskView(task, pid=10, is_up=True, **{"state": "training", **known})


def runs(task: Task) -> TaskView:
    return view(task)


def done(task: Task) -> TaskView:
    return view(task, finished={"step": 3}, exit=0, ended_at=NOW - 5)


def killed(task: Task, at: float = NOW - 5) -> TaskView:
    return view(task, exit=-9, ended_at=at)


def aborted(task: Task, at: float) -> TaskView:
    return view(task, exit=-6, ended_at=at)


def lost(task: Task, at: float) -> TaskView:
    return view(task, exit=-9, ended_at=at, loss="it is out of reach")


def reported(task: Task) -> TaskView:
    return view(task, finished={"step": 3})


def failed(task: Task, transient: bool, at: float = NOW - 5, kind: str = "training") -> TaskView:
    return view(task, failed={"kind": kind, "transient": transient, "time": at, "problem": "no"})


def decided(
    *views: TaskView, policy: Policy = GANG, restarts: int = 0, ports: int = 0
) -> tuple[str, str | None, list[str]]:
    decision = next_action(views, policy, restarts, ports, NOW)
    cause = None if decision.cause is None else str(decision.cause)
    return decision.action, cause, [str(task) for task in decision.tasks]


BOTH = ["chief 0", "worker 0"]


@pytest.mark.parametrize(
    ("views", "policy", "action", "cause", "again"),
    [
        ((runs(CHIEF), runs(WORKER)), GANG, "continue", None, []),
        ((done(CHIEF), done(WORKER)), GANG, "succeed", None, []),
        ((done(CHIEF), done(WORKER), runs(EVALUATOR)), GANG, "continue", None, []),
        ((done(CHIEF), done(WORKER), done(EVALUATOR)), GANG, "succeed", None, []),
        # Servers run until they are stopped.
        ((done(CHIEF), done(WORKER), runs(PS)), SERVED, "succeed", None, []),
        ((done(CHIEF), runs(WORKER), runs(PS)), SERVED, "continue", None, []),
        ((runs(CHIEF), done(WORKER)), GANG, "continue", None, []),
        # All training tasks restart together; a lost parameter server restarts alone.
        ((runs(CHIEF), killed(WORKER)), GANG, "restart", "worker 0", BOTH),
        ((killed(CHIEF), done(WORKER)), GANG, "restart", "chief 0", BOTH),
        ((runs(CHIEF), killed(WORKER), runs(PS)), SERVED, "restart", "worker 0", ["worker 0"]),
        ((runs(CHIEF), runs(WORKER), killed(PS)), SERVED, "restart", "ps 0", ["ps 0"]),
        (
            (runs(CHIEF), runs(WORKER), view(PS, exit=0, ended_at=1.0)),
            SERVED,
            "restart",
            "ps 0",
            ["ps 0"],
        ),
        (
            (done(CHIEF), done(WORKER), killed(EVALUATOR)),
            GANG,
            "restart",
            "evaluator 0",
            ["evaluator 0"],
        ),
        # After the chief has finished, losing any other task does not matter.
        ((done(CHIEF), killed(WORKER)), GANG, "succeed", None, []),
        ((done(CHIEF), failed(WORKER, True)), GANG, "continue", None, []),
        ((done(CHIEF), killed(PS), done(WORKER)), SERVED, "succeed", None, []),
        # A crash while libraries are unloaded changes nothing.
        (
            (view(CHIEF, finished={"step": 3}, exit=-11, ended_at=1.0), done(WORKER)),
            GANG,
            "succeed",
            None,
            [],
        ),
        # The root cause may be reported shortly after its consequences.
        ((failed(CHIEF, True, NOW - 0.1), runs(WORKER)), GANG, "continue", None, []),
        ((failed(CHIEF, True, NOW - 0.1), failed(WORKER, False)), GANG, "fail", "worker 0", []),
        (
            (failed(CHIEF, False, NOW - 1), failed(WORKER, False, NOW - 2)),
            GANG,
            "fail",
            "worker 0",
            [],
        ),
        ((killed(CHIEF, NOW - 3), killed(WORKER, NOW - 4)), GANG, "restart", "worker 0", BOTH),
        # A process's exit may be seen after its peers report it lost.
        (
            (failed(CHIEF, True, NOW - 5), killed(WORKER, NOW - 4)),
            GANG,
            "restart",
            "worker 0",
            BOTH,
        ),
        # Nobody else is the cause of SIGKILL, so no report of another task is waited for.
        ((runs(CHIEF), killed(WORKER, NOW)), GANG, "restart", "worker 0", BOTH),
        ((failed(CHIEF, True, NOW), killed(WORKER, NOW)), GANG, "restart", "worker 0", BOTH),
        ((aborted(CHIEF, NOW - 1), killed(WORKER, NOW)), GANG, "restart", "worker 0", BOTH),
        ((runs(CHIEF), aborted(WORKER, NOW)), GANG, "continue", None, []),
        ((runs(CHIEF), lost(WORKER, NOW)), GANG, "continue", None, []),
        # A chief that has reported its end may exit before the loss matters.
        ((reported(CHIEF), killed(WORKER, NOW)), GANG, "continue", None, []),
        ((reported(CHIEF), killed(WORKER)), GANG, "restart", "worker 0", BOTH),
        ((runs(CHIEF), runs(WORKER), failed(EVALUATOR, False)), GANG, "fail", "evaluator 0", []),
        ((runs(CHIEF), view(WORKER, exit=0, ended_at=1.0)), GANG, "fail", "worker 0", []),
        ((runs(CHIEF), view(WORKER, exit=1, ended_at=1.0)), GANG, "fail", "worker 0", []),
        # The shell's exit status for SIGKILL.
        ((runs(CHIEF), view(WORKER, exit=137, ended_at=1.0)), GANG, "restart", "worker 0", BOTH),
    ],
)
def test_what_is_done_follows_from_the_table(
    views: tuple[TaskView, ...], policy: Policy, action: str, cause: str | None, again: list[str]
):
    assert decided(*views, policy=policy) == (action, cause, again)


def test_restarts_are_counted_and_port_clashes_are_not_among_them():
    lost = (runs(CHIEF), killed(WORKER))
    assert decided(*lost, restarts=1)[0] == "restart"
    assert decided(*lost, restarts=2) == ("fail", "worker 0", [])
    clash = (failed(CHIEF, True), failed(WORKER, True, kind="port"), runs(PS), runs(EVALUATOR))
    everybody = ["chief 0", "worker 0", "ps 0"]
    assert decided(*clash, restarts=2) == ("change_ports", "worker 0", everybody)
    assert decided(*clash, ports=PORT_ATTEMPTS)[0] == "fail"
    assert decided(*clash, policy=Policy(CHIEF, ports_can_change=False))[0] == "fail"


def test_only_restarts_without_progress_between_them_wait_longer_and_longer():
    pauses = Pauses(None)
    assert [pauses.next_s(None) for _ in range(9)] == [0, 2, 4, 8, 16, 30, 30, 30, 30]
    assert [pauses.next_s(step) for step in (10, 20, 20, 30)] == [0, 0, 2, 0]


def test_hosts_that_are_lost_together_count_as_one_restart():
    views = (lost(CHIEF, NOW - 5), runs(WORKER))
    assert next_action(views, GANG, 2, 0, NOW).action == "fail"
    again = next_action(views, GANG, 2, 0, NOW, {WORKER})
    assert (again.action, again.cause, again.counts) == ("restart", CHIEF, False)
    # The same host again, or another cause, is a new failure.
    assert next_action(views, GANG, 2, 0, NOW, {CHIEF, WORKER}).action == "fail"
    assert next_action((killed(CHIEF), runs(WORKER)), GANG, 2, 0, NOW, {WORKER}).action == "fail"
    assert next_action(views, GANG, 1, 0, NOW).counts


def test_a_script_that_caught_an_error_goes_on_and_only_its_end_counts():
    script = Policy(CHIEF, is_script=True)
    assert decided(failed(CHIEF, False), runs(WORKER), policy=script)[0] == "continue"
    ended = view(CHIEF, exit=0, ended_at=1.0)
    assert decided(ended, view(WORKER, exit=0, ended_at=1.0), policy=script)[0] == "succeed"
    assert decided(ended, view(WORKER, exit=1, ended_at=1.0), policy=script)[0] == "fail"
    told = view(CHIEF, finished={"step": 1})
    assert decided(told, ended, policy=script)[0] == "continue"


def late(
    *views: TaskView, now: float = NOW, is_script: bool = False, chief_done_at: float | None = None
) -> tuple[str, list[str]] | None:
    found = Deadlines(60, 300, is_script).find_overdue(views, now, chief_done_at)
    return None if found is None else (found.kind, [str(each.task) for each in found.views])


def test_who_never_came_is_named_rather_than_who_waits():
    waits = TaskView(CHIEF, pid=1, state="waiting", waiting_for="peers")
    silent = TaskView(WORKER, pid=2)
    assert late(waits, silent, now=59) is None
    assert late(waits, silent, now=61) == ("start", ["worker 0"])
    assert late(waits, now=61) == ("start", ["chief 0"])
    trains = view(CHIEF, stepped_at=50.0)
    assert late(trains, TaskView(PS, pid=2), silent, now=61) == ("start", ["ps 0", "worker 0"])
    assert late(trains, TaskView(EVALUATOR, pid=3), now=61) is None
    # A task needs no step if nothing was left to train.
    assert late(view(CHIEF, finished={"step": 3}, heard_at=60.0), now=61) is None


def test_the_tasks_may_start_late_while_their_chief_chooses():
    chooses = TaskView(CHIEF, pid=1, is_up=True)
    chooses.take({"event": "choosing"}, 500.0)
    waits = TaskView(WORKER, pid=2, state="waiting", waiting_for="the choice of chief 0")
    assert chooses.activity == "choosing the end"
    assert late(chooses, waits, now=559) is None
    assert late(chooses, waits, now=561) == ("start", ["chief 0", "worker 0"])
    for each in (chooses, waits):
        each.take({"event": "tensorflow"}, 501.0)
        assert each.activity == "building the model"


def test_a_job_stalls_when_nobody_makes_a_step():
    old, new = view(CHIEF, stepped_at=50.0), view(WORKER, stepped_at=300.0)
    assert late(old, new, now=400) is None
    assert late(old, new, now=601) == ("stall", ["chief 0", "worker 0"])
    assert late(done(CHIEF), view(WORKER, stepped_at=1.0), now=400) == ("stall", ["worker 0"])


def test_after_its_work_a_task_has_a_moment_to_end():
    told = view(CHIEF, finished={"step": 3}, stepped_at=1.0, heard_at=50.0)
    assert late(told, now=50 + END_S + 1) == ("end", ["chief 0"])
    assert late(told, now=50 + END_S + 1, is_script=True) is None
    rest = view(WORKER, stepped_at=50.0)
    assert late(rest, now=51 + END_S, chief_done_at=50.0) == ("end", ["worker 0"])
    evaluates = view(EVALUATOR, heard_at=10.0)
    assert late(evaluates, now=340, chief_done_at=50.0) is None
    assert late(evaluates, now=351, chief_done_at=50.0) == ("evaluation", ["evaluator 0"])


def test_progress_counts_what_was_lost_and_keeps_each_step_once():
    progress = Progress()

    def told(event: str, is_chief: bool = True, **fields: Any) -> None:
        progress.take({"event": event, "time": 1.0, **fields}, is_chief)

    for step in range(1, 6):
        told("step", step=step, loss=1.0)
        told("record", step=step, loss=1.0, seconds=float(step), examples_per_second=4.0)
    told("step", is_chief=False, step=50)
    assert progress.global_step == 5
    # The chief is back at the checkpoint of step 3; other tasks' session events change nothing.
    told("session", is_chief=False, step=1)
    told("session", step=3)
    assert (progress.goodput().steps_lost, progress.global_step) == (2, 3)
    told("step", step=4, loss=2.0)
    told("record", step=4, loss=2.0, seconds=0.5, examples_per_second=8.0)
    told("evaluation", is_chief=False, step=4, metrics={"loss": 2.0, "nan": None})
    told("evaluation", is_chief=False, step=4, metrics={"loss": 3.0})
    told("finished", step=4, stopped_by="stop_if_no_decrease")
    assert (progress.goodput().steps_lost, progress.stopped_by) == (2, "stop_if_no_decrease")
    columns = progress.as_columns()
    assert columns["training"]["step"] == [1, 2, 3, 4]
    assert columns["training"]["seconds"] == [1, 2, 3, 3.5]
    assert columns["evaluation"] == [{"global_step": 4, "loss": 3}]
    assert columns["examples_per_second"] == pytest.approx((3 * 4 + 0.5 * 8) / 3.5)


def test_progress_names_the_hosts_that_have_trained_from_which_step_to_which():
    progress = Progress()
    assert progress.as_columns()["workers"] == []
    # The start from step 8 ended before its first checkpoint, and the hosts of the last two starts are the same.
    for start, step, hosts in ((0, 9, "abc"), (8, 9, "b"), (8, 19, "ac"), (15, 30, "ac")):
        progress.hosts = tuple(hosts)
        progress.take({"event": "session", "time": 1.0, "step": start}, is_chief=True)
        progress.take({"event": "step", "time": 1.0, "step": step}, is_chief=True)
    rows = [
        {"first_step": 0, "last_step": 8, "workers": 3, "hosts": "a, b, c"},
        {"first_step": 8, "last_step": 30, "workers": 2, "hosts": "a, c"},
    ]
    assert progress.as_columns()["workers"] == rows
    again = Progress()
    again.restore(json.loads(json.dumps(progress.as_values())))
    assert again.as_columns()["workers"] == rows


def test_the_last_step_is_known_from_the_history_before_the_chief_has_ended():
    progress = Progress()
    progress.take({"event": "step", "time": 1.0, "step": 4}, is_chief=True)
    row = {"step": 7, "loss": 1.5, "seconds": 0.75, "examples_per_second": 8.0}
    progress.take({"event": "record", "time": 2.0, **row}, is_chief=True)
    assert (progress.newest_step, progress.loss, progress.goodput().steps_lost) == (7, 1.5, 0)
    # A restarted chief is back at its checkpoint.
    progress.take({"event": "session", "time": 3.0, "step": 4}, is_chief=True)
    assert (progress.newest_step, progress.goodput().steps_lost) == (4, 0)


def test_events_are_read_line_by_line_and_what_is_none_is_passed_over(tmp_path: Any):
    path = tmp_path / "events"
    events = EventFile(str(path))
    assert events.read_new() == []
    path.write_bytes(b'{"event": "step", "time": 1, "step": 1}\n{"event": "st')
    assert [event["event"] for event in events.read_new()] == ["step"]
    with path.open("ab") as file:
        file.write(b'ep", "time": 2}\nnoise\n[1]\n\xff\n{"event": 3, "time": 1}\n{"event": "x"}\n')
    assert events.read_new() == [{"event": "step", "time": 2}]
    assert events.read_new() == []


def test_failures_are_errors_again_of_the_kind_that_they_name():
    told = failed(WORKER, False, kind="sharding")
    described = task_failure(told, "worker-0.log")
    assert (described["task"], described["kind"], described["problem"]) == (
        "worker 0",
        "sharding",
        "no",
    )
    error = from_values(described)
    assert (error.kind, error.problem) == ("sharding", "no")
    assert error_failure(error)["kinds"] == ["sharding", "input", "error"]
    assert from_values({"kind": "unheard of", "problem": "x"}).kind == "training"
    assert "by SIGSEGV" in task_failure(view(CHIEF, exit=-11), "log")["problem"]
    before = TaskView(CHIEF, pid=4, exit=1)
    assert task_failure(before, "chief-0.log")["problem"] == (
        "chief 0 (pid 4) ended with 1, before it was up."
    )


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("2026-01-01 10:00:00.000001: W tensorflow/core/x.cc:1] slow", "warning"),
        ("2026-01-01 10:00:00.000001: I tensorflow/core/x.cc:1] fine", "info"),
        ("E0000 00:00:1.2 5 cuda.cc:1] no", "error"),
        ("WARNING:tensorflow:old", "warning"),
        ("INFO:tensorflow:loss = 1", "info"),
        ("Error in f() : no", "error"),
        ("Warning message:", "warning"),
        ("Traceback (most recent call last):", "error"),
        ("step 5", None),
    ],
)
def test_lines_say_their_level_in_the_words_of_their_programs(line: str, level: str | None):
    assert level_of(line) == level


def test_lines_without_a_level_belong_to_those_before_them(tmp_path: Any):
    log = tmp_path / "worker-1.log"
    log.write_text("before\n", encoding="utf-8")
    tasks = [{"task": "worker 1", "log": str(log), "log_start": 7}]
    reader = LogReader(tasks, level="warning")
    with log.open("a", encoding="utf-8") as file:
        file.write("hello\nWARNING: slow\n  in step 1\nINFO: fine\n  quiet\nError: n")
    assert reader.read_new() == ["[worker 1] WARNING: slow", "[worker 1]   in step 1"]
    with log.open("a", encoding="utf-8") as file:
        file.write("o\n  of them\n")
    later = LogReader(tasks, reader.position, "warning")
    assert later.read_new() == ["[worker 1] Error: no", "[worker 1]   of them"]


def test_any_text_in_a_job_stays_what_it_is_and_names_of_jobs_are_plain(tmp_path: Path):
    random = Random(3)
    strange = "ab ;|&$`'\"\\\n\t*?[](){}<>#~!%-=é雪\u202e"
    plain = Job("job-1", LocalCluster(2), "script", ("a",), str(tmp_path), "/")
    for _ in range(50):
        texts = ["".join(random.choices(strange, k=9)) for _ in range(4)]
        job = dataclasses.replace(
            plain,
            command=(texts[0], texts[1]),
            working_directory=texts[2].replace("\n", "").replace("\t", ""),
            environment={"A": texts[3]},
        )
        assert read_job(write_job(job)) == job
    for field, text in {"working_directory": "/a\nb", "model_dir": "/a\rb"}.items():
        with pytest.raises(ArgumentError, match="line breaks") as caught:
            dataclasses.replace(plain, **{field: text})
        assert caught.value.argument == field
    for name in ("", "../x", "a b", "a;b", "$(id)", "a\n"):
        with pytest.raises(ArgumentError, match="not the id of a job"):
            dataclasses.replace(plain, id=name)
    for host in ("a;b:1", "$(id):1", "a b:1", "`id`:1", "a|b", "-a:1"):
        with pytest.raises(ClusterError, match="not an address"):
            ClusterSpec(chief=(host,))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[1]", "3", "{}", '{"id": ' + "9" * 5000 + "}", "{"]
)
def test_a_file_that_is_not_a_job_is_refused(text: str, tmp_path: Path):
    (tmp_path / "job.json").write_text(text)
    with pytest.raises(ArgumentError) as caught:
        read_job(str(tmp_path / "job.json"))
    assert len(str(caught.value)) < 2000


def test_a_pipe_in_place_of_a_file_of_a_job_is_refused_at_once(tmp_path: Path):
    tmp_path.chmod(0o700)
    pipe = str(tmp_path / "task.rds")
    os.mkfifo(pipe)
    with pytest.raises(ArgumentError, match="is not a job"):
        read_job(pipe)
    with pytest.raises(ArgumentError, match="is not what was written for this job"):
        private_directory.check_digest(pipe, "0" * 64)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("plant", PLANTS)
def test_a_log_that_somebody_else_has_put_there_is_neither_followed_nor_waited_for(
    tmp_path: Path, plant: Plant
):
    directory = tmp_path / "logs"
    assert is_usable(str(directory))
    log = directory / "worker-0.log"
    victim = plant(log)
    opened = open_log(str(log))
    os.write(opened, b"line\n")
    os.close(opened)
    assert tail(str(log), 0) == ""
    task = {"task": "worker 0", "log": str(log), "log_start": 0}
    assert LogReader([task]).read_new() == []
    assert is_kept(victim)
    # The logs go elsewhere.
    assert not is_usable(str(directory))


def test_a_result_is_neither_read_from_a_link_nor_written_through_one(tmp_path: Path):
    (tmp_path / "logs").mkdir()
    result = tmp_path / "logs" / RESULT_FILE
    victim = link(result)
    assert storage.read_object(str(result)) is None
    # The name that a writer could be expected to use.
    (tmp_path / "logs" / f"{RESULT_FILE}.{os.getpid()}.new").symlink_to(victim)
    storage.write_object(str(result), {"state": "done"})
    assert storage.read_object(str(result)) == {"state": "done"}
    assert is_kept(victim)


def test_cores_are_shared_out_as_neighbours_or_not_at_all():
    assert assign_cores(range(4), 2) == [(0, 1), (2, 3)]
    assert assign_cores([3, 5, 8, 9, 10], 2) == [(3, 5), (8, 9, 10)]
    assert assign_cores(range(3), 2) == [(0, 1), (2,)]
    assert assign_cores(range(2), 2) == [(0,), (1,)]
    assert assign_cores(range(2), 3) == [(), (), ()]
    assert assign_cores(range(8), 1) == [()]


def test_gpus_come_from_the_driver_or_from_cuda_visible_devices(tmp_path: Path):
    assert available_gpus({}, tmp_path / "no driver") == []
    for name in ("0000:3b:00.0", "0000:af:00.0"):
        (tmp_path / name).mkdir()
    assert available_gpus({}, tmp_path) == ["0", "1"]
    assert available_gpus({VISIBLE: "3, GPU-8932f937"}, tmp_path) == ["3", "GPU-8932f937"]
    # As CUDA reads the list.
    assert available_gpus({VISIBLE: "1,-1,0"}, tmp_path) == ["1"]
    assert available_gpus({VISIBLE: ""}, tmp_path) == []


def test_devices_of_a_local_clusters_tasks_are_known_without_tensorflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cluster, driver = LocalCluster(workers=2), tmp_path / "no driver"
    monkeypatch.setattr(hardware, "_AMD_DRIVER", tmp_path / "kfd")
    monkeypatch.setattr(sys, "platform", "linux")
    assert devices_of_tasks(cluster, {}, driver) == ("/device:CPU:0",)
    assert devices_of_tasks(cluster, {VISIBLE: "3,7"}, driver) == (
        "/device:GPU:0",
        "/device:GPU:1",
    )
    assert devices_of_tasks(ClusterSpec(chief=("a:1",)), {}, driver) == ()
    assert devices_of_tasks(None, {}, driver) == ()
    (tmp_path / "kfd").touch()
    assert devices_of_tasks(cluster, {}, driver) == ()


def test_training_processes_share_out_the_gpus_and_servers_get_none():
    tasks = LocalCluster(workers=2, ps=1).tasks

    def visible(gpus: str, per_worker: int = 1) -> dict[str, str]:
        return {
            str(task): variables[VISIBLE]
            for task, variables in assign_gpus(gpus.split(), tasks, per_worker).items()
        }

    assert visible("") == {}
    assert visible("0 1 2") == {
        "chief 0": "0",
        "worker 0": "1",
        "ps 0": "",
        "evaluator 0": "2",
    }
    alone = visible("0 1 2 3", per_worker=2)
    assert alone == {"chief 0": "0,1", "worker 0": "2,3", "ps 0": "", "evaluator 0": ""}
    # With too few GPUs, tasks share them and none takes all the memory.
    shared = assign_gpus(["7"], tasks, 1)
    trains = {VISIBLE: "7", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    assert [shared[task] for task in tasks if task.type in ("chief", "worker")] == [trains] * 2


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_a_job_on_another_system_is_refused_before_it_has_a_directory(
    platform: str, own_temporary_directory: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(UnsupportedError, match=f'needs Linux.*this is "{platform}"'):
        private_directory.new_directory()
    assert list(own_temporary_directory.iterdir()) == []


def test_the_speed_of_a_job_is_the_sum_over_the_tasks_that_train():
    speeds = {CHIEF: 100.0, WORKER: 50.0, SECOND: None, PS: 7.0, EVALUATOR: 9.0}
    shown = {"name": "t", "port": None, "log": None, "log_start": 0}
    tasks: Any = [
        SimpleNamespace(view=view(task, speed=speed), **shown) for task, speed in speeds.items()
    ]
    job: Any = SimpleNamespace(id="j", verb="train", trains=True, model_dir="m", max_steps=None)
    values = JobState(job).as_values(tasks, Progress(), NOW)
    assert values["examples_per_second"] == 150.0
