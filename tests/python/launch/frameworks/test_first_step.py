"""Time to the first step on real frameworks, compared with ssh to this host in the same run."""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.job_fakes import TRAINS, fake_job, result, state_when
from support.ray_nodes import has_ray, ray_nodes
from support.spark_session import has_spark, spark_process
from support.sshd import has_sshd, ssh_hosts

from tfdistribute.cluster.ports import free_ports
from tfdistribute.launch.job_handle import reap_supervisors
from tfdistribute.launch.start import start_supervisor

TURNS = 3
MOST_MORE_S = 3.0


def seconds_to_first_step(directory: Path, cluster: dict[str, Any]) -> float:
    described = {"workers": 2, "evaluator": False, "python": sys.executable, **cluster}
    began = time.monotonic()
    job = start_supervisor(fake_job(directory, {"chief": TRAINS}, cluster=described))
    state_when(job, lambda state: all(each["step"] for each in state["tasks"]), 60)
    seconds = time.monotonic() - began
    assert result(job, 60)["state"] == "done"
    return seconds


@pytest.mark.jobs
@pytest.mark.cluster
@pytest.mark.full
@pytest.mark.skipif(
    not (has_ray() and has_spark() and has_sshd()), reason="needs Ray, Spark and sshd"
)
def test_the_first_step_on_a_framework_is_at_most_three_seconds_later_than_by_ssh(tmp_path: Path):
    # The tasks are fake, so only what a framework needs before they start differs.
    seconds: dict[str, list[float]] = {"ssh": [], "ray": [], "spark": [], "connect": []}
    with (
        ssh_hosts(tmp_path) as hosts,
        ray_nodes() as ray,
        spark_process(free_ports(1)[0]) as spark,
    ):
        clusters: dict[str, dict[str, Any]] = {
            "ssh": {"kind": "ssh", "hosts": hosts.names, "ssh": [hosts.ssh]},
            "ray": {"kind": "ray", "address": ray.address, "placement": "spread"},
            "spark": {"kind": "spark", "sc": spark.address},
            "connect": {"kind": "spark", "sc": spark.connect},
        }
        for turn in range(TURNS):
            for name, cluster in clusters.items():
                directory = tmp_path / f"{name}-{turn}"
                directory.mkdir()
                seconds[name].append(seconds_to_first_step(directory, cluster))
        reap_supervisors()
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    more = {name: median - medians["ssh"] for name, median in medians.items()}
    for name, each in seconds.items():
        shown = ", ".join(f"{value:.2f}" for value in each)
        sys.stdout.write(f"{name}: {shown} s to the first step, {more[name]:+.2f} s\n")
    assert max(more.values()) <= MOST_MORE_S, more
