"""Processes that are prepared before their task is known, with fake tasks."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.job_fakes import fake_job, processes_of, result, row, state_when

from tfdistribute import storage
from tfdistribute.environment import changed_variable
from tfdistribute.errors import BackendError, ClusterError
from tfdistribute.launch import job_handle, task_group
from tfdistribute.launch.host import hardware, processes
from tfdistribute.launch.host import private_directory as private
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.local import LocalPlace
from tfdistribute.launch.places.place import StartOptions
from tfdistribute.launch.start import start_supervisor, supervise
from tfdistribute.launch.warm_pool import session

pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    yield
    session.end_waiting()


def described(directory: Path, acts: Mapping[str, Any], **fields: Any) -> Job:
    """A job of a chief and a worker without a private directory."""
    job = fake_job(directory, acts, **{"evaluator": False, "idle_s": 60, **fields})
    private.remove(job.directory)
    return job


def start(job: Job, once: str | None = None) -> dict[str, Any]:
    """Start a job as a session does, if asked for once its processes are prepared so far."""
    directory = session.open_directory(job)
    state = f"{directory}/prepared.json"
    assert once is None or soon(lambda: (storage.read_object(state) or {}).get(once))
    own = {"directory": directory, "id": private.job_id(directory)}
    return start_supervisor(dataclasses.replace(job, **own))


def run(job: Job) -> dict[str, Any]:
    """Run a job to its end as a session does, and prepare processes for the next."""
    handle = start(job)
    state = result(handle)
    assert state["state"] == "done", state["failure"]
    session.keep(handle["directory"])
    return state


def soon(condition: Callable[[], Any], seconds: float = 10) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def idle(tasks: int = 2) -> list[int]:
    """Wait until all processes are ready, and return their ids."""
    assert soon(lambda: any(each["is_ready"] for each in session.waiting_states()))
    (state,) = session.waiting_states()
    assert len(state["pids"]) == tasks
    return state["pids"]


def pids_of_next(job: Job) -> list[int]:
    """Run a job whose tasks wait for a file, and return their process ids."""
    handle = start(job)
    state = state_when(handle, lambda state: state["state"] == "training")
    Path(job.working_directory, "go").touch()
    assert result(handle)["state"] == "done"
    return [each["pid"] for each in state["tasks"]]


def waits(directory: Path) -> dict[str, Any]:
    acts = (("train", 1), ("wait_for", str(directory / "go")), ("finish", 1))
    return {"chief": acts, "worker": acts}


def has_ended(pid: int) -> bool:
    return soon(lambda: processes.start_time(pid) is None)


def is_lost(pid: int) -> bool:
    return processes.start_time(pid) is None or processes.activity(pid).is_suspended


def test_the_next_job_gets_the_processes_that_were_prepared_after_the_last(
    tmp_path: Path, own_temporary_directory: Path
):
    (tmp_path / "go").touch()
    job = described(tmp_path, waits(tmp_path))
    run(job)
    prepared = idle()
    (tmp_path / "go").unlink()
    assert pids_of_next(job) == prepared
    log = (tmp_path / "model" / "logs" / "worker-0.log").read_text()
    assert log.endswith("prepared\n")
    assert list(own_temporary_directory.iterdir()) == []


def test_the_processes_of_the_first_job_start_before_it_is_written(tmp_path: Path):
    handle = start(described(tmp_path, {}), once="is_ready")
    assert result(handle)["state"] == "done"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_was_killed_or_suspended_while_idle_is_replaced(tmp_path: Path, number: int):
    (tmp_path / "go").touch()
    job = described(tmp_path, waits(tmp_path))
    run(job)
    lost, kept = idle()
    os.kill(lost, number)
    assert soon(lambda: is_lost(lost))
    (tmp_path / "go").unlink()
    found = pids_of_next(job)
    assert lost not in found
    assert kept in found
    assert has_ended(lost)


def test_a_supervisor_that_was_killed_while_idle_is_replaced(tmp_path: Path):
    job = described(tmp_path, {})
    run(job)
    prepared = idle()
    (waiting,) = session._waiting.values()
    waiting.process.kill()
    assert all(has_ended(pid) for pid in prepared)
    run(job)


def test_a_supervisor_that_was_suspended_while_idle_is_ended_and_replaced(
    tmp_path: Path, own_temporary_directory: Path
):
    job = described(tmp_path, {})
    run(job)
    prepared = idle()
    (waiting,) = session._waiting.values()
    waiting.process.send_signal(signal.SIGSTOP)
    assert soon(lambda: is_lost(waiting.process.pid))
    handle = start(job)
    assert waiting.process.returncode == -signal.SIGKILL
    assert all(has_ended(pid) for pid in prepared)
    assert result(handle)["state"] == "done"
    assert list(own_temporary_directory.iterdir()) == []


@pytest.mark.parametrize("is_held", [True, False])
def test_a_supervisor_that_is_killed_while_its_job_is_written_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_held: bool
):
    job, held = described(tmp_path, {}), list[socket.socket]()
    if is_held:
        # As by processes that end a moment later than it does.
        pairs = socket.socketpair

        def pair() -> tuple[socket.socket, socket.socket]:
            own, theirs = pairs()
            held.append(theirs.dup())
            return own, theirs

        monkeypatch.setattr(socket, "socketpair", pair)
    directory = session.open_directory(job)
    waiting = session._waiting[directory]
    waiting.process.kill()
    waiting.process.wait()
    job = dataclasses.replace(job, directory=directory, id=private.job_id(directory))
    assert result(start_supervisor(job))["state"] == "done"
    for each in held:
        each.close()


def test_a_changed_variable_directory_library_or_network_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    library = tmp_path / "library"
    library.mkdir()
    job = described(tmp_path, {}, environment={"R_LIBS": str(library)})
    other = tmp_path / "other"
    other.mkdir()

    def is_used(next_job: Job) -> bool:
        run(job)
        before = [each.job.directory for each in session._waiting.values()]
        directory = session.open_directory(next_job)
        session.end_waiting()
        return directory in before

    assert is_used(job)
    assert not is_used(dataclasses.replace(job, working_directory=str(other)))
    assert not is_used(dataclasses.replace(job, environment={**job.environment, "A": "1"}))
    opened = dataclasses.replace(job.cluster, network="open")
    assert not is_used(dataclasses.replace(job, cluster=opened))
    run(job)
    (before,) = session._waiting
    (library / "package").mkdir()
    assert session.open_directory(job) != before
    session.end_waiting()
    run(job)
    (before,) = session._waiting
    with changed_variable("TFDISTRIBUTE_TEST", "changed"):
        assert session.open_directory(job) != before


def test_what_importing_tensorflow_writes_into_the_environment_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TF2_BEHAVIOR", raising=False)
    job = described(tmp_path, {})
    run(job)
    (before,) = session._waiting
    monkeypatch.setenv("TF2_BEHAVIOR", "1")
    monkeypatch.setenv("TPU_ML_PLATFORM_VERSION", "3")
    assert session.open_directory(job) == before


def test_processes_that_fit_no_task_of_the_next_job_are_ended(tmp_path: Path):
    job = described(tmp_path, {"evaluator": (("finish", 3),)}, evaluator=True)
    run(job)
    prepared = idle(tasks=3)
    smaller = dataclasses.replace(job, verb="train")
    directory = session.open_directory(smaller)
    ended = [pid for pid in prepared if processes.start_time(pid) is None]
    assert len(ended) == 1
    session.end_waiting(directory)


def test_without_idle_seconds_no_process_is_prepared(tmp_path: Path):
    run(described(tmp_path, {}, idle_s=0))
    assert session._waiting == {}


def test_idle_processes_end_after_their_time(tmp_path: Path, own_temporary_directory: Path):
    run(described(tmp_path, {}, idle_s=0.5))
    (waiting,) = session._waiting.values()
    waiting.process.wait(10)
    assert list(own_temporary_directory.iterdir()) == []
    assert session.waiting_states() == []


def test_idle_processes_end_with_a_session_that_is_killed(
    tmp_path: Path, own_temporary_directory: Path
):
    job = described(tmp_path, {})
    child = os.fork()
    if child == 0:
        # A session of its own, which a signal ends before it can clean up.
        session._started["directory"] = job
        session.keep("directory")
        time.sleep(60)
        os._exit(1)
    try:
        found = soon(lambda: list(own_temporary_directory.glob("*/prepared.json")))
        state = soon(lambda: storage.read_object(str(found[0])))
        assert soon(lambda: (storage.read_object(str(found[0])) or state)["is_ready"])
        prepared = (storage.read_object(str(found[0])) or state)["pids"]
        assert len(prepared) == 2
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert all(has_ended(pid) for pid in prepared)
    assert soon(lambda: not list(own_temporary_directory.iterdir()))


def test_processes_for_later_are_prepared_one_after_another(tmp_path: Path):
    job = described(tmp_path, {"never_ready": True})
    session._started["directory"] = job
    session.keep("directory")
    assert soon(lambda: any(each["pids"] for each in session.waiting_states()))
    time.sleep(0.5)
    (state,) = session.waiting_states()
    assert len(state["pids"]) == 1
    assert not state["is_ready"]


def test_processes_for_later_end_when_memory_becomes_scarce_and_none_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place, log = LocalPlace(str(tmp_path), is_private=False), str(tmp_path / "log")
    options = StartOptions(["sleep", "60"], {}, {}, str(tmp_path), log, str(tmp_path / "events"))
    place.prepare([options], at_once=False)
    (process,) = place.prepared
    monkeypatch.setattr(hardware, "is_memory_scarce", lambda: True)
    place.prepare([options], at_once=False)
    assert has_ended(process.pid)
    monkeypatch.setattr(hardware, "is_memory_scarce", lambda: False)
    place.prepare([options], at_once=False)
    assert place.prepared == []
    # A job that is about to start gets its processes, whatever they cost.
    place.prepare([options], at_once=True)
    assert len(place.prepared) == 1
    place.prepare([], at_once=True)


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
    private.remove(job.directory)


def test_a_job_that_is_not_started_leaves_nothing(tmp_path: Path, own_temporary_directory: Path):
    directory = session.open_directory(described(tmp_path, {}))
    session.end_waiting(directory)
    assert list(own_temporary_directory.iterdir()) == []


def test_a_network_that_is_not_possible_is_refused_when_the_job_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    job = described(tmp_path, {}, network="private", model_dir="gs://bucket/model")
    with pytest.raises(ClusterError, match="reached through the network"):
        start(job)


def test_a_program_that_cannot_be_run_is_named_when_the_job_starts(tmp_path: Path):
    job = described(tmp_path, {}, command=["/nonexistent/Rscript"])
    state = result(start(job))
    assert "cannot be started" in state["failure"]["problem"]


def test_a_restarted_task_gets_a_process_that_was_prepared_during_the_training(tmp_path: Path):
    trains, ends = (("train", 400),), (("train", 100), ("finish", 100))
    acts = {"chief": trains, "worker": trains, "chief-0@1": ends, "worker-0@1": ends}
    with preparing_job(tmp_path, acts, restarts=1) as handle:
        state_when(handle, lambda _: len(processes_of(handle)) == 4)
        lose_worker(handle)
        state_when(handle, lambda state: state["restarts"] == 1 and state["state"] == "training")
        time.sleep(1)
        # It was the last restart.
        assert len(processes_of(handle)) == 2
    ended = result(handle)
    assert (ended["state"], ended["restarts"]) == ("done", 1)
    log = (tmp_path / "model" / "logs" / "worker-0.log").read_text()
    assert log.count("prepared") == 1


def test_processes_for_the_next_restart_are_not_started_before_the_restarted_tasks_train(
    tmp_path: Path,
):
    go, end = str(tmp_path / "go"), str(tmp_path / "end")
    trains = (("train", 400),)
    waits = (("wait_for", go), ("train", 100), ("wait_for", end), ("finish", 100))
    acts = {"chief": trains, "worker": trains, "chief-0@1": waits, "worker-0@1": waits}
    with preparing_job(tmp_path, acts) as handle:
        state_when(handle, lambda _: len(processes_of(handle)) == 4)
        lose_worker(handle)
        state_when(
            handle, lambda state: all(each["state"] == "starting" for each in state["tasks"])
        )
        # Longer than the interval between looks.
        time.sleep(1)
        assert len(processes_of(handle)) == 2
        Path(go).touch()
        state_when(handle, lambda _: len(processes_of(handle)) == 4)
        Path(end).touch()
    assert result(handle)["state"] == "done"


@contextmanager
def preparing_job(
    directory: Path, acts: Mapping[str, Any], **fields: Any
) -> Iterator[dict[str, Any]]:
    """A job whose supervisor, a child of the test, prepares processes for restarts early."""
    job = fake_job(directory, acts, evaluator=False, idle_s=60, parent_pid=None, **fields)
    supervisor = os.fork()
    if supervisor == 0:
        task_group.SPARE_AFTER_S = 0.2
        supervise(job)
        os._exit(0)
    handle = {"id": job.id, "pid": supervisor, "directory": job.directory}
    handle |= {"model_dir": job.model_dir, "logs": job.log_directories[0]}
    private.release(job.directory)
    try:
        assert soon(lambda: Path(job.directory, "state.json").exists())
        yield handle
        os.waitpid(supervisor, 0)
    except BaseException:
        os.kill(supervisor, signal.SIGKILL)
        raise


def lose_worker(handle: Mapping[str, Any]) -> None:
    """Kill the worker of a training."""
    state = state_when(handle, lambda state: state["state"] == "training")
    os.kill(row(state, "worker 0")["pid"], signal.SIGKILL)


def test_a_forked_child_of_the_session_does_not_take_its_processes(tmp_path: Path):
    job = described(tmp_path, {})
    run(job)
    prepared = idle()
    (before,) = session._waiting
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = int(session.open_directory(job) == before)
            session.end_waiting()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert idle() == prepared


def outlived(job: Job, moment: str) -> tuple[int, int]:
    """Let a session end at a moment of its supervisor, and return the supervisor and a forked child of the session."""
    reading, writing = os.pipe()
    starter = os.fork()
    if starter == 0:
        state = f"{session.open_directory(job)}/prepared.json"
        (waiting,) = session._waiting.values()
        if moment == "starting":
            os.kill(waiting.process.pid, signal.SIGSTOP)
        else:
            soon(lambda: storage.read_object(state))
        child = os.fork()
        if child == 0:
            time.sleep(60)
        else:
            os.write(writing, f"{waiting.process.pid} {child}".encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(starter, 0)
    with open(reading, "rb", buffering=0) as file:
        supervisor, child = map(int, file.read(100).split())
    return supervisor, child


@pytest.mark.parametrize("moment", ["prepared", "starting"])
def test_a_child_that_outlives_the_session_does_not_keep_its_processes(tmp_path: Path, moment: str):
    supervisor, child = outlived(described(tmp_path, {}), moment)
    try:
        os.kill(supervisor, signal.SIGCONT)
        assert has_ended(supervisor)
    finally:
        # This process inherited both.
        for pid in (supervisor, child):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_what_a_process_says_that_ends_before_it_reads_its_task_is_in_the_log(tmp_path: Path):
    started = tmp_path / "model" / "logs" / "worker-0.log"
    says = (
        f"echo no such package >&2; until [ -e {started} ]; do sleep 0.05; done; sleep 0.3; exit 1"
    )
    job = described(tmp_path, {}, command=["/bin/sh", "-c", says], restarts=0)
    state = result(start(job, once="pids"))
    assert state["failure"]["log_tail"].endswith("no such package")


# A process is not ready, either, when it has closed its channel and its exit code is not there yet.
@pytest.mark.parametrize("end", ["exit", "exec <&-; sleep 1"])
def test_a_process_that_ends_while_it_waits_is_not_started_again_and_again(
    tmp_path: Path, end: str
):
    starts = tmp_path / "starts"
    ends = ["/bin/sh", "-c", f"echo start >> {starts}; {end}"]
    session._started["directory"] = described(tmp_path, {}, command=ends)
    session.keep("directory")
    assert soon(starts.exists)
    time.sleep(0.5)
    assert starts.read_text() == "start\n"


def test_a_job_that_is_done_stays_done_where_nothing_can_be_prepared_for_the_next(
    tmp_path: Path, own_temporary_directory: Path, monkeypatch: pytest.MonkeyPatch
):
    job = described(tmp_path, {})

    def refuse(*_: Any, **__: Any) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(session, "_spawn", refuse)
    session._started["directory"] = job
    session.keep("directory")
    assert list(own_temporary_directory.iterdir()) == []
    with pytest.raises(BackendError, match="cannot be started .*: Resource temporarily"):
        start(job)
    assert list(own_temporary_directory.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    session._started["directory"] = job
    session.keep("directory")
    assert session._waiting == {}
