"""A job's full stop, however it ends: by itself, with its supervisor, or with the session that started it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.job_fakes import (
    TRAINS,
    fake_job,
    processes_of,
    result,
    row,
    run_job,
    running,
    state_when,
)
from support.small_disks import small_disk

from tfdistribute.bridge import call
from tfdistribute.errors import ArgumentError, BackendError, ModelDirectoryError
from tfdistribute.launch import job_handle
from tfdistribute.launch.host import private_directory, processes
from tfdistribute.launch.host.logs import fallback_directory
from tfdistribute.launch.job_handle import reap_supervisors
from tfdistribute.launch.start import start_supervisor, supervise

# Private directories go to the test's own temporary directory.
pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]

SOURCES = str(Path(__file__).parents[3] / "inst" / "python")
STUBBORN = [("stubborn",), ("child",), ("child", True), ("train", 2), ("sleep", 60)]


def all_gone(job: dict[str, Any], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while processes_of(job) and time.monotonic() < deadline:
        time.sleep(0.02)
    return processes_of(job) == []


@pytest.mark.smoke
def test_a_stop_lets_the_chief_save_and_ends_child_processes(tmp_path: Path):
    saves = [("save_on_interrupt", 7), ("train", 7), ("sleep", 60)]
    with running(tmp_path, {"chief": saves, "worker": STUBBORN, "evaluator": STUBBORN}) as job:
        state_when(job, lambda state: row(state, "worker 0")["step"] == 2)
        state_when(job, lambda state: state["global_step"] == 7)
        assert len(processes_of(job)) == 7
        began = time.monotonic()
        state = job_handle.stop_job(job)
        assert time.monotonic() - began < 5
        assert processes_of(job) == []
        assert (state["state"], state["global_step"], state["failure"]) == ("stopped", 7, None)
        assert state["message"] == "The job was stopped. Its last checkpoint is of step 7."
        assert result(job) == state
        # A second stop changes nothing.
        assert job_handle.stop_job(job) == state


def test_tasks_that_ignore_requests_are_killed_within_ten_seconds(tmp_path: Path):
    with running(tmp_path, {"chief": STUBBORN, "worker": STUBBORN}) as job:
        state_when(job, lambda state: row(state, "worker 0")["step"] == 2)
        began = time.monotonic()
        assert job_handle.stop_job(job)["state"] == "stopped"
        assert time.monotonic() - began < 10
        assert processes_of(job) == []


def test_two_requests_end_a_job_at_once(tmp_path: Path):
    with running(tmp_path, {"chief": STUBBORN, "worker": STUBBORN}) as job:
        state_when(job, lambda state: row(state, "worker 0")["step"] == 2)
        began = time.monotonic()
        for _ in range(2):
            os.kill(job["pid"], signal.SIGTERM)
            time.sleep(0.2)
        assert result(job)["state"] == "stopped"
        assert time.monotonic() - began < 2


def test_tasks_end_with_a_killed_supervisor_and_the_next_job_cleans_up(tmp_path: Path):
    acts = {"chief": [("stubborn",), ("train", 2), ("sleep", 60)]}
    with running(tmp_path, acts) as job:
        state_when(job, lambda state: state["global_step"] == 2)
        os.kill(job["pid"], signal.SIGKILL)
        assert all_gone(job, within_s=5)
        state = job_handle.job_state(job)
        assert state["state"] == "failed"
        assert "exited unexpectedly" in state["failure"]["problem"]
        assert state["global_step"] == 2
        reap_supervisors()
    assert Path(job["directory"]).exists()
    # The kernel has released the lock on model_dir.
    assert run_job(tmp_path, {})["state"] == "done"
    assert not Path(job["directory"]).exists()


def test_temporary_files_of_a_killed_task_go_with_the_job(
    tmp_path: Path, own_temporary_directory: Path
):
    acts = {
        "chief": [("train", 1), ("sleep", 60)],
        "worker": [("leave",), ("die",)],
        "chief-0@1": TRAINS,
        "worker-0@1": TRAINS,
    }
    state = run_job(tmp_path, acts, evaluator=False)
    assert (state["state"], state["restarts"]) == ("done", 1)
    assert list(own_temporary_directory.iterdir()) == []


def test_a_job_whose_private_directory_is_deleted_ends_and_says_so(tmp_path: Path):
    acts = {"chief": [("train", 2), ("sleep", 60)]}
    with running(tmp_path, acts) as job:
        state_when(job, lambda state: state["global_step"] == 2)
        shutil.rmtree(job["directory"])
        state = job_handle.job_state(job)
        assert all_gone(job, within_s=5)
        reap_supervisors()
    failure = state["failure"]
    assert (state["state"], state["global_step"], failure["kind"]) == ("failed", 2, "training")
    assert f'directory of the job, "{job["directory"]}", was deleted' in failure["problem"]
    assert "TMPDIR" in failure["remedy"]


@contextlib.contextmanager
def job_of_a_killed_session(directory: Path, model_dir: Path) -> Iterator[dict[str, Any]]:
    """A job that trains; the session that started it is killed at the end of the block."""
    starter = (
        "import sys, json, time\n"
        f"sys.path[:0] = [{SOURCES!r}, {str(Path(__file__).parents[1])!r}]\n"
        "from pathlib import Path\n"
        "from support.job_fakes import fake_job\n"
        "from tfdistribute.launch.start import start_supervisor\n"
        f"acts = {{'chief': {STUBBORN!r}, 'worker': {STUBBORN!r}}}\n"
        f"job = fake_job(Path({str(directory)!r}), acts, model_dir={str(model_dir)!r})\n"
        "print(json.dumps(start_supervisor(job)), flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE) as session:
        assert session.stdout is not None
        job = json.loads(session.stdout.readline())
        try:
            state_when(job, lambda state: state["global_step"] == 2)
            yield job
        finally:
            session.kill()
    assert all_gone(job, within_s=10)
    # This process inherited the supervisor.
    os.waitpid(job["pid"], 0)


def test_a_job_ends_when_the_session_that_started_it_is_killed(tmp_path: Path):
    with job_of_a_killed_session(tmp_path, tmp_path / "model") as job:
        pass
    state = result(job)
    assert state["state"] == "stopped"
    assert state["message"].startswith("The session that started the job is gone.")


def test_a_job_ends_when_another_process_has_the_id_of_its_session(tmp_path: Path):
    job = fake_job(tmp_path, {"chief": [("train", 1), ("sleep", 60)]}, evaluator=False)
    supervisor = os.fork()
    if supervisor == 0:
        start_time, until = processes.start_time, time.monotonic() + 1

        def reused(pid: int) -> str | None:
            return str(time.monotonic() > until) if pid == job.parent_pid else start_time(pid)

        processes.start_time = reused
        supervise(job)
        os._exit(0)
    private_directory.release(job.directory)
    handle = {"id": job.id, "pid": supervisor, "directory": job.directory}
    handle |= {"model_dir": job.model_dir, "logs": job.log_directories[0]}
    try:
        state = result(handle, 10)
    finally:
        os.kill(supervisor, signal.SIGTERM)
        os.waitpid(supervisor, 0)
    assert state["message"].startswith("The session that started the job is gone.")


def test_a_job_leaves_nothing_of_a_session_that_ended_with_its_temporary_files(
    tmp_path: Path, own_temporary_directory: Path
):
    temporary = own_temporary_directory / "session"
    with job_of_a_killed_session(tmp_path, temporary / "model"):
        shutil.rmtree(temporary)
    assert list(own_temporary_directory.iterdir()) == []


def test_a_second_job_on_one_model_dir_is_refused_and_the_first_is_named(
    tmp_path: Path, own_temporary_directory: Path
):
    with running(tmp_path, {"chief": [("train", 1), ("sleep", 60)]}) as job:
        state_when(job, lambda state: state["global_step"] == 1)
        with pytest.raises(ModelDirectoryError) as refused:
            start_supervisor(fake_job(tmp_path, {}))
        assert f"pid {job['pid']}, user " in refused.value.problem
        assert refused.value.argument == "model_dir"
        assert job_handle.find_job(str(tmp_path / "model")) == job
        assert job_handle.find_job(job["id"]) == job
        assert [each["id"] for each in job_handle.running_jobs()] == [job["id"]]
        assert job_handle.stop_job(job)["state"] == "stopped"
        # The supervisor removes the directory and is the last to end.
        result(job)
    assert job_handle.find_job(job["id"]) is None
    assert list(own_temporary_directory.iterdir()) == []


def test_an_unwritable_directory_is_refused_before_tasks_start(
    tmp_path: Path, own_temporary_directory: Path
):
    (tmp_path / "model").write_text("a file", encoding="utf-8")
    with pytest.raises(ModelDirectoryError, match="cannot be written: File exists"):
        start_supervisor(fake_job(tmp_path, {}))
    with small_disk(tmp_path / "disk", 1) as disk:
        if disk.is_real:
            disk.make_read_only()
            model_dir = str(disk.path / "model")
            with pytest.raises(ModelDirectoryError, match="written: Read-only file system"):
                start_supervisor(fake_job(tmp_path, {}, model_dir=model_dir))
    with small_disk(tmp_path / "full", 1) as disk:
        if disk.is_real:
            disk.fill()
            with pytest.raises(ModelDirectoryError, match="No space left on device"):
                start_supervisor(fake_job(tmp_path, {}, model_dir=str(disk.path)))
            job = fake_job(tmp_path, {}, model_dir=str(tmp_path / "other"))
            private_directory.remove(job.directory)
            with pytest.raises(BackendError, match="cannot be started .*: No space left on device"):
                start_supervisor(dataclasses.replace(job, directory=str(disk.path)))
    assert list(own_temporary_directory.iterdir()) == []


def test_a_disk_that_fills_up_does_not_hide_the_result(tmp_path: Path):
    with small_disk(tmp_path / "disk", 1) as disk:
        full = ("fill",) if disk.is_real else ("fail", "No space left on device")
        model_dir = str(disk.path / "model")
        job = start_supervisor(
            fake_job(tmp_path, {"chief": [("train", 1), full]}, model_dir=model_dir)
        )
        state = result(job)
    spare = Path(fallback_directory(job["id"]) if disk.is_real else job["logs"])
    assert (state["state"], state["failure"]["problem"]) == ("failed", "No space left on device")
    assert json.loads((spare / "result.json").read_text(encoding="utf-8")) == state
    assert not disk.is_real or spare.stat().st_mode & 0o077 == 0


def test_what_killed_workers_left_in_model_dir_is_removed(tmp_path: Path):
    for name in ("tmp_worker_1", "kept"):
        (tmp_path / "model" / name).mkdir(parents=True)
    run_job(tmp_path, {})
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["kept", "logs"]


def test_logs_of_an_earlier_job_stay_and_are_not_this_jobs(tmp_path: Path):
    first = run_job(tmp_path, {"chief": [("print", "the first"), *TRAINS]})
    second = run_job(tmp_path, {"chief": [("print", "the second"), *TRAINS]})
    log = Path(row(second, "chief 0")["log"])
    assert row(first, "chief 0")["log"] == str(log)
    assert "the first" in log.read_text(encoding="utf-8")
    handle = {"id": second["id"], "directory": "/nonexistent", "logs": second["logs"], "pid": 1}
    assert [line for line in job_handle.job_logs(handle, "chief 0") if "the" in line] == [
        "the second"
    ]


def answer(function: str, **arguments: Any) -> Any:
    given = call(function, arguments)
    assert "value" in given, given
    return given["value"]


WORKLOAD = {"model_dir": "model", "global_batch_size": 16.0}
CLUSTER = {"kind": "local", "workers": 2.0, "start_timeout_s": 60.0, "restarts": 3.0}


def request(config: dict[str, Any], model_dir: str = "model", **fields: Any) -> dict[str, Any]:
    """What R asks before it starts a job; R's numbers are doubles."""
    column = {"kind": "numeric", "key": "x"}
    model = {"kind": "linear_regressor", "model_dir": model_dir, "feature_columns": [column]}
    workload = {**WORKLOAD, "model_dir": model_dir}
    estimator = {**model, "config": {"cluster": CLUSTER, **config}}
    return {"estimator": estimator, "verb": "train", "workload": workload, **fields}


def prepared(**fields: Any) -> dict[str, Any]:
    job = answer("prepare_verb", **request({}, **fields))
    private_directory.remove(job.get("directory", ""))
    return job


def as_r_gives_it(tmp_path: Path) -> dict[str, Any]:
    job = fake_job(tmp_path, {"chief": [("train", 3), ("print", "Error: no"), ("sleep", 60)]})
    private_directory.remove(job.directory)
    known = ("verb", "command", "working_directory", "model_dir")
    fields = {"cluster": CLUSTER, **{name: getattr(job, name) for name in known}}
    directory = private_directory.new_directory()
    task_file = Path(directory) / "task.rds"
    task_file.touch()
    own = {"directory": directory, "task_file": str(task_file), "parent_pid": job.parent_pid}
    return {**fields, **own, "estimator": {}, "inputs": []}


def test_the_state_of_a_job_is_there_as_soon_as_its_supervisor_writes_it(tmp_path: Path):
    job = fake_job(tmp_path, {})
    handle = {"id": job.id, "pid": os.getpid(), "directory": job.directory, "model_dir": None}
    path = Path(job.directory, "state.json")
    written = json.dumps({"id": job.id, "state": "starting", "message": "", "logs": "logs"})
    writing = threading.Timer(0.3, path.write_text, [written])
    writing.start()
    asked = time.monotonic()
    assert job_handle.job_state(handle)["state"] == "starting"
    assert time.monotonic() - asked < 5
    writing.join()
    private_directory.remove(job.directory)


def test_the_functions_that_r_calls_start_read_and_stop_a_job(tmp_path: Path):
    job = answer("start_job", **as_r_gives_it(tmp_path))
    try:
        refused = call("start_job", as_r_gives_it(tmp_path))["error"]
        assert refused["kinds"] == ["model_directory", "model", "error"]
        state_when(job, lambda state: state["global_step"] == 3)
        assert [each["id"] for each in job_handle.running_jobs()] == [job["id"]]
        news = answer("job_news", job=job)
        while not news["lines"]:
            news = answer("job_news", job=job, position=news["position"])
        assert (news["lines"], news["ended"]) == (["[chief 0] Error: no"], False)
        assert answer("job_state", job=job)["history"] is None
        assert answer("job_logs", job=job, task="chief 0", level="error") == ["Error: no"]
        assert call("job_logs", {"job": job, "task": "ps 9"})["error"]["argument"] == "task"
    finally:
        stopped = answer("stop_job", job=job)
    assert stopped["state"] == "stopped"
    assert answer("job_state", job=job)["history"]["training"]["step"] == [1, 2, 3]
    assert answer("job_news", job=job, position=news["position"])["ended"]


@pytest.mark.parametrize("make", ["a link", "open to others", "of another user", "missing"])
def test_a_directory_that_others_could_have_written_is_not_used(tmp_path: Path, make: str):
    directory = private_directory.new_directory()
    task = Path(directory) / "task.rds"
    task.write_bytes(b"what is to be done")
    digest = private_directory.digest_of(str(task))
    private_directory.check_digest(str(task), digest)
    path = directory
    if make == "a link":
        path = str(tmp_path / "link")
        os.symlink(directory, path)
    elif make == "open to others":
        os.chmod(directory, 0o750)
    elif make == "of another user":
        if os.geteuid() != 0:
            pytest.skip("only root can give a directory away")
        os.chown(directory, 1234, 1234)
    else:
        path = str(tmp_path / "none")
    with pytest.raises(ArgumentError, match="is not used for a job"):
        private_directory.check_digest(os.path.join(path, "task.rds"), digest)
    private_directory.remove(directory)


def test_a_file_that_was_changed_is_not_read(tmp_path: Path):
    directory = private_directory.new_directory()
    task = Path(directory) / "task.rds"
    task.write_bytes(b"what is to be done")
    digest = private_directory.digest_of(str(task))
    task.write_bytes(b"what is to be done!")
    with pytest.raises(ArgumentError, match="is not what was written for this job"):
        private_directory.check_digest(str(task), digest)
    task.unlink()
    with pytest.raises(ArgumentError, match=r"unknown \(No such file"):
        private_directory.check_digest(str(task), digest)
    private_directory.remove(directory)


def test_directories_of_jobs_that_live_are_left_alone(tmp_path: Path):
    kept = private_directory.new_directory()
    other = private_directory.new_directory()
    assert Path(kept).exists()
    private_directory.release(kept)
    private_directory.remove_abandoned()
    assert (Path(kept).exists(), Path(other).exists()) == (False, True)
    private_directory.remove(other)


def test_directories_of_jobs_of_other_hosts_are_left_alone(tmp_path: Path):
    other = private_directory.new_directory()
    private_directory.release(other)
    lock = Path(other) / "lock"
    lock.write_text(lock.read_text(encoding="utf-8").replace(socket.gethostname(), "elsewhere"))
    private_directory.remove_abandoned()
    assert Path(other).exists()
    private_directory.remove(other)


def test_a_job_is_checked_before_it_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-7"\n')
    (tmp_path / "model.ckpt-7.index").write_bytes(b"x")
    (tmp_path / "model.ckpt-7.data-00000-of-00001").write_bytes(b"x")
    job = prepared(model_dir=str(tmp_path), steps=5)
    # An incomplete checkpoint does not count.
    assert job["max_steps"] == 5
    assert (job["checkpoint"], job["terms"]) == (None, {})
    assert "max_steps" not in prepared(model_dir=str(tmp_path))
    for kind, error, changed in (
        ("strategy", {"strategy": {"kind": "mirrored"}}, {}),
        ("run_config", {"session_config": {"use_per_session_threads": True}}, {}),
        ("sharding", {}, {"workload": {**WORKLOAD, "global_batch_size": 15.0}}),
    ):
        assert call("prepare_verb", request(error, **changed))["error"]["kind"] == kind
    monkeypatch.setenv("TFDISTRIBUTE_JOB", "/tmp/job")
    assert "directory" not in prepared()
    assert call("prepare_verb", request({}, starts=True))["error"]["kind"] == "cluster"
