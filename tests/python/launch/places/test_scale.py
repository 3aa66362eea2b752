"""Cost of the supervisor with many hosts."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from support.job_fakes import fake_job, state_when
from support.remote_hosts import fake_ssh

from tfdistribute.launch.job_handle import reap_supervisors, stop_job
from tfdistribute.launch.start import start_supervisor

HOSTS = 64


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.full
@pytest.mark.jobs
def test_a_supervisor_of_64_hosts_takes_less_than_a_tenth_of_a_core(tmp_path: Path):
    # Each task steps ten times a second, which is as often as it tells.
    acts = dict.fromkeys(("chief", "worker"), (("train", 100000, 1, 0.1),))
    cluster = {
        "kind": "ssh",
        "hosts": [f"node-{number}" for number in range(HOSTS)],
        # All fakes choose among the ports of this machine.
        "host_addresses": {f"node-{number}": f"127.0.1.{number + 1}" for number in range(HOSTS)},
        "workers": HOSTS,
        "evaluator": False,
        "ssh": [fake_ssh(tmp_path)],
        "python": sys.executable,
        "start_timeout_s": 200,
    }
    job = start_supervisor(fake_job(tmp_path, acts, cluster=cluster))
    try:
        state_when(
            job, lambda state: all((row["step"] or 0) > 1 for row in state["tasks"]), timeout_s=200
        )
        before, began = cpu_s(job["pid"]), time.monotonic()
        time.sleep(10)
        used = (cpu_s(job["pid"]) - before) / (time.monotonic() - began)
        assert used < 0.1, f"{used:.1%} of a core"
    finally:
        stop_job(job)
        reap_supervisors()
