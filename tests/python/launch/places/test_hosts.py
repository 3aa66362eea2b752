"""Jobs on hosts: the same supervisor, healing and logs as on this machine, and no process left on any host."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.fake_gpus import DESCRIBED, fake_nvidia_smi
from support.job_fakes import TRAINS, fake_job, processes_of, result, row, state_when
from support.remote_hosts import fake_ssh, mark, marked, soon
from support.small_disks import small_disk

from tfdistribute.cluster.ssh import SshCluster
from tfdistribute.launch.host import private_directory
from tfdistribute.launch.job import Job
from tfdistribute.launch.job_handle import reap_supervisors, stop_job
from tfdistribute.launch.places.connect_hosts import check_hosts_cluster
from tfdistribute.launch.start import start_supervisor

__all__ = ["mark"]

pytestmark = pytest.mark.jobs

SECRET = "planted-secret"
LONG = (("train", 3), ("sleep", 60))
ROLES = ("chief", "worker")


def job_on_hosts(directory: Path, acts: dict[str, Any], *hosts: str, **fields: Any) -> Job:
    cluster = {
        "kind": "ssh",
        "hosts": list(hosts) or ["node-a", "node-b"],
        "workers": 2,
        "evaluator": False,
        "ssh": [fake_ssh(directory)],
        "python": sys.executable,
        "lease_s": 5,
        **fields.pop("cluster", {}),
    }
    made = fake_job(directory, acts, cluster=cluster, **fields)
    for name in ("task.rds", "data-1/matrix"):
        path = Path(made.directory, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(SECRET.encode() + os.urandom(100_000))
    return made


@contextmanager
def running(made: Job, mark: Path) -> Iterator[dict[str, Any]]:
    """A running job, of which nothing may be left afterwards."""
    job = start_supervisor(made)
    try:
        yield job
        assert soon(lambda: not marked(mark), 12), marked(mark)
    finally:
        for pid in marked(mark):
            os.kill(pid, signal.SIGKILL)
        reap_supervisors()


def processes(mark: Path, words: str) -> list[int]:
    return [pid for pid, line in marked(mark).items() if words in line]


def kill_task(job: dict[str, Any], mark: Path) -> None:
    os.kill(row(state_when(job, lambda state: True), "worker 0")["pid"], signal.SIGKILL)


def kill_connection(job: dict[str, Any], mark: Path) -> None:
    (fake,) = processes(mark, "-- node-b")
    os.killpg(fake, signal.SIGKILL)


def agents_and_guards(mark: Path) -> list[int]:
    # The shells that stand for ssh name the same command.
    command = f"{sys.executable} -I -S -c import sys;i=sys.stdin.buffer"
    found = [pid for pid, line in marked(mark).items() if line.startswith(command)]
    assert len(found) == 4
    return found


def kill_agents_and_guards(job: dict[str, Any], mark: Path) -> None:
    for pid in agents_and_guards(mark):
        os.kill(pid, signal.SIGKILL)


def kill_agents(job: dict[str, Any], mark: Path) -> None:
    agents = agents_and_guards(mark)
    for pid in agents:
        # The agent is the guard's child.
        if int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) in agents:
            os.kill(pid, signal.SIGKILL)


def test_tasks_of_two_hosts_train_with_the_files_and_variables_that_were_sent(mark: Path):
    acts = {"chief": (("print_files",), ("train", 10), ("finish", 10))}
    made = job_on_hosts(mark, acts, "chatty-a", "node-b", environment={"NAMED": SECRET})
    with running(made, mark) as job:
        state_when(job, lambda state: state["global_step"] is not None)
        assert not [line for line in marked(mark).values() if SECRET in line]
        state = result(job, 20)
        assert state["state"] == "done", state["failure"]
        assert [(each["task"], each["host"]) for each in state["tasks"]] == [
            ("chief 0", "chatty-a"),
            ("worker 0", "node-b"),
        ]
        log = Path(row(state, "chief 0")["log"]).read_text()
        assert "data-1/matrix 100014" in log
        assert "NAMED=planted-secret" in log
        assert job["directory"] not in log
        # Tasks know their job by the name of its directory.
        assert f"/{Path(job['directory']).name}\n" in log
        assert any("are the same machine" in note for note in state["notes"])


@pytest.mark.parametrize(
    ("kill", "words"),
    [
        (kill_task, "was ended by SIGKILL"),
        (kill_connection, "was lost with its host node-b: the connection to it ended"),
        (kill_agents, "was lost with its host"),
        (kill_agents_and_guards, "was lost with its host"),
    ],
)
def test_lost_tasks_start_again_whatever_was_killed(
    mark: Path, kill: Callable[[dict[str, Any], Path], None], words: str
):
    acts = {"worker-0@0": (("child", True), *LONG), "chief-0@0": LONG}
    # Nothing is waited for until the lease ends: neither an agent, nor a directory that nobody removes any more.
    cluster = {"lease_s": 5 if kill is kill_connection else 60}
    with running(job_on_hosts(mark, acts, cluster=cluster), mark) as job:
        state_when(job, lambda state: row(state, "worker 0")["step"] == 3)
        kill(job, mark)
        state_when(job, lambda state: state["restarts"] == 1, 5)
        state = result(job, 15)
        assert state["state"] == "done", state["failure"]
        assert state["restarts"] == 1
        assert any(words in note for note in state["notes"]), state["notes"]


def test_a_host_that_stays_away_fails_the_job_and_is_named(mark: Path):
    acts = {"worker": LONG, "chief": LONG}
    made = job_on_hosts(mark, acts, "node-a", "once-b", cluster={"restarts": 1})
    with running(made, mark) as job:
        state_when(job, lambda state: row(state, "worker 0")["step"] == 3)
        (fake,) = processes(mark, "-- once-b")
        os.killpg(fake, signal.SIGKILL)
        state = result(job, 40)
        assert state["state"] == "failed"
        assert state["failure"]["problem"].startswith(
            "worker 0 was lost with its host once-b: it cannot be reached. It was restarted 1 time."
        )
        assert state["failure"]["host"] == "once-b"


def test_a_host_that_is_lost_while_it_gets_files_is_named_at_once(mark: Path):
    with running(job_on_hosts(mark, {}, "node-a", "short-b"), mark) as job:
        state = result(job, 20)
        assert state["failure"]["problem"] == (
            '`hosts` holds "short-b", which cannot be used: the connection to it ended.'
        )


def test_a_full_disk_for_temporary_files_is_named_with_its_host_and_folder(mark: Path):
    acts = {name: (("train", 3), ("wait_for", str(mark / "go")), *TRAINS) for name in ROLES}
    with small_disk(mark / "disk", 4) as disk:
        if not disk.is_real:
            pytest.skip("needs permission to mount")
        cluster = {"environment": {"TMPDIR": str(disk.path)}}
        with running(job_on_hosts(mark, acts, cluster=cluster), mark) as job:
            state_when(job, lambda state: row(state, "worker 0")["step"] == 3)
            disk.fill()
            full = "on node-b is full"
            state = state_when(job, lambda state: any(full in each for each in state["notes"]))
            (note,) = [each for each in state["notes"] if full in each]
            assert note.startswith(f'worker 0: The disk with "{disk.path}/tfdistribute-job-')
            assert note.endswith("what tasks there report is lost. Free space there.")
            disk.empty()
            (mark / "go").touch()
            assert result(job, 20)["state"] == "done"
        assert list(disk.path.iterdir()) == []


def test_all_that_is_wrong_with_the_hosts_is_told_at_once(mark: Path):
    hosts = ("nokey-a", "changed-b", "unknown-c", "nopython-d", "node-e")
    cluster = {"workers": 5}
    made = job_on_hosts(mark, {}, *hosts, input_files=[str(mark / "no.csv")], cluster=cluster)
    with running(made, mark) as job:
        state = result(job, 20)
        problem = state["failure"]["problem"]
        assert state["failure"]["kind"] == "cluster"
        for words in (
            "5 things prevent",
            '"nokey-a", which cannot be used: it does not let you in without a password',
            '"changed-b", which cannot be used: its host key is not the known one',
            '"unknown-c", which cannot be used: its name is not known',
            f'"nopython-d", which cannot be used: it has no {sys.executable} on the PATH',
            f'node-e cannot read "{mark}/no.csv"',
        ):
            assert words in problem, problem
        assert {each["pid"] for each in state["tasks"]} == {None}
        assert not list((mark / "model").glob(".shared-*"))


def test_stopping_a_job_ends_its_tasks_on_all_hosts(mark: Path):
    acts = {"chief": (("save_on_interrupt", 3), *LONG), "worker": (("child", True), *LONG)}
    with running(job_on_hosts(mark, acts), mark) as job:
        state_when(job, lambda state: row(state, "worker 0")["step"] == 3)
        state = stop_job(job)
        assert state["state"] == "stopped"
        assert state["checkpoint"] == 3
        assert not processes_of(job)


def test_nothing_is_left_on_the_hosts_when_the_supervisor_is_killed(mark: Path):
    made = job_on_hosts(mark, {"worker": (("child", True), *LONG), "chief": LONG})
    with running(made, mark) as job:
        state_when(job, lambda state: row(state, "worker 0")["step"] == 3)
        os.kill(job["pid"], signal.SIGKILL)
    private_directory.remove_abandoned()


def test_the_gpus_of_hosts_are_shown_with_what_their_tensorflow_lacks(
    mark: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("tensorflow")
    fake_nvidia_smi(mark / "bin", monkeypatch)
    ssh, python = (fake_ssh(mark),), sys.executable
    cluster = SshCluster(hosts=("node-a",), workers=1, ssh=ssh, python=python)
    found = check_hosts_cluster(cluster, {}, None)
    by_severity = {each.severity: each for each in found}
    assert by_severity["note"].message == f"node-a has these GPUs: {DESCRIBED}."
    lacking = by_severity["warning"]
    assert lacking.message.startswith("node-a cannot train on its GPUs: TensorFlow")
    assert 'pip install "tensorflow[and-cuda]==' in lacking.fix
