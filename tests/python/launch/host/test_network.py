"""Private networks, whose ports no other process can use, with and without root."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.job_fakes import TRAINS, fake_job, row, run_job, running, state_when

from tfdistribute.cluster.ports import listener
from tfdistribute.errors import ClusterError
from tfdistribute.launch import job_handle
from tfdistribute.launch.host import network
from tfdistribute.launch.start import start_supervisor

# Private directories go to the test's own temporary directory.
pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("own_temporary_directory")]

SOURCES = Path(__file__).parents[4] / "inst" / "python"
LISTENS = {
    "chief": [("listen",), ("train", 1), ("sleep", 60)],
    "worker": [("listen",), ("train", 1), ("sleep", 60)],
}


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("kind", ["private", "open"])
def test_ports_are_seen_from_outside_only_where_the_network_is_open(tmp_path: Path, kind: str):
    with running(tmp_path, LISTENS, network=kind, evaluator=False) as job:
        both = ("chief 0", "worker 0")
        state = state_when(job, lambda state: all(row(state, name)["step"] for name in both))
        ports = [row(state, name)["port"] for name in both]
        seen = [answers(port) or listener(port) is not None for port in ports]
        inside = Path(f"/proc/{row(state, 'chief 0')['pid']}/net/tcp").read_text(encoding="ascii")
        job_handle.stop_job(job)
    assert state["network"] == kind
    assert seen == [kind == "open"] * 2
    assert all(f":{port:04X} 00000000:0000 0A" in inside for port in ports)


def test_two_private_jobs_have_the_same_ports_and_do_not_meet(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        running(tmp_path / "a", LISTENS, network="private", evaluator=False) as first,
        running(tmp_path / "b", LISTENS, network="private", evaluator=False) as second,
    ):
        states = [
            state_when(job, lambda state: row(state, "worker 0")["step"] == 1)
            for job in (first, second)
        ]
        assert row(states[0], "worker 0")["port"] == row(states[1], "worker 0")["port"]
        for job in (first, second):
            job_handle.stop_job(job)


def test_an_unavailable_private_network_is_an_error_or_a_warning(tmp_path: Path):
    remote = {"model_dir": "s3://bucket/model"}
    job = fake_job(tmp_path, {}, network="private", **remote)
    with pytest.raises(ClusterError, match='`network` is "private", but this job cannot'):
        start_supervisor(job)
    assert not Path(job.directory).exists()
    state = run_job(tmp_path, {}, network="auto", **remote)
    assert state["network"] == "open"
    assert state["notes"][0].startswith(network.OPEN_RISK)
    asked = run_job(tmp_path, {}, network="open")
    assert asked["notes"] == [network.OPEN_RISK]


def test_a_failed_name_lookup_suggests_an_open_network(tmp_path: Path):
    fails = [("fail", "curl: (6) Could not resolve host: example.org", False)]
    failure = run_job(tmp_path, {"chief": fails}, network="private")["failure"]
    assert '`network = "open"`' in failure["remedy"]


def test_a_function_that_is_refused_a_connection_suggests_an_open_network(tmp_path: Path):
    fails = [("fail", "could not connect to localhost: Connection refused", False, "callback")]
    failure = run_job(tmp_path, {"chief": fails}, network="private")["failure"]
    assert '`network = "open"`' in failure["remedy"]


def test_a_service_of_this_machine_that_the_tasks_read_of_is_named_at_once(tmp_path: Path):
    named = {"services": ["localhost:5000"]}
    for kind in ("private", "auto"):
        with pytest.raises(ClusterError, match='names "localhost:5000"') as failed:
            start_supervisor(fake_job(tmp_path, {}, network=kind, **named))
        assert '`network = "open"`' in str(failed.value.remedy)
    assert run_job(tmp_path, {}, network="open", **named)["state"] == "done"


def test_services_are_addresses_of_this_machine_at_which_a_program_listens(tmp_path: Path):
    path = tmp_path / "task"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        host = socket.gethostname()
        texts = [f"grpc://localhost:{port}", f"x{host}:{port}", f"{host}:{port}", "localhost:1"]
        path.write_bytes(b"\0".join(text.encode() for text in texts) + b"\0localhost:%d0" % port)
        assert network.named_services(str(path)) == (f"localhost:{port}", f"{host}:{port}")
    assert network.named_services(str(path)) == ()


def test_users_other_than_root_have_private_networks_too():
    if os.geteuid() != 0:
        pytest.skip("the other tests are this user's")
    home = Path(tempfile.mkdtemp(prefix="tfdistribute-test-", dir="/tmp"))
    try:
        for name in ("tfdistribute", "job_fakes.py"):
            source = (
                SOURCES / name
                if name == "tfdistribute"
                else Path(__file__).parents[2] / "support" / name
            )
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, home / name)
        (home / "run.py").write_text(
            "import json, sys, tempfile\n"
            f"sys.path.insert(0, {str(home)!r})\n"
            f"tempfile.tempdir = {str(home / 'tmp')!r}\n"
            "from pathlib import Path\n"
            "from job_fakes import run_job\n"
            f"acts = {{'chief': [('listen',), *{TRAINS!r}]}}\n"
            f"print(json.dumps(run_job(Path({str(home)!r}), acts, network='private')))\n",
            encoding="utf-8",
        )
        (home / "tmp").mkdir()
        for path in (home, *home.rglob("*")):
            os.chown(path, 65534, 65534)
        finished = subprocess.run(
            [_python_of_everybody(), "-B", str(home / "run.py")],
            user=65534,
            group=65534,
            extra_groups=[],
            env={"TMPDIR": str(home / "tmp"), "PATH": os.environ["PATH"]},
            cwd=home,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if "Operation not permitted" in finished.stderr:
            pytest.skip("this kernel has no user namespaces for other users")
        assert finished.returncode == 0, finished.stderr
        state = json.loads(finished.stdout)
        assert (state["state"], state["network"]) == ("done", "private")
    finally:
        shutil.rmtree(home)


def _python_of_everybody() -> str:
    # A virtual environment's Python may be readable only by root.
    return shutil.which("python3", path="/usr/local/bin:/usr/bin") or sys.executable


def test_the_check_for_private_networks_changes_nothing_here():
    before = os.readlink("/proc/self/ns/net")
    network.why_not_private()
    assert os.readlink("/proc/self/ns/net") == before
