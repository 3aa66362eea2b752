"""The supervisor with fake tasks: restarts, reports and clean-up."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from pathlib import Path

import pytest
from support.job_fakes import (
    EVALUATES,
    TRAINS,
    fake_job,
    files_with,
    row,
    run_job,
    running,
    state_when,
)

from tfdistribute.errors import BackendError
from tfdistribute.launch import job_handle
from tfdistribute.launch.host.hardware import assign_cores
from tfdistribute.launch.host.logs import remove_fallback
from tfdistribute.launch.start import start_supervisor
from tfdistribute.metrics_page import metrics_of

# Private directories go to the test's own temporary directory.
pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]


@pytest.mark.smoke
def test_a_job_ends_when_the_last_checkpoint_has_been_evaluated(
    tmp_path: Path, own_temporary_directory: Path
):
    evaluates = [("sleep", 0.5), ("print", "WARNING: seen"), *EVALUATES]
    state = run_job(tmp_path, {"evaluator": evaluates}, max_steps=3)
    assert (state["state"], state["global_step"], state["restarts"]) == ("done", 3, 0)
    assert [(each["task"], each["state"]) for each in state["tasks"]] == [
        ("chief 0", "done"),
        ("worker 0", "done"),
        ("evaluator 0", "done"),
    ]
    training = state["history"]["training"]
    assert training["step"] == [1, 2, 3]
    assert training["loss"] == [1, 1 / 2, 1 / 3]
    assert state["history"]["evaluation"] == [{"global_step": 3, "loss": 1 / 3}]
    assert state["history"]["examples_per_second"] == pytest.approx(10)
    logs = tmp_path / "model" / "logs"
    assert {path.name for path in logs.iterdir()} == {
        "chief-0.log",
        "evaluator-0.log",
        "result.json",
        "worker-0.log",
    }
    assert json.loads((logs / "result.json").read_text(encoding="utf-8")) == state
    assert list(own_temporary_directory.iterdir()) == []
    handle = {"id": state["id"], "directory": "/nonexistent", "logs": str(logs), "pid": 1}
    assert job_handle.job_logs(handle, level="warning") == ["[evaluator 0] WARNING: seen"]


def test_servers_are_ended_when_the_chief_and_the_workers_are_done(tmp_path: Path):
    state = run_job(tmp_path, {"ps": [("stubborn",), ("sleep", 60)]}, ps=1, evaluator=False)
    assert (state["state"], row(state, "ps 0")["state"]) == ("done", "stopped")


@pytest.mark.smoke
def test_a_killed_worker_restarts_all_training_tasks_and_lost_steps_are_counted(tmp_path: Path):
    state = run_job(
        tmp_path,
        {
            "chief-0@0": [("train", 8), ("sleep", 60)],
            "worker-0@0": [("train", 8), ("sleep", 0.1), ("die",)],
            "chief-0@1": [("train", 9, 6), ("finish", 9)],
            "worker-0@1": [("train", 9, 6), ("finish", 9)],
            "evaluator": [("evaluate", 5), ("sleep", 2), ("evaluate", 9), ("finish", 9)],
        },
    )
    assert (state["state"], state["restarts"], state["global_step"]) == ("done", 1, 9)
    # Steps 6 to 8 were trained twice, and appear once in the history.
    assert state["steps_lost"] == 3
    assert state["history"]["training"]["step"] == list(range(1, 10))
    assert state["history"]["training"]["seconds"] == sorted(
        state["history"]["training"]["seconds"]
    )
    (note,) = state["notes"]
    assert "was ended by SIGKILL" in note
    assert note.endswith("chief 0 and worker 0 restart (restart 1 of 3).")
    log = Path(row(state, "chief 0")["log"]).read_text(encoding="utf-8")
    assert "(start 2) ---" in log


def test_with_parameter_servers_only_the_lost_task_restarts_on_its_port(tmp_path: Path):
    go, ports = tmp_path / "go", []
    with running(
        tmp_path,
        {
            "chief": [("train", 3), ("wait_for", str(go)), ("finish", 3)],
            "worker": [("train", 3), ("wait_for", str(go)), ("finish", 3)],
            "ps-0@0": [("listen",), ("sleep", 0.3), ("die",)],
            "ps-0@1": [("listen",), ("sleep", 60)],
        },
        ps=1,
        evaluator=False,
    ) as job:
        before = state_when(job, lambda state: row(state, "ps 0")["state"] == "serving")
        ports.append(row(before, "ps 0")["port"])
        after = state_when(
            job, lambda state: state["restarts"] == 1 and row(state, "ps 0")["state"] == "serving"
        )
        ports.append(row(after, "ps 0")["port"])
        assert row(before, "chief 0")["pid"] == row(after, "chief 0")["pid"]
        assert row(before, "ps 0")["pid"] != row(after, "ps 0")["pid"]
        assert ports[0] == ports[1]
        go.touch()
        state = state_when(job, lambda state: state["ended"] is not None)
    assert state["state"] == "done"


def test_a_lost_evaluator_restarts_alone(tmp_path: Path):
    state = run_job(
        tmp_path,
        {"evaluator-0@0": [("die", 11)], "evaluator-0@1": EVALUATES, "chief": TRAINS},
    )
    assert (state["state"], state["restarts"]) == ("done", 1)
    assert "evaluator 0 restarts" in state["notes"][0]


def test_the_root_cause_is_reported_and_not_the_errors_that_follow_it(
    tmp_path: Path,
):
    began = time.monotonic()
    state = run_job(
        tmp_path,
        {
            "chief": [
                ("train", 2),
                ("sleep", 0.2),
                ("fail", "The peer is gone.", True, "lost_peer"),
            ],
            "worker-0": [("train", 2), ("sleep", 60)],
            "worker-1": [
                ("train", 2),
                ("sleep", 0.3),
                ("fail", "No column x.", False, "input", 0.2),
            ],
        },
        workers=3,
    )
    # One of them would sleep for a minute.
    assert time.monotonic() - began < 30
    failure = state["failure"]
    assert (state["state"], state["restarts"]) == ("failed", 0)
    assert (failure["task"], failure["kind"], failure["exit"]) == ("worker 1", "input", 1)
    assert failure["problem"] == "No column x."
    assert failure["traceback"] == "Traceback of worker-1"
    assert failure["log_tail"].endswith("Error: No column x.")
    states = [each["state"] for each in state["tasks"]]
    assert states == ["failed", "stopped", "failed", "done"]


def test_a_job_that_keeps_losing_tasks_fails_with_the_first_loss(tmp_path: Path):
    state = run_job(
        tmp_path, {"worker-0": [("train", 1), ("die", 6)], "chief": [("sleep", 60)]}, restarts=1
    )
    failure = state["failure"]
    assert (failure["task"], failure["exit"], failure["kind"]) == ("worker 0", -6, "training")
    assert "was ended by SIGABRT. It was restarted 1 time." in failure["problem"]


def test_a_task_that_exits_without_finishing_is_a_failure(tmp_path: Path):
    failure = run_job(tmp_path, {"chief": [("train", 1), ("exit", 0)]})["failure"]
    assert failure["problem"].startswith("chief 0 (pid ")
    assert failure["problem"].endswith("ended before its work was done.")


def test_a_missing_program_is_named(tmp_path: Path):
    state = run_job(tmp_path, {}, command=["/no/such/Rscript", "; touch x"])
    assert state["failure"]["kind"] == BackendError.kind
    assert '"/no/such/Rscript"' in state["failure"]["problem"]
    assert state["failure"]["argument"] == "command"


def test_a_missing_task_is_named_and_not_the_tasks_that_wait_for_it(tmp_path: Path):
    state = run_job(
        tmp_path,
        {
            "chief": [("shows_stacks",), ("wait", "peers"), ("sleep", 2), ("sleep", 60)],
            "worker": [("sleep", 60)],
        },
        start_timeout_s=1,
    )
    failure = state["failure"]
    assert (state["state"], failure["kind"], failure["task"]) == ("failed", "lost_peer", "worker 0")
    assert 'never reached it, it is "starting".' in failure["problem"]
    assert "chief" not in failure["problem"]
    assert "KeyboardInterrupt" in failure["log_tail"]
    assert "the stacks of chief-0" in Path(row(state, "chief 0")["log"]).read_text(encoding="utf-8")


def test_a_task_that_is_busy_before_its_first_step_is_not_stalled(tmp_path: Path):
    state = run_job(
        tmp_path,
        {
            "chief": [("wait", "peers"), ("sleep", 5), ("train", 2), ("finish", 2)],
            "worker": [("work", 5), ("train", 2), ("finish", 2)],
        },
        start_timeout_s=3,
        evaluator=False,
    )
    assert (state["state"], state["restarts"]) == ("done", 0)


@pytest.mark.parametrize("act", ["starve", "read"])
def test_progress_of_any_kind_extends_the_time_to_the_first_step(tmp_path: Path, act: str):
    # A busy machine gives a task two hundredths of a core, or lets it wait for the disk.
    state = run_job(
        tmp_path,
        {
            "chief": [("wait", "peers"), ("sleep", 6), ("train", 2), ("finish", 2)],
            "worker": [(act, 6), ("train", 2), ("finish", 2)],
        },
        start_timeout_s=2.5,
        evaluator=False,
    )
    assert (state["state"], state["restarts"]) == ("done", 0), state["failure"]


def test_the_seconds_that_were_really_waited_are_given(tmp_path: Path):
    state = run_job(
        tmp_path,
        {"chief": [("wait", "peers"), ("sleep", 60)], "worker": [("work", 3), ("sleep", 60)]},
        start_timeout_s=2,
        evaluator=False,
    )
    problem = state["failure"]["problem"]
    waited = re.search(r"in (\d+) seconds \(`start_timeout_s` is 2\)", problem)
    assert waited is not None, problem
    assert 4 <= int(waited[1]) <= 7
    assert "worker 0 (pid " in problem


def test_a_stalled_job_prints_its_stacks_and_restarts(tmp_path: Path):
    stalls = [("shows_stacks",), ("train", 2), ("sleep", 60)]
    done = str(tmp_path / "done")
    state = run_job(
        tmp_path,
        {
            "chief-0@0": stalls,
            "worker-0@0": stalls,
            "chief-0@1": [("train", 3), ("touch", done), ("finish", 3)],
            "evaluator": [("wait_for", done), *EVALUATES],
        },
        stall_timeout_s=1,
    )
    assert (state["state"], state["restarts"]) == ("done", 1)
    assert "No task made a step in `stall_timeout_s` = 1 seconds." in state["notes"][0]
    log = Path(row(state, "worker 0")["log"]).read_text(encoding="utf-8")
    assert "the stacks of worker-0" in log
    # SIGINT makes an interpreter print where it was.
    assert "KeyboardInterrupt" in log


def test_a_frozen_server_is_named_and_restarts_with_all_that_train(tmp_path: Path):
    stalls, done = [("train", 2), ("sleep", 60)], str(tmp_path / "done")
    state = run_job(
        tmp_path,
        {
            "chief-0@0": stalls,
            "worker-0@0": stalls,
            "ps-0@0": [("die", int(signal.SIGSTOP))],
            "ps-0@1": [("touch", done), ("sleep", 60)],
            "chief-0@1": [("wait_for", done), *TRAINS],
        },
        ps=1,
        evaluator=False,
        stall_timeout_s=1,
    )
    assert (state["state"], state["restarts"]) == ("done", 1), state["failure"]
    assert re.search(
        r"seconds\. The process of ps 0 \(pid \d+\) is suspended", state["notes"][0]
    ), state["notes"]


def test_a_server_that_is_frozen_from_the_start_is_named(tmp_path: Path):
    state = run_job(
        tmp_path,
        {
            "chief": [("wait", "ps 0"), ("sleep", 60)],
            "worker": [("wait", "ps 0"), ("sleep", 60)],
            "ps": [("die", int(signal.SIGSTOP))],
        },
        ps=1,
        evaluator=False,
        start_timeout_s=1,
    )
    assert "The process of ps 0 (pid " in state["failure"]["problem"], state["failure"]


def test_an_evaluation_that_never_ends_has_a_deadline(tmp_path: Path):
    # A task is not late while it is busy.
    waits = [("evaluate", 1), ("work", 2.5), ("print", "computed"), ("sleep", 60)]
    state = run_job(tmp_path, {"evaluator": waits}, stall_timeout_s=1, restarts=0)
    assert "computed" in state["failure"]["log_tail"]
    assert state["failure"]["task"] == "evaluator 0"
    assert "The last checkpoint was not evaluated" in state["failure"]["problem"]
    assert state["history"]["training"]["step"] == [1, 2, 3]


def test_a_taken_port_is_named_and_other_ports_are_tried(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        cluster = {"kind": "addresses", "chief": [f"localhost:{port}"]}
        listens = {"chief": [("listen",), *TRAINS]}
        # In its own network a job has every port, including those it was given.
        state = run_job(tmp_path, listens, cluster=cluster)
        assert (state["state"], row(state, "chief 0")["port"]) == ("done", port)
    clashes = {"chief": [("fail", "Taken.", True, "port")]}
    state = run_job(tmp_path, clashes, workers=1, network="open", evaluator=False)
    assert state["failure"]["kind"] == "port"
    assert len([note for note in state["notes"] if note.endswith("Trying other ports.")]) == 5
    assert state["restarts"] == 0


def test_open_ports_are_warned_of_and_paths_of_other_machines_need_them(tmp_path: Path):
    state = run_job(tmp_path, {}, model_dir="s3://bucket/model")
    assert (state["state"], state["network"]) == ("done", "open")
    assert "anyone who can reach a port can run programs as you" in state["notes"][0]
    assert '`model_dir` "s3://bucket/model" is reached through the network' in state["notes"][0]
    assert state["logs"] == str(tmp_path / "tfdistribute-logs" / state["id"])
    state = run_job(tmp_path, {}, tracks=True)
    assert "`track` logs through the network" in state["notes"][0]


def test_events_of_tasks_reach_the_state_and_garbage_is_ignored(tmp_path: Path):
    acts = [("garbage",), ("note", "a repair"), ("train", 3), ("garbage",), ("finish", 3)]
    with running(tmp_path, {"worker": [*acts[:3], ("sleep", 1), *acts[3:]]}) as job:
        state = state_when(job, lambda state: row(state, "worker 0")["step"] == 3)
        assert row(state, "worker 0")["examples_per_second"] == 10
        state = state_when(job, lambda state: row(state, "chief 0")["examples_per_second"])
        assert (state["examples_per_second"], metrics_of(state).examples_per_second) == (20, 20)
        assert row(state, "worker 0")["seconds_since_step"] >= 0
        last = state_when(job, lambda state: state["ended"] is not None)
    assert (last["state"], last["notes"]) == ("done", ["worker 0: a repair"])


def test_a_script_is_done_when_its_processes_end(tmp_path: Path):
    twice = [("train", 2), ("finish", 2), ("train", 4, 3), ("finish", 4)]
    state = run_job(
        tmp_path,
        {"chief": twice, "worker": twice, "evaluator": [("finish", 0)]},
        verb="script",
        model_dir=None,
    )
    assert (state["state"], state["global_step"], state["steps_lost"]) == ("done", 4, 0)
    # An error that a script catches is ignored.
    caught = [("train", 1), ("fail", "Caught.", False, "training")]
    failing = run_job(tmp_path, {"chief": caught}, verb="script", model_dir=None)
    assert failing["failure"]["problem"] == "Caught."


def test_shell_characters_in_names_are_only_characters(tmp_path: Path):
    name = "m; touch $(id) `x` '\"&| ü"
    directory = tmp_path / name
    directory.mkdir()
    state = run_job(directory, {"chief": [("print", name), *TRAINS]}, environment={"A": name})
    assert state["state"] == "done"
    assert sorted(path.name for path in directory.iterdir()) == ["model"]


def test_no_value_of_the_environment_reaches_a_file(
    tmp_path: Path, own_temporary_directory: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("A_PASSWORD", "planted-secret")
    with running(tmp_path, {"chief": [("train", 3), ("sleep", 1), ("finish", 3)]}) as job:
        state_when(job, lambda state: state["global_step"] == 3)
        assert len(files_with("", tmp_path)) > 5
        assert files_with("planted-secret", tmp_path) == []
        chief = row(job_handle.job_state(job), "chief 0")["pid"]
        assert b"planted-secret" in Path(f"/proc/{chief}/environ").read_bytes()
        assert b"planted-secret" not in Path(f"/proc/{chief}/cmdline").read_bytes()
        state_when(job, lambda state: state["ended"] is not None)
    assert files_with("planted-secret", tmp_path) == []


def test_what_stands_in_the_private_directory_is_for_this_user_alone(tmp_path: Path):
    with running(tmp_path, {"chief": [("train", 1), ("sleep", 60)]}) as job:
        state_when(job, lambda state: state["global_step"] == 1)
        directory = Path(job["directory"])
        assert directory.stat().st_mode & 0o077 == 0
        assert (directory / "job.json").stat().st_mode & 0o077 == 0
        job_handle.stop_job(job)


def variable(pid: int, name: str) -> str | None:
    """An environment variable that a process was started with."""
    entries = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    values = [entry.partition("=")[2] for entry in entries if entry.startswith(f"{name}=")]
    return values[0] if values else None


def test_python_does_not_hold_back_what_a_task_prints(tmp_path: Path):
    with running(tmp_path, {"chief": [("train", 1), ("sleep", 60)]}) as job:
        state = state_when(job, lambda state: state["global_step"] == 1)
        assert variable(row(state, "chief 0")["pid"], "PYTHONUNBUFFERED") == "1"
        job_handle.stop_job(job)


def test_cores_and_gpus_are_shared_out_among_the_tasks_that_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    own = os.sched_getaffinity(0)
    sleeps = [("train", 1), ("sleep", 60)]
    with running(tmp_path, {"chief": sleeps, "worker": sleeps, "evaluator": sleeps}) as job:
        state = state_when(job, lambda state: state["global_step"] == 1)
        pids = {row["task"]: row["pid"] for row in state["tasks"] if row["pid"]}
        cores = {task: os.sched_getaffinity(pid) for task, pid in pids.items()}
        gpus = {task: variable(pid, "CUDA_VISIBLE_DEVICES") for task, pid in pids.items()}
        job_handle.stop_job(job)
    assert gpus == {"chief 0": "4", "worker 0": "5", "evaluator 0": ""}
    shared = [set(each) or own for each in assign_cores(sorted(own), 2)]
    assert [cores["chief 0"], cores["worker 0"]] == shared
    assert cores["evaluator 0"] == own


def test_the_supervisor_starts_in_a_moment_and_without_numpy(tmp_path: Path):
    with running(tmp_path, {"chief": [("train", 1), ("sleep", 60)]}) as job:
        maps = Path(f"/proc/{job['pid']}/maps").read_text(encoding="utf-8")
        assert "numpy" not in maps
        assert "tensorflow" not in maps
        assert job_handle.stop_job(job)["state"] == "stopped"


def test_the_handle_of_a_job_that_ends_at_once_finds_its_result(tmp_path: Path):
    job = start_supervisor(fake_job(tmp_path, {"chief": [("exit", 3)]}, workers=1, evaluator=False))
    state = state_when(job, lambda state: state["ended"] is not None)
    assert state["failure"]["exit"] == 3


def test_a_killed_task_of_an_evaluation_restarts_alone_beside_a_training(
    tmp_path: Path, own_temporary_directory: Path
):
    evaluated = str(tmp_path / "evaluated")
    acts = {
        "chief": [
            ("batch", 5),
            ("result",),
            ("wait", "worker 0"),
            ("wait_for", evaluated),
            ("finish", 5),
        ],
        "worker-0@0": [("batch", 1), ("sleep", 0.1), ("die",)],
        "worker-0@1": [("batch", 4), ("result",), ("touch", evaluated), ("finish", 4)],
    }
    with running(tmp_path, {"chief": [("train", 5), ("sleep", 60)]}) as training:
        state_when(training, lambda state: state["state"] == "training")
        # The training holds the lock of model_dir.
        job = start_supervisor(fake_job(tmp_path, acts, verb="evaluate", ps=1))
        waiting = state_when(job, lambda state: state["tasks"][0]["step"] == 5)
        assert waiting["state"] in ("evaluating", "restarting")
        state = state_when(job, lambda state: state["ended"] is not None, timeout_s=20)
    assert state["state"] == "done"
    assert [each["task"] for each in state["tasks"]] == ["chief 0", "worker 0"]
    assert [each["step"] for each in state["tasks"]] == [5, 4]
    (note,) = state["notes"]
    assert note.endswith("worker 0 restarts (restart 1 of 3).")
    # The logs of the training are not touched.
    (logs,) = {os.path.dirname(each["log"]) for each in state["tasks"]}
    assert Path(logs).parent == own_temporary_directory
    # What the tasks have computed outlives the private directory.
    assert sorted(os.listdir(Path(logs, "results"))) == ["chief-0", "worker-0"]
    remove_fallback(state["id"])
    assert not Path(logs).exists()
