"""The task of a container, from the variables of a platform to its exit code."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from support.platform_jobs import kubernetes, platform_job

from tfdistribute.errors import ArgumentError, ClusterError
from tfdistribute.launch.platforms import entrypoint
from tfdistribute.launch.platforms.archive import digest_of, pack, unpack
from tfdistribute.launch.platforms.entrypoint import platform_tf_config

SOURCES = Path(__file__).parents[4] / "inst" / "python"
CLUSTER = {"chief": ["a:1"], "worker": ["b:1"]}


@pytest.fixture
def environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_temporary_directory: None
) -> dict[str, str]:
    """The variables of a container."""
    monkeypatch.setattr(entrypoint, "_TERMINATION_LOG", str(tmp_path / "termination-log"))
    job = platform_job(tmp_path, kubernetes())
    archive = pack(job.directory)
    path = tmp_path / "job.tar.gz"
    path.write_bytes(archive)
    own = {
        entrypoint.ARCHIVE: str(path),
        entrypoint.ARCHIVE_DIGEST: digest_of(archive),
        entrypoint.NAME: job.id,
    }
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), **own}


def run(environment: dict[str, str], code: str) -> int:
    return entrypoint.run_task([sys.executable, "-c", code], environment)


def failing(kind: str, after: str = "raise SystemExit(1)") -> str:
    return (
        "from tfdistribute import errors, task_events\n"
        f"task_events.emit_failure(errors.{kind}('It failed.', 'Mend it.'))\n{after}"
    )


@pytest.mark.parametrize(
    "code, expected",
    [
        ("", 0),
        ("raise SystemExit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", 137),
        (failing("ModelError"), 1),
        (failing("LostPeerError"), 138),
        (failing("LostPeerError", ""), 0),
        # What a lost task breaks in the others is not a mistake of theirs.
        (failing("LostPeerError", failing("ModelError")), 138),
    ],
)
def test_an_exit_code_says_whether_another_start_may_help(
    environment: dict[str, str], code: str, expected: int
):
    assert run(environment, code) == expected


def test_a_failure_is_left_where_kubernetes_keeps_it(tmp_path: Path, environment: dict[str, str]):
    log = tmp_path / "termination-log"
    log.touch()
    long = failing("ModelError").replace("It failed.", "It failed." + "x" * 600)
    run(environment, "def deep(n):\n  return deep(n - 1) if n else " + "1\n" + long)
    found = json.loads(log.read_text())
    assert (found["kind"], found["remedy"]) == ("model", "Mend it.")
    assert len(log.read_bytes()) <= 4096


def test_a_task_of_r_finds_what_was_packed_in_a_directory_of_its_own(
    environment: dict[str, str], capfd: pytest.CaptureFixture[str]
):
    run(
        environment,
        "import os, stat; d = os.environ['TFDISTRIBUTE_JOB']; "
        "print(open(d + '/task.rds').read(), os.path.basename(d), oct(stat.S_IMODE(os.stat(d).st_mode)), "
        "len(os.environ['TFDISTRIBUTE_DIGEST']), os.getcwd() == os.path.realpath(d), os.listdir(d))",
    )
    name = environment[entrypoint.NAME]
    shown = capfd.readouterr().out.strip()
    assert shown == f"what the tasks read {name} 0o700 64 True ['task.rds']"


def test_the_cluster_reaches_the_task_as_tf_config(
    environment: dict[str, str], capfd: pytest.CaptureFixture[str]
):
    text = json.dumps({"cluster": {**CLUSTER, "evaluator": ["c:1"]}, "task": {"type": "worker"}})
    run({**environment, "TF_CONFIG": text}, "import os; print(os.environ['TF_CONFIG'])")
    found = json.loads(capfd.readouterr().out)
    assert found == {"cluster": CLUSTER, "task": {"type": "worker", "index": 0}}


def test_a_task_whose_platform_does_not_name_the_others_is_refused(
    environment: dict[str, str], capfd: pytest.CaptureFixture[str]
):
    shows = "import os; print(os.environ['TF_CONFIG'])"
    assert run({**environment, entrypoint.TASKS: "1"}, shows) == 0
    assert json.loads(capfd.readouterr().out)["task"] == {"type": "chief", "index": 0}
    with pytest.raises(ClusterError, match="has 2 tasks, and the platform did not tell"):
        run({**environment, entrypoint.TASKS: "2"}, shows)


def test_nothing_is_left_of_a_task(tmp_path: Path, environment: dict[str, str]):
    import tempfile

    before = set(os.listdir(tempfile.gettempdir()))
    run(environment, "raise SystemExit(1)")
    assert set(os.listdir(tempfile.gettempdir())) == before


def test_another_archive_is_refused(environment: dict[str, str]):
    Path(environment[entrypoint.ARCHIVE]).write_bytes(b"another")
    with pytest.raises(ArgumentError, match="is not what was written for it"):
        run(environment, "")


def test_a_missing_archive_is_named(environment: dict[str, str]):
    environment[entrypoint.ARCHIVE] = "/no/job.tar.gz"
    with pytest.raises(ClusterError, match='"/no/job.tar.gz", cannot be read: No such file'):
        run(environment, "")


def test_a_process_that_is_not_in_a_container_is_told_so():
    with pytest.raises(ArgumentError, match="TFDISTRIBUTE_ARCHIVE is not set"):
        entrypoint.run_task(["true"], {})


@pytest.mark.parametrize("name", ["../outside", "/outside", "link"])
def test_an_archive_cannot_write_outside_of_its_directory(tmp_path: Path, name: str):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        if name == "link":
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(entry)
    content = packed.getvalue()
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(ClusterError, match="is not a file below its directory"):
        unpack(content, digest_of(content), str(inside))
    assert list(tmp_path.iterdir()) == [inside]


def test_the_same_files_give_the_same_archive(tmp_path: Path):
    job = platform_job(tmp_path, kubernetes())
    first = pack(job.directory)
    for path in Path(job.directory).iterdir():
        os.utime(path, (1, 1))
    assert pack(job.directory) == first


@pytest.mark.parametrize(
    "environment, expected",
    [
        ({}, None),
        ({"CLUSTER_SPEC": "{}"}, ClusterError),
        (
            {
                "CLUSTER_SPEC": json.dumps(
                    {
                        "cluster": {
                            "workerpool0": ["a:1"],
                            "workerpool1": ["b:1", "c:1"],
                            "workerpool2": [],
                            "workerpool3": ["d:1"],
                        },
                        "task": {"type": "workerpool1", "index": 1, "trial": "x"},
                        "environment": "cloud",
                    }
                )
            },
            ({"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "worker", 1),
        ),
        (
            {"TFDISTRIBUTE_ADDRESSES": json.dumps(CLUSTER), "JOB_COMPLETION_INDEX": "1"},
            (CLUSTER, "worker", 0),
        ),
        (
            {"TFDISTRIBUTE_ADDRESSES": json.dumps(CLUSTER), "JOB_COMPLETION_INDEX": "2"},
            ClusterError,
        ),
        (
            # TF_CONFIG counts first.
            {
                "TF_CONFIG": json.dumps(
                    {"cluster": CLUSTER, "task": {"type": "chief", "index": 0}}
                ),
                "CLUSTER_SPEC": "wrong",
            },
            (CLUSTER, "chief", 0),
        ),
    ],
)
def test_each_platform_describes_the_cluster_in_its_way(environment: dict[str, str], expected: Any):
    if expected is ClusterError:
        with pytest.raises(
            ClusterError, match="does not describe a cluster|is not the form of Vertex AI"
        ):
            platform_tf_config(environment)
        return
    text = platform_tf_config(environment)
    found = None if text is None else json.loads(text)
    if expected is not None:
        cluster, role, index = expected
        expected = {"cluster": cluster, "task": {"type": role, "index": index}}
    assert found == expected


def test_a_platform_that_stops_a_container_interrupts_its_task(environment: dict[str, str]):
    code = (
        "import os, signal, sys, time\n"
        "def stop(number, frame): os.write(1, b'saved\\n'); sys.exit(130)\n"
        "signal.signal(signal.SIGINT, stop); os.write(1, b'up\\n'); time.sleep(60)"
    )
    command = [sys.executable, "-m", "tfdistribute", "run-task", "--", sys.executable, "-c", code]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=20)
    assert output == "saved\n"
    assert process.returncode == 143
    assert time.monotonic() - began < 10
