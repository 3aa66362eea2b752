"""Jobs in daemons of mirai, in whose place a thread sends and replaces the members, as the R session does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.fake_framework import running
from support.job_fakes import TRAINS, result, state_when
from support.remote_hosts import mark, marked, soon

from tfdistribute.cluster.frameworks.mirai import MiraiCluster
from tfdistribute.launch.frameworks.mirai import MEMBERS, REFUSAL, MiraiFramework
from tfdistribute.launch.job_handle import stop_job

__all__ = ["mark"]

LONG = (("train", 3), ("sleep", 60))
HEALS = {"worker-0@0": (("child", True), *LONG), "chief-0@0": LONG}


class Session:
    """The part of an R session that mirai and R/job-daemons.R do."""

    def __init__(self, exchange: Path) -> None:
        self.exchange = exchange
        self.daemons: dict[int, subprocess.Popen[bytes]] = {}

    def refuse(self, problem: str, remedy: str) -> None:
        (self.exchange / REFUSAL).write_text(json.dumps({"problem": problem, "remedy": remedy}))

    def send_members(self) -> None:
        if (self.exchange / REFUSAL).exists():
            return
        try:
            wanted = json.loads((self.exchange / MEMBERS).read_text())
        except FileNotFoundError:
            return
        for index, text in enumerate(wanted["texts"]):
            daemon = self.daemons.get(index)
            if daemon is None or daemon.poll() is not None:
                daemon = subprocess.Popen(wanted["command"], stdin=subprocess.PIPE)
                self.daemons[index] = daemon
                assert daemon.stdin is not None
                daemon.stdin.write(text.encode())
                daemon.stdin.close()


@contextmanager
def session(mark: Path) -> Iterator[Session]:
    exchange = mark / "exchange"
    exchange.mkdir(mode=0o700)
    made, is_over = Session(exchange), threading.Event()

    def send() -> None:
        while not is_over.wait(0.1):
            made.send_members()

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield made
        # Nobody listens to the members any more.
        assert {each.wait(10) for each in made.daemons.values()} <= {0, -signal.SIGKILL}
    finally:
        is_over.set()
        thread.join()
        for each in made.daemons.values():
            each.kill()
            each.wait()


def job_in(session: Session, mark: Path, acts: Any, **cluster: Any) -> Any:
    at = {"address": "127.0.0.1", "exchange": str(session.exchange)}
    return running(mark, acts, kind="mirai", **at, **cluster)


def is_training(state: dict[str, Any]) -> bool:
    return all(each["step"] == 3 for each in state["tasks"])


@pytest.mark.jobs
def test_daemons_train_and_are_free_again(mark: Path):
    with session(mark) as made:
        with job_in(made, mark, {"chief": TRAINS}) as job:
            state = result(job, 40)
            assert state["state"] == "done", state["failure"]
            assert [each["host"] for each in state["tasks"]] == ["daemon 0", "daemon 1"]
        assert not (made.exchange / MEMBERS).exists()
    assert soon(lambda: not marked(mark), 12), marked(mark)


@pytest.mark.jobs
def test_the_member_of_a_lost_daemon_is_replaced(mark: Path):
    with session(mark) as made, job_in(made, mark, HEALS, lease_s=60) as job:
        state_when(job, is_training, 30)
        os.kill(made.daemons[1].pid, signal.SIGKILL)
        state = result(job, 30)
        assert (state["state"], state["restarts"]) == ("done", 1), state["failure"]
        assert any("was lost with its host daemon 1" in note for note in state["notes"])
    assert soon(lambda: not marked(mark), 12), marked(mark)


@pytest.mark.jobs
def test_why_the_session_cannot_send_a_member_is_named(mark: Path):
    with session(mark) as made, job_in(made, mark, HEALS, restarts=1) as job:
        state_when(job, is_training, 30)
        made.refuse("The daemons of mirai were reset.", "Set them again.")
        os.kill(made.daemons[0].pid, signal.SIGKILL)
        state = result(job, 30)
        assert "The daemons of mirai were reset." in state["failure"]["problem"]
    assert soon(lambda: not marked(mark), 12), marked(mark)


@pytest.mark.jobs
def test_daemons_that_have_other_work_are_named(mark: Path):
    (mark / "exchange").mkdir()
    at = {"address": "127.0.0.1", "exchange": str(mark / "exchange")}
    with running(mark, {}, kind="mirai", start_timeout_s=3, **at) as job:
        state = result(job, 20)
        assert "needs 2 daemons that are idle" in state["failure"]["problem"]


@pytest.mark.jobs
def test_stopping_a_job_frees_its_daemons(mark: Path):
    with session(mark) as made, job_in(made, mark, {"chief": LONG, "worker": LONG}) as job:
        state_when(job, is_training, 30)
        assert stop_job(job)["state"] == "stopped"
    assert soon(lambda: not marked(mark), 12), marked(mark)


def test_without_an_r_session_nobody_sends_members():
    cluster = MiraiCluster(workers=2, python=sys.executable)
    framework = MiraiFramework(vars(cluster), 2)
    with pytest.raises(Exception, match="needs the R session that has set the daemons"):
        framework.connect()
