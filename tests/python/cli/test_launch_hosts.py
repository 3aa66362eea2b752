"""``python -m tfdistribute launch --hosts`` over real ssh."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import job_fakes
from support.sshd import has_sshd, ssh_hosts

pytestmark = [
    pytest.mark.jobs,
    pytest.mark.usefixtures("own_temporary_directory"),
    pytest.mark.skipif(not has_sshd(), reason="needs ssh and sshd"),
]

SOURCES = Path(__file__).parents[3] / "inst" / "python"


def launch(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tfdistribute", "launch", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_script_is_sent_to_hosts_and_runs_there(tmp_path: Path):
    code = job_fakes.command({"chief": job_fakes.TRAINS, "worker": job_fakes.TRAINS})
    script = tmp_path / "train it.py"
    script.write_text(
        f"import os, sys\nprint('INFO:', os.path.basename(__file__), sys.argv[1:], os.environ['NAMED'])\n"
        f"open(__file__).close()\nsys.argv = ['task', {code[5]!r}]\nexec({code[4]!r})\n",
        encoding="utf-8",
    )
    with ssh_hosts(tmp_path) as hosts:
        ended = launch(
            tmp_path,
            script.name,
            *("--hosts", ",".join(hosts.names)),
            *("--ssh", hosts.ssh, "--python", sys.executable, "--no-evaluator"),
            *("--environment", "NAMED=here", "--model-dir", str(tmp_path / "model")),
            *("--", "--rate", "1"),
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for task in ("chief 0", "worker 0"):
        assert f"[{task}] INFO: train it.py ['--rate', '1'] here" in ended.stdout


def test_hosts_that_cannot_be_used_are_named(tmp_path: Path):
    (tmp_path / "train.py").touch()
    with ssh_hosts(tmp_path) as hosts:
        ended = launch(tmp_path, "train.py", "--hosts", "no-such-host.invalid", "--ssh", hosts.ssh)
    assert ended.returncode == 1
    assert "its name is not known" in ended.stderr
    for arguments in (("--hosts", "a b"), ("--hosts", "a", "--environment", "X"), ()):
        assert launch(tmp_path, "train.py", *arguments).returncode in (1, 2)
