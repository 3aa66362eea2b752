"""Clusters of several hosts: every disagreement, absence and silence is named, and no task waits without an end."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cluster_job import Job, job, with_deadlines
from support.hosts import Host, can_have_networks, several_hosts

pytestmark = pytest.mark.jobs

MULTI_WORKER = {"strategy": {"kind": "multi_worker"}}
SERVERS = {"strategy": {"kind": "parameter_server"}}
# Within a minute, whatever happens.
SOON_S = 60.0


@pytest.fixture
def hosts() -> Iterator[list[Host]]:
    with several_hosts(2) as made:
        yield made


def options(config: dict[str, Any] = MULTI_WORKER, **more: Any) -> dict[str, Any]:
    return {"models": ["custom"], "max_steps": 2000, "config": config, **more}


def problem(running: Job, name: str, kind: str) -> str:
    error = running.error(name, "custom")
    assert error["kind"] == kind, running.logs()
    return error["problem"]


@pytest.mark.full
def test_a_frozen_worker_is_named_by_all_others(tmp_path: Path, hosts: list[Host]) -> None:
    with job(tmp_path, options(), hosts=hosts) as running:
        # As long as it is silent, no step ends.
        running.start_all(TEST_STEP_S="0.05", **with_deadlines(running, stall_timeout_s=5))
        running.await_event("worker-0", "step", step=2)
        running.freeze("worker-0")
        frozen = time.monotonic()
        assert running.wait("chief-0", timeout_s=SOON_S) == {"chief-0": 1}
        assert time.monotonic() - frozen < 40
        address = running.cluster["worker"][0]
        found = problem(running, "chief-0", "lost_peer")
        assert f"chief 0 lost worker 0 ({address}) after step" in found
        assert "no sign of life" in found or "no longer answers" in found


def test_a_worker_that_is_killed_between_two_sums_is_named(
    tmp_path: Path, hosts: list[Host]
) -> None:
    with job(tmp_path, options(), hosts=hosts) as running:
        # The chief begins to wait when the worker is gone: TensorFlow waits for it to be back.
        running.start_all(TEST_STEP_S="0.5")
        running.await_event("worker-0", "step", step=2)
        running.kill("worker-0")
        assert running.wait("chief-0", timeout_s=SOON_S) == {"chief-0": 1}
        found = problem(running, "chief-0", "lost_peer")
        address = running.cluster["worker"][0]
        assert f"chief 0 lost worker 0 ({address}) after step" in found
        assert found.endswith("it no longer answers.")


def test_a_directory_that_is_not_shared_is_named_by_both_tasks(
    tmp_path: Path, hosts: list[Host]
) -> None:
    with job(tmp_path, options(max_steps=10, share_s=1), hosts=hosts) as running:
        running.start("chief")
        own = {"TEST_OPTIONS": json.dumps({"model_dir": "elsewhere"})}
        running.start("worker", **own)
        assert running.wait("chief-0", "worker-0", timeout_s=120) == {"chief-0": 1, "worker-0": 1}
        for name in ("chief-0", "worker-0"):
            found = problem(running, name, "model_directory")
            assert f'`model_dir` "{tmp_path}/custom/elsewhere"' in found
            assert f'wrote into "{tmp_path}/custom/model"' in found


@pytest.mark.full
@pytest.mark.parametrize("frozen", ["worker-0", "chief-0"])
def test_a_frozen_task_ends_the_others_within_a_minute_by_default(
    tmp_path: Path, hosts: list[Host], frozen: str
) -> None:
    other = {"worker-0": "chief-0", "chief-0": "worker-0"}[frozen]
    with job(tmp_path, options(), hosts=hosts) as running:
        running.start_all(TEST_STEP_S="0.05")
        running.await_event("worker-0", "step", step=2)
        running.freeze(frozen)
        since = time.monotonic()
        assert running.wait(other, timeout_s=SOON_S + 30) == {other: 1}
        assert time.monotonic() - since < SOON_S
        assert f"lost {frozen.replace('-', ' ')}" in problem(running, other, "lost_peer")


@pytest.mark.full
def test_a_short_freeze_is_survived(tmp_path: Path, hosts: list[Host]) -> None:
    with job(tmp_path, options(max_steps=60), hosts=hosts) as running:
        running.start_all(TEST_STEP_S="0.05")
        running.await_event("worker-0", "step", step=2)
        running.freeze("worker-0")
        time.sleep(8)
        running.processes["worker-0"].send_signal(signal.SIGCONT)
        assert set(running.wait("chief-0", "worker-0").values()) == {0}, running.logs()


@pytest.mark.full
@pytest.mark.skipif(not can_have_networks(), reason="needs network namespaces")
def test_a_cut_cable_is_named_on_both_sides(tmp_path: Path, hosts: list[Host]) -> None:
    with job(tmp_path, options(), hosts=hosts) as running:
        running.start_all(TEST_STEP_S="0.05")
        running.await_event("worker-0", "step", step=2)
        hosts[1].cut()
        since = time.monotonic()
        running.wait("chief-0", "worker-0", timeout_s=SOON_S + 30)
        assert time.monotonic() - since < SOON_S
        assert "lost worker 0" in problem(running, "chief-0", "lost_peer")
        assert "lost chief 0" in problem(running, "worker-0", "lost_peer")


@pytest.mark.full
def test_another_last_step_is_named_by_both_tasks(tmp_path: Path, hosts: list[Host]) -> None:
    with job(tmp_path, options(max_steps=300), hosts=hosts) as running:
        running.start("chief")
        running.start("worker", TEST_OPTIONS=json.dumps({"max_steps": 150}))
        running.wait("chief-0", "worker-0", timeout_s=120)
        for name in ("chief-0", "worker-0"):
            assert "do not agree on the last step" in problem(running, name, "cluster")


@pytest.mark.full
def test_a_chief_that_resumes_beside_an_empty_directory_is_named(
    tmp_path: Path, hosts: list[Host]
) -> None:
    with job(tmp_path, options(max_steps=10), hosts=hosts) as running:
        running.start_all()
        assert set(running.wait("chief-0", "worker-0").values()) == {0}, running.logs()
    with job(tmp_path, options(max_steps=40), hosts=hosts) as running:
        running.start("chief")
        running.start("worker", TEST_OPTIONS=json.dumps({"model_dir": "empty"}))
        began = time.monotonic()
        running.wait("chief-0", "worker-0", timeout_s=120)
        assert time.monotonic() - began < 2 * SOON_S
        assert "does not see in `model_dir`" in problem(running, "chief-0", "model_directory")


@pytest.mark.full
@pytest.mark.parametrize(
    ("directory", "first", "second"),
    [
        ("elsewhere", "the cluster of chief 0 (on", "worker 0 there"),
        ("model", "nothing answers at worker 0", "is in use by another training"),
    ],
)
def test_two_chiefs_are_named(
    tmp_path: Path, hosts: list[Host], directory: str, first: str, second: str
) -> None:
    """Where they share model_dir, the second ends before it listens."""
    with job(tmp_path, options(), hosts=hosts) as running:
        cluster = running.cluster
        config = {
            "cluster": {"chief": cluster["worker"], "worker": cluster["chief"]},
            "task": {"type": "chief", "index": 0},
        }
        running.start("chief", **with_deadlines(running, start_timeout_s=20))
        running.await_event("chief-0", "tensorflow")
        own = {"TEST_OPTIONS": json.dumps({"model_dir": directory})}
        running.start("worker", tf_config=config, **own)
        assert running.wait("chief-0", "worker-0", timeout_s=SOON_S) == {
            "chief-0": 1,
            "worker-0": 1,
        }
        # Both write their answers as chief 0.
        for name, text in (("chief-0", first), ("worker-0", second)):
            log = (running.directory / f"{name}.log").read_text(encoding="utf-8")
            assert text in log
            assert "TF_CONFIG" in log.splitlines()[-1]


@pytest.mark.full
def test_clusters_that_differ_are_named(tmp_path: Path, hosts: list[Host]) -> None:
    with job(tmp_path, options(), hosts=hosts) as running:
        network = hosts[1].address.rpartition(".")[0]
        more = {**running.cluster, "worker": [*running.cluster["worker"], f"{network}.9:2222"]}
        running.start("chief")
        running.start("worker", tf_config={"cluster": more, "task": {"type": "worker", "index": 0}})
        running.wait("chief-0", "worker-0", timeout_s=120)
        for name in ("chief-0", "worker-0"):
            found = problem(running, name, "cluster")
            assert "do not agree on the `cluster` of TF_CONFIG" in found


@pytest.mark.full
def test_a_frozen_parameter_server_is_named(tmp_path: Path, hosts: list[Host]) -> None:
    three = [*hosts, hosts[1]]
    with job(tmp_path, options(SERVERS), workers=2, ps=1, hosts=three) as running:
        # Without a supervisor: nothing restarts a single task.
        own = {"TFDISTRIBUTE_EVENTS": "", **with_deadlines(running, stall_timeout_s=8)}
        running.start_all(TEST_STEP_S="0.05", **own)
        running.await_rows("worker-0", 24)
        running.freeze("ps-0")
        assert running.wait("chief-0", "worker-0", timeout_s=SOON_S + 30) == {
            "chief-0": 1,
            "worker-0": 1,
        }
        # A session that TensorFlow does not close ends with its process, which prints the same.
        for name in ("chief-0", "worker-0"):
            log = (running.directory / f"{name}.log").read_text(encoding="utf-8")
            named = problem(running, name, "lost_peer") if "Error: " not in log else log
            assert "lost ps 0" in named
