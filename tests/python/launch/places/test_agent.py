"""The agent: what it does for its connection, and that nothing outlives it."""

from __future__ import annotations

import ast
import dataclasses
import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.job_fakes import open_files
from support.remote_hosts import mark, marked, remote_place, soon

from tfdistribute import __version__
from tfdistribute.errors import ClusterError
from tfdistribute.launch.places import finder, transport
from tfdistribute.launch.places.channel import CommandChannel
from tfdistribute.launch.places.place import StartOptions
from tfdistribute.launch.places.remote import RemotePlace, RemoteProcess
from tfdistribute.launch.places.transport import Transport

__all__ = ["mark"]

# Starts a child, and another one in a session of its own, as a daemon would.
FAMILY = """
import subprocess, sys, time
for away in (False, True):
    subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"], start_new_session=away)
print("ready", flush=True)
time.sleep(60)
"""


class Output:
    def __init__(self) -> None:
        self.files = {"log": b"", "events": b""}

    def __call__(self, name: str, data: bytes) -> None:
        self.files[name] += data

    @property
    def log(self) -> str:
        return self.files["log"].decode()


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def start(place: RemotePlace, command: list[str], output: Output, **options: Any) -> RemoteProcess:
    events = os.path.join(place._home, options.pop("events", "events/task"))
    fields = {"environment": {}, "directory": "", "log": "", "events": events, **options}
    return place.start_process(StartOptions(command, **fields), output)


def run(
    place: RemotePlace, code: str, *arguments: str, **options: Any
) -> tuple[int | None, Output]:
    output = Output()
    process = start(place, python(code, *arguments), output, **options)
    process.wait(20)
    return process.exit_code(), output


def with_family(place: RemotePlace, mark: Path) -> None:
    output = Output()
    start(place, python(FAMILY), output)
    assert place.wait(lambda: "ready" in output.log, 20)
    # The guard, the agent, the task and its two children.
    assert len(marked(mark)) == 5


def test_a_process_runs_in_a_session_of_its_own_and_its_output_and_end_are_told(tmp_path: Path):
    with remote_place(tmp_path) as place:
        code = "import os, sys; print(os.getsid(0) == os.getpid()); sys.stderr.write('late'); sys.exit(7)"
        exit_code, output = run(place, code)
        assert (exit_code, output.log) == (7, "True\nlate")
        with pytest.raises(OSError, match=r"No such file") as caught:
            start(place, ["/no/such/program"], Output())
        assert caught.value.errno == errno.ENOENT


def test_all_processes_end_with_the_connection(mark: Path):
    with remote_place(mark) as place:
        with_family(place, mark)
        directory = place.directory
        place.end()
        assert soon(lambda: not marked(mark)), marked(mark)
        assert not os.path.exists(directory)


@pytest.mark.parametrize("victim", ["agent", "guard"])
def test_all_processes_end_when_the_agent_is_killed(mark: Path, victim: str):
    with remote_place(mark) as place:
        with_family(place, mark)
        pid = place.hello["pid"] if victim == "agent" else place.connection.channel.pid
        os.kill(pid, signal.SIGKILL)
        assert soon(lambda: not marked(mark)), marked(mark)
        assert not os.path.exists(place.directory)
        assert place.wait(lambda: place.lost is not None, 5)


def test_all_processes_end_when_the_lease_does(mark: Path):
    with remote_place(mark, lease_s=1) as place:
        with_family(place, mark)
        # Nobody serves the connection: as behind a cut cable, nothing arrives, and the pipe stays open.
        assert soon(lambda: not marked(mark), 5), marked(mark)
        place.poll()
        assert place.lost is not None


def test_a_connection_that_tells_nothing_is_given_up_after_the_lease(mark: Path):
    with remote_place(mark, lease_s=1) as place:
        os.kill(place.hello["pid"], signal.SIGSTOP)
        since = time.monotonic()
        assert place.wait(lambda: place.lost is not None, 6)
        assert time.monotonic() - since < 4
        assert place.lost == "nothing was heard of it for 1 seconds"
        os.kill(place.hello["pid"], signal.SIGCONT)
        assert soon(lambda: not marked(mark)), marked(mark)


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/../../outside", "link/outside"])
def test_a_file_outside_the_private_directory_is_refused_and_ends_the_agent(
    tmp_path: Path, name: str
):
    with remote_place(tmp_path) as place:
        os.symlink(tmp_path, os.path.join(place.directory, "link"))
        (tmp_path / "data").write_text("x")
        assert place.connection is not None
        place.connection.send_file(str(tmp_path / "data"), name, 1)
        assert place.wait(lambda: place.lost is not None, 5)
        assert "outside the private directory" in place.why_lost()[0]
        assert not (tmp_path / "outside").exists()
        assert not Path("/tmp/outside").exists()


def test_files_arrive_whole_and_private(tmp_path: Path):
    for name, content in {"task.rds": b"", "data-1/matrix": os.urandom(1 << 20)}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    with remote_place(tmp_path) as place:
        place.put([str(tmp_path / "task.rds"), str(tmp_path / "data-1/matrix")])
        assert place.wait(place.has_files, 20)
        arrived = Path(place.directory)
        assert (arrived / "data-1/matrix").read_bytes() == (tmp_path / "data-1/matrix").read_bytes()
        assert (arrived / "task.rds").read_bytes() == b""
        modes = {path.stat().st_mode & 0o077 for path in [arrived, *arrived.rglob("*")]}
        assert modes == {0}


def test_only_named_variables_travel_and_those_of_the_login_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent-of-keys")
    monkeypatch.setenv("OF_THE_HOST", "1")
    with remote_place(tmp_path) as place:
        assert place.environment == {}
        code = "import json, os; print(json.dumps(dict(os.environ)))"
        _, output = run(place, code, environment={"NAMED": "2"})
        assert '"NAMED": "2"' in output.log
        assert '"OF_THE_HOST": "1"' in output.log
        assert "SSH_" not in output.log


def test_the_agent_and_the_guard_have_no_sockets(tmp_path: Path):
    with remote_place(tmp_path) as place:
        for pid in (place.hello["pid"], place.connection.channel.pid):
            assert [file for file in open_files(pid) if file.startswith("socket:")] == []


def test_events_arrive_whole_although_their_file_is_replaced_when_it_has_grown(tmp_path: Path):
    code = """
import os, sys, time
for number in range(30):
    with open(sys.argv[1], "ab") as file:
        file.write(b"%07d" % number + b"x" * 99992 + b"\\n")
end = time.monotonic() + 10
while not os.path.exists(sys.argv[1] + ".old") and time.monotonic() < end:
    time.sleep(0.02)
print(os.path.exists(sys.argv[1] + ".old"))
"""
    with remote_place(tmp_path) as place:
        path = os.path.join(place.directory, "events/of-task")
        _, output = run(place, code, path, events="events/of-task")
        lines = output.files["events"].splitlines()
        assert [int(line[:7]) for line in lines] == list(range(30))
        assert {len(line) for line in lines} == {99_999}
        assert output.log == "True\n"


def test_a_scheduler_that_tells_only_the_processes_of_tasks_to_end_is_heard(tmp_path: Path):
    with remote_place(tmp_path) as place:
        place.transport = dataclasses.replace(place.transport, ends_job=True)
        process = start(place, python("import time; time.sleep(30)"), Output())
        for pid in (process.pid, place.hello["pid"]):
            os.kill(pid, signal.SIGTERM)
        assert place.wait(lambda: place.is_ending, 5)
        # The supervisor ends it, when the chief has saved.
        assert process.exit_code() is None


def test_a_host_that_is_told_to_end_leaves_its_tasks_to_the_supervisor(tmp_path: Path):
    with remote_place(tmp_path) as place:
        code = "import time\nprint(1, flush=True)\ntry:\n    time.sleep(30)\nexcept KeyboardInterrupt:\n    print(2)"
        output = Output()
        process = start(place, python(code), output)
        assert place.wait(lambda: output.log == "1\n", 20)
        for pid in (process.pid, place.hello["pid"]):
            os.kill(pid, signal.SIGTERM)
        assert place.wait(lambda: place.is_leaving, 5)
        assert (process.exit_code(), place.is_ending, place.is_back) == (None, False, False)
        process.signal(signal.SIGTERM)
        assert place.wait(lambda: process.exit_code() is not None, 5)
        assert output.log == "1\n2\n"


def test_only_a_process_that_catches_a_signal_gets_it(tmp_path: Path):
    end = tmp_path / "end"
    with remote_place(tmp_path) as place:
        for code, expected in (
            ("", "quiet\n"),
            ("import signal; signal.signal(10, lambda *_: print('caught'))", "caught\nquiet\n"),
        ):
            output = Output()
            process = start(
                place,
                python(
                    f"{code}\nimport pathlib, time\nprint('up', flush=True)\n"
                    f"while not pathlib.Path({str(end)!r}).exists():\n    time.sleep(0.02)\nprint('quiet')"
                ),
                output,
            )
            assert place.wait(lambda output=output: "up" in output.log, 20)
            process.signal(signal.SIGUSR1, whole_group=False, if_caught=True)
            # Requests are answered in their order.
            run(place, f"open({str(end)!r}, 'w')")
            process.wait(20)
            end.unlink()
            assert output.log == f"up\n{expected}"


def test_what_is_sent_to_hosts_is_small_and_plain_python_3_6():
    source = Path(finder.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 60
    tree = ast.parse(source, feature_version=(3, 6))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - set(sys.stdlib_module_names) == set()


def found_instead(tmp_path: Path, **how: Any) -> ClusterError:
    """Why a host is not used."""
    place = RemotePlace("node-a", Transport(CommandChannel, **how), str(tmp_path))
    place.connect()
    try:
        assert place.wait(lambda: place.lost is not None, 20)
        return place.problem()
    finally:
        place.close(5)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts do not have the package where this session has it."""
    monkeypatch.setattr(transport, "_ROOT", "/no/session")
    monkeypatch.delenv("PYTHONPATH", raising=False)


def library(directory: Path, version: str = __version__) -> Path:
    """A package library of R with a version of this package."""
    package = directory / "tfdistribute" / "python" / "tfdistribute"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"__version__ = '{version}'")
    return directory


@pytest.mark.usefixtures("elsewhere")
def test_a_host_without_the_package_is_named(tmp_path: Path):
    problem = found_instead(tmp_path, rscript="/no/Rscript")
    assert problem.problem == (
        f"node-a does not have tfdistribute, and this machine {__version__}."
    )
    assert problem.remedy is not None
    assert problem.remedy.endswith("or name its library as `libraries`.")


def test_a_host_with_another_version_is_named_with_both(tmp_path: Path):
    libraries = f"/no/library:{library(tmp_path, '0.0.9')}"
    problem = found_instead(tmp_path, environment={"R_LIBS": libraries})
    assert problem.problem == f"node-a has tfdistribute 0.0.9, and this machine {__version__}."


def test_a_host_with_a_python_that_is_too_old_is_named_with_its_version(tmp_path: Path):
    old = tmp_path / "python3.8"
    code = (
        "import sys; sys.version_info, sys.version = (3, 8, 1), '3.8.1 (old)'; i = sys.stdin.buffer"
    )
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}; exec(i.read(int(i.read(8))))"\n')
    old.chmod(0o755)
    problem = found_instead(tmp_path, python=str(old))
    assert f"its {old} is Python 3.8.1, and 3.10 or later is needed" in problem.problem


@pytest.mark.usefixtures("elsewhere")
def test_the_package_is_found_where_python_or_r_has_it(tmp_path: Path):
    python, r = (str(library(tmp_path / each) / "tfdistribute/python") for each in ("python", "r"))
    rscript = tmp_path / "Rscript"
    rscript.write_text(f"#!/bin/sh\nprintf '%s' '{r}'\n")
    rscript.chmod(0o755)
    assert finder.find(["/no/library"], str(rscript), {"PYTHONPATH": python}) == python
    assert finder.find(["/no/library"], str(rscript), {}) == r
    assert finder.find(["/no/library", r], str(rscript), {"PYTHONPATH": python}) == r


def test_files_are_not_written_elsewhere_than_below_the_tmpdir_of_the_cluster(tmp_path: Path):
    missing = str(tmp_path / "scratch")
    missing_there = Transport(
        CommandChannel, temporary=missing, subject='`hosts` holds "node-a", which'
    )
    place = RemotePlace("node-a", missing_there, str(tmp_path))
    place.connect()
    try:
        assert place.wait(lambda: place.lost is not None, 20)
        problem = place.problem()
    finally:
        place.close(5)
    assert str(problem).splitlines()[0] == (
        '`hosts` holds "node-a", which cannot be used: files cannot be written to its TMPDIR, '
        f'"{missing}" (No such file or directory).'
    )
    assert problem.remedy == (
        "Create the directory there, or name another one: `environment = c(TMPDIR = ...)`."
    )
