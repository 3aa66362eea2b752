"""Shared fixtures: logical devices, child processes with a time limit, and the leak check."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# Hooks of pytest.
from support.plain import pytest_collection_modifyitems, pytest_runtest_call  # noqa: F401

from tfdistribute import engine, gpus, versions

LOGICAL_CPUS = 3

# These tests compare with TensorFlow 2.15, or use Keras 3, which TensorFlow 2.15 does not have.
_NEWER_ONLY = [
    "engine/test_reference_trainings.py",
    "models/keras/test_keras3.py",
    "training/export/test_keras_model.py",
    "training/export/test_keras_tabular.py",
    "training/export/test_onnx.py",
]
# This one trains with TensorFlow's own coordinator of clusters, which TensorFlow 2.16 removed.
_OLDER_ONLY = ["training/hooks/test_hooks_on_workers.py"]
_is_newer = versions.is_newer(versions.tensorflow())
collect_ignore = _OLDER_ONLY if _is_newer else _NEWER_ONLY

# Set by TensorFlow and pytest at startup, for the life of the process.
LASTING_VARIABLES = ("KMP_", "TF2_", "TF_CPP_", "PYTEST_", "TPU_", "GRPC_", "MPL")

# AutoGraph's files, which go when this process ends, data that several tests share, and ONNX Runtime's own file.
LASTING_FILES = ("tfdistribute-generated-", "shared-", ".ses")


def _is_continuous_integration() -> bool:
    return os.environ.get("CI") == "true"


def pytest_configure() -> None:
    """Adopt orphaned grandchildren, so that the leak check sees them (PR_SET_CHILD_SUBREAPER).

    Also restore Ctrl-C: a shell that starts the tests in the background makes them and their children ignore it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1)
    # The tests are no task of a cluster.
    os.environ.pop("TF_CONFIG", None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Test files use tf.estimator when they are imported. A newer TensorFlow has it once the engine has added it.
    if versions.tensorflow() is not None and _is_newer:
        _ = engine.tf


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a GPU, and say what the machine lacks."""
    if item.get_closest_marker("gpu"):
        report = _gpu_report()
        lacks = [f"{each['problem']} {each['fix']}" for each in report["problems"]]
        if lacks or not report["gpus"]:
            pytest.skip(" ".join(["It needs a GPU.", *lacks]))


@functools.cache
def _gpu_report() -> dict[str, Any]:
    return gpus.report_of(sys.executable)


# Promises, and whether all their tests have passed.
_promises: dict[str, bool] = {}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the promises that were proved, for ``tools/check``."""
    for name, is_proved in _promises.items():
        if is_proved:
            terminalreporter.write_line(f"PROVED {name}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Turn skips into failures in continuous integration, except for tests that need a GPU."""
    report: Any = yield
    for marker in item.iter_markers("promise"):
        name = marker.args[0]
        _promises[name] = _promises.get(name, True) and report.passed
    if item.get_closest_marker("gpu"):
        return report
    if report.skipped and not hasattr(report, "wasxfail") and _is_continuous_integration():
        report.outcome = "failed"
        report.longrepr = (
            f"{item.nodeid} must run in continuous integration, but was skipped: {report.longrepr}"
        )
    return report


@pytest.fixture(scope="session")
def tensorflow() -> ModuleType:
    """TensorFlow with three logical CPU devices, shared by all tests of a pytest process."""
    pytest.importorskip("tensorflow")
    tf: Any = engine.tf
    cpu = tf.config.list_physical_devices("CPU")[0]
    if len(tf.config.get_logical_device_configuration(cpu) or []) != LOGICAL_CPUS:
        configuration = tf.config.LogicalDeviceConfiguration()
        try:
            tf.config.set_logical_device_configuration(cpu, [configuration] * LOGICAL_CPUS)
        except RuntimeError as error:
            pytest.fail(
                f"TensorFlow was started before its devices were configured ({error}): an earlier test used it "
                "without the fixture `tensorflow` or `logical_cpus`."
            )
    # Every training writes its graph as text, which no test reads and which takes a twentieth of the time.
    training_util = importlib.import_module("tensorflow.python.training.training_util")
    training_util.write_graph = lambda *args, **kwargs: None
    # TensorFlow's modules are permanent, and graphs are many small objects: garbage collection of them took over a
    # tenth of the time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 10)
    return tf


@pytest.fixture
def logical_cpus(tensorflow: ModuleType) -> list[str]:
    """Names of the logical CPU devices: "/device:CPU:0", "/device:CPU:1", "/device:CPU:2"."""
    devices: Any = getattr(tensorflow, "config").list_logical_devices("CPU")  # noqa: B009
    return [f"/device:CPU:{index}" for index in range(len(devices))]


@pytest.fixture
def runs(tensorflow: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the steps of each run in a loop; "auto" starts loops after two steps."""
    step_loop: Any = engine.step.loop.StepLoop
    monkeypatch.setattr(engine.step.runs, "WORTH_AFTER_S", 0.0)
    # Independent of the machine's speed.
    monkeypatch.setattr(engine.step.runs, "RUN_S", 1000.0)
    taken: list[int] = []
    run = step_loop.run

    def noted(self: Any, session: Any, steps: int, *others: Any) -> Any:
        taken.append(steps)
        return run(self, session, steps, *others)

    monkeypatch.setattr(step_loop, "run", noted)
    return taken


@pytest.fixture(scope="session", autouse=True)
def temporary_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Temporary directory of this run and its children, so that nobody else's files are taken for left behind."""
    directory = tmp_path_factory.mktemp("tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(directory))
        patch.setattr(tempfile, "tempdir", str(directory))
        yield directory


@pytest.fixture
def own_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Temporary directory for this test's process and its children."""
    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@dataclass(frozen=True)
class Finished:
    """Exit status and output of a child process."""

    returncode: int
    stdout: str
    stderr: str


# PR_SET_PDEATHSIG (1): the child dies with pytest, even if pytest is killed.
_CHILD = """
import ctypes, runpy, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., Finished]:
    """Run Python code that may hang or crash in a child process.

    The code has its own process group. After `timeout_s` seconds the group is killed and the test fails with the
    captured output. It also fails if the code leaves a process behind or, if `check` is true, does not return 0.
    """

    def run(
        code: str,
        timeout_s: float = 120,
        env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Finished:
        script = tmp_path / f"script-{time.monotonic_ns()}.py"
        script.write_text(code, encoding="utf-8")
        # Files, not pipes: a grandchild that holds a pipe open would look like a script that hangs.
        with (
            script.with_suffix(".out").open("w+", encoding="utf-8", errors="replace") as out,
            script.with_suffix(".err").open("w+", encoding="utf-8", errors="replace") as err,
        ):
            child = subprocess.Popen(
                [sys.executable, "-c", _CHILD, str(script)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout_s)
            timed_out = child.poll() is None
            left_behind = not timed_out and _outlives(child.pid)
            _kill_group(child.pid)
            child.wait()
            out.seek(0)
            err.seek(0)
            stdout, stderr = out.read(), err.read()
        if timed_out:
            pytest.fail(f"Not finished after {timeout_s} s.\n{stdout}\n{stderr}")
        if left_behind:
            pytest.fail(f"The script left a process behind.\n{stdout}\n{stderr}")
        if check and child.returncode != 0:
            pytest.fail(f"The script ended with {child.returncode}.\n{stdout}\n{stderr}")
        return Finished(child.returncode, stdout, stderr)

    return run


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _outlives(group: int, moment_s: float = 5) -> bool:
    """Whether a process of the group still runs after a short wait."""
    deadline = time.monotonic() + moment_s
    while group in _groups():
        if time.monotonic() > deadline:
            return True
        time.sleep(0.05)
    return False


def _groups() -> Iterator[int]:
    """The groups of the machine's processes except zombies; none without /proc."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # pid (name) state ppid group ...; the name may contain spaces and parentheses
            text = (process / "stat").read_text(encoding="utf-8", errors="replace")
            state, _, group = text.rpartition(")")[2].split()[:3]
            if state != "Z":
                yield int(group)


def _variables() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if not name.startswith(LASTING_VARIABLES)
    }


def _child_processes() -> set[int]:
    ids: set[str] = set()
    # A thread may end between the listing and the reading. Without /proc, there are none.
    for thread in Path("/proc/self/task").glob("*"):
        with contextlib.suppress(OSError):
            ids.update((thread / "children").read_text(encoding="ascii").split())
    return {int(child) for child in ids if not _is_zombie(child)}


def _is_zombie(process: str) -> bool:
    try:
        text = Path("/proc", process, "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def _lasting_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if not thread.daemon}


def _files(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if not path.name.startswith(LASTING_FILES)}


def _lasting(temporary_directory: Path) -> set[str]:
    """Describe threads, child processes and temporary files of this process."""
    return {
        *(f"thread {thread.name}" for thread in _lasting_threads()),
        *(f"child process {child}" for child in _child_processes()),
        *(f"temporary file {name}" for name in _files(temporary_directory)),
    }


def _leaks(temporary_directory: Path, before: set[str]) -> set[str]:
    """What is new and still exists after a short wait."""
    deadline = time.monotonic() + 5
    while (new := _lasting(temporary_directory) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    return new


@pytest.fixture(autouse=True)
def nothing_is_left_behind(temporary_directory: Path) -> Iterator[None]:
    """Fail a test that leaves behind an environment variable, another working directory, or what ``_lasting`` lists."""
    variables, directory = _variables(), Path.cwd()
    before = _lasting(temporary_directory)
    yield
    after = _variables()
    leaks = [
        f"environment variable {name}"
        for name in variables.keys() | after.keys()
        if variables.get(name) != after.get(name)
    ]
    if Path.cwd() != directory:
        leaks.append(f"working directory {Path.cwd()}")
        os.chdir(directory)
    leaks += sorted(_leaks(temporary_directory, before))
    assert not leaks, f"The test leaves behind: {', '.join(leaks)}"
