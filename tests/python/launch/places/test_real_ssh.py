"""Jobs over real ssh, on hosts with networks of their own where the test may make them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.fault_jobs import TASK
from support.hosts import can_have_networks
from support.job_fakes import TRAINS, fake_job, result, row, state_when
from support.remote_hosts import soon
from support.small_disks import small_disk
from support.sshd import Hosts, has_sshd, ssh_hosts

from tfdistribute.checkpoints.contents import is_whole
from tfdistribute.launch.job_handle import reap_supervisors
from tfdistribute.launch.start import start_supervisor

pytestmark = [
    pytest.mark.jobs,
    pytest.mark.cluster,
    pytest.mark.skipif(not has_sshd(), reason="needs ssh and sshd"),
]

LEASE_S = 5
LONG = (("train", 3), ("sleep", 100))


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with ssh_hosts(tmp_path) as made:
        yield made
        reap_supervisors()


def start(
    directory: Path, hosts: Hosts, acts: dict[str, Any], *names: str, **fields: Any
) -> dict[str, Any]:
    cluster: dict[str, Any] = {
        "kind": "ssh",
        "hosts": list(names) or hosts.names,
        "workers": len(names) or 2,
        "evaluator": False,
        "ssh": [hosts.ssh],
        "python": sys.executable,
        "lease_s": LEASE_S,
        **fields.pop("cluster", {}),
    }
    return start_supervisor(fake_job(directory, acts, cluster=cluster, **fields))


def assert_nothing_is_left(hosts: Hosts, seconds: float = 8) -> None:
    if can_have_networks():
        for number in range(len(hosts.hosts)):
            assert soon(lambda number=number: not hosts.processes(number), seconds), (
                hosts.processes(number)
            )


def test_tasks_train_at_the_addresses_of_their_hosts(tmp_path: Path, hosts: Hosts):
    acts = {"chief": (("child", True), ("print_files",), *TRAINS)}
    state = result(start(tmp_path, hosts, acts), 40)
    assert state["state"] == "done", state["failure"]
    log = Path(row(state, "chief 0")["log"]).read_text()
    # Without networks of their own, hosts are this machine, at an address that is not a loopback one if it has any.
    if can_have_networks():
        for host in hosts.hosts:
            assert f'"{host.address}:' in log
    assert "SSH_" not in log
    assert_nothing_is_left(hosts)


def test_what_is_wrong_with_ssh_is_told_of_all_hosts_at_once(tmp_path: Path, hosts: Hosts):
    names = ["node-a-keyless", "node-a-stranger", "node-b-closed", "no-such-host.invalid"]
    began = time.monotonic()
    state = result(start(tmp_path, hosts, {}, *names), 40)
    assert time.monotonic() - began < 15
    problem = state["failure"]["problem"]
    for name, why in zip(
        names,
        (
            "it does not let you in without a password",
            "its host key is not the known one",
            "no sshd listens there",
            "its name is not known",
        ),
        strict=True,
    ):
        assert f'"{name}", which cannot be used: {why}.' in problem, problem
    assert_nothing_is_left(hosts)


def test_a_host_without_that_python_is_named(tmp_path: Path, hosts: Hosts):
    job = start(tmp_path, hosts, {}, cluster={"python": "/no/python"})
    problem = result(job, 40)["failure"]["problem"]
    assert problem.count("it has no /no/python on the PATH of a login without a terminal") == 2


@pytest.mark.skipif(not can_have_networks(), reason="needs network namespaces")
def test_a_cut_cable_ends_the_tasks_on_both_sides_and_a_mended_one_heals_the_job(
    tmp_path: Path, hosts: Hosts
):
    acts = {"worker-0@0": (("child", True), *LONG), "chief-0@0": LONG}
    job = start(tmp_path, hosts, acts)
    state_when(job, lambda state: row(state, "worker 0")["step"] == 3, 40)
    hosts.hosts[1].cut()
    cut = time.monotonic()
    state_when(job, lambda state: state["restarts"] > 0, LEASE_S + 5)
    assert soon(lambda: not hosts.processes(1), LEASE_S + 5 - (time.monotonic() - cut)), (
        hosts.processes(1)
    )
    hosts.hosts[1].mend()
    state = result(job, 60)
    assert state["state"] == "done", state["failure"]
    assert any("was lost with its host node-b" in note for note in state["notes"])
    assert_nothing_is_left(hosts)


@pytest.mark.skipif(not can_have_networks(), reason="needs network namespaces")
def test_a_host_with_another_disk_under_the_same_name_is_named_before_a_task_starts(
    tmp_path: Path, hosts: Hosts
):
    model_dir = tmp_path / "model"
    model_dir.mkdir()
    hosts.mount(1, model_dir)
    began = time.monotonic()
    state = result(start(tmp_path, hosts, {}), 40)
    # The hosts get five seconds to see the file.
    assert time.monotonic() - began < LEASE_S + 10
    assert state["failure"]["problem"] == (
        f'node-b does not see what this machine wrote into `model_dir` "{model_dir}", or may not write there.'
    )
    assert "share under one path" in state["failure"]["remedy"]
    assert {each["pid"] for each in state["tasks"]} == {None}
    assert list(model_dir.glob(".shared-*")) == []
    assert_nothing_is_left(hosts)


@pytest.mark.full
@pytest.mark.usefixtures("own_temporary_directory")
def test_a_full_disk_under_the_checkpoints_is_named_with_its_host_and_ends_the_job(
    tensorflow: ModuleType, tmp_path: Path
):
    model_dir = tmp_path / "custom" / "model"
    model_dir.parent.mkdir()
    config = {"strategy": {"kind": "multi_worker"}}
    options = {"max_steps": 30, "stops": ["chief-0 step-14"], "config": config}
    with small_disk(model_dir, 4) as disk, ssh_hosts(tmp_path) as hosts:
        stand_in = {} if disk.is_real else {"full_at": 20}
        command = [sys.executable, str(TASK), str(tmp_path), json.dumps({**options, **stand_in})]
        environment = {name: os.environ.get(name, "") for name in ("PYTHONPATH", "PATH")}
        fields = {"model_dir": str(model_dir), "command": command, "environment": environment}
        job = start(tmp_path, hosts, {}, **fields)
        state_when(job, lambda _: (tmp_path / "arrived-0").exists(), 100)
        disk.fill()
        filled = time.monotonic()
        (tmp_path / "go-0").touch()
        state = result(job, 60)
        # The lease does not matter here: a few steps are left to the next checkpoint.
        assert time.monotonic() - filled < LEASE_S + 5
        failure = state["failure"]
        assert (failure["task"], failure["host"]) == ("chief 0", "node-a"), failure
        assert failure["kind"] == "model_directory"
        assert f'The disk that holds `model_dir` "{model_dir}" is full.' in failure["problem"]
        assert "Free space there or choose another `model_dir`" in failure["remedy"]
        assert is_whole(str(model_dir / "model.ckpt-10"))
        assert_nothing_is_left(hosts)
        reap_supervisors()
