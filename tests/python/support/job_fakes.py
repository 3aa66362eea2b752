"""Jobs with fake tasks, so that the supervisor is tested in seconds, without TensorFlow.

A task's acts are given under its name ("worker-0"), or under its name and restart number ("worker-0@1").
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfdistribute.descriptions import read
from tfdistribute.launch import job_handle
from tfdistribute.launch.host import private_directory as private
from tfdistribute.launch.job import Job
from tfdistribute.launch.job_handle import reap_supervisors
from tfdistribute.launch.start import start_supervisor

Acts = Sequence[Sequence[Any]]

TRAINS = (("train", 3), ("finish", 3))
EVALUATES = (("evaluate", 3), ("finish", 3))

_TASK = r"""
import json, os, signal, socket, subprocess, sys, time

mine = json.loads(os.environ["TF_CONFIG"])
role, index = mine["task"]["type"], mine["task"]["index"]
name, restart = f"{role}-{index}", os.environ["TFDISTRIBUTE_ATTEMPT"]

def tell(event, **fields):
    with open(os.environ["TFDISTRIBUTE_EVENTS"], "a") as file:
        file.write(json.dumps({"event": event, "time": time.time(), **fields}) + "\n")

def step(number, loss=None):
    loss = 1 / number if loss is None else loss
    tell("step", step=number, loss=loss, examples_per_second=10.0)
    if name == "chief-0":
        tell("record", step=number, loss=loss, seconds=number / 10, examples_per_second=10.0)

def train(last, first=1, pause=0.02):
    for number in range(first, last + 1):
        step(number)
        time.sleep(pause)

def finish(number, stopped_by=None):
    if name == "chief-0":
        tell("checkpoint", step=number)
    tell("finished", step=number, stopped_by=stopped_by)

def fail(problem, transient=False, kind="training", wait=0.0):
    tell("failed", kind=kind, kinds=[kind, "error"], problem=problem, remedy=None, argument=None, value=None,
         traceback="Traceback of " + name, transient=transient)
    time.sleep(wait)
    print("Error:", problem, file=sys.stderr)
    sys.exit(1)

def child(away=False):
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    subprocess.Popen([sys.executable, "-I", "-S", "-c", code], start_new_session=away)

def listen():
    port = mine["cluster"][role][index].split(":")[1]
    server = socket.socket()
    try:
        # On all interfaces, as TensorFlow does.
        server.bind(("", int(port)))
    except OSError:
        fail(f"Port {port} is taken.", transient=True, kind="port")
    server.listen()
    globals()["server"] = server

def die(number=9):
    os.kill(os.getpid(), number)

def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)

def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass

def starve(seconds):
    # Two hundredths of a core.
    for _ in range(seconds * 5):
        work(0.004)
        time.sleep(0.196)

def read(seconds):
    for _ in range(seconds * 5):
        open(sys.executable, "rb").read(50_000)
        time.sleep(0.2)

def fill():
    try:
        while True:
            os.write(1, b"x" * 65536)
    except OSError as error:
        fail(error.strerror)

def stubborn():
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)

def save_on_interrupt(number):
    def save(*_):
        tell("checkpoint", step=number)
        sys.exit(130)
    signal.signal(signal.SIGINT, save)

def next_task(code=None):
    channel = socket.socket(fileno=os.dup(int(os.environ["TFDISTRIBUTE_CHANNEL"])))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if code is not None:
        channel.send(bytes([code]))
    text, logs, *_ = socket.recv_fds(channel, 1 << 20, 1)
    if not text:
        os._exit(0)
    for descriptor in (1, 2):
        os.dup2(logs[0], descriptor)
    os.environ.update(json.loads(text)["environment"])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(sys.executable, sys.orig_argv)

def shows_stacks():
    signal.signal(signal.SIGUSR1, lambda *_: print("the stacks of", name, flush=True))

def result():
    directory = os.path.join(os.environ["TFDISTRIBUTE_JOB"], "results")
    os.makedirs(directory, exist_ok=True)
    open(os.path.join(directory, name), "w").close()

def print_files():
    for folder, _, names in os.walk(os.environ["TFDISTRIBUTE_JOB"]):
        for name in names:
            path = os.path.join(folder, name)
            print(os.path.relpath(path, os.environ["TFDISTRIBUTE_JOB"]), os.path.getsize(path))
    for name, text in os.environ.items():
        print(f"{name}={text}", flush=True)

acts = {
    "train": train, "step": step, "finish": finish, "fail": fail, "die": die, "child": child, "listen": listen,
    "evaluate": lambda number: tell("evaluation", step=number, metrics={"loss": 1 / number}),
    "batch": lambda number: tell("batch", verb="evaluate", step=number, examples_per_second=10.0),
    "session": lambda number: tell("session", step=number, last_step=None),
    "checkpoint": lambda number: tell("checkpoint", step=number),
    "wait": lambda what: tell("waiting", **{"for": what}),
    "note": lambda text: tell("note", text=text),
    "sleep": time.sleep, "wait_for": wait_for,
    "fill": fill, "work": work, "starve": starve, "read": read, "touch": lambda path: open(path, "w").close(),
    "leave": lambda: open(os.path.join(os.environ["TMPDIR"], name), "w").close(),
    "result": result, "print_files": print_files, "exit": sys.exit, "print": lambda text: print(text, flush=True),
    "waits_on_interrupt": lambda: signal.signal(signal.SIGINT, lambda *_: next_task(130)),
    "stubborn": stubborn, "save_on_interrupt": save_on_interrupt, "shows_stacks": shows_stacks,
    "garbage": lambda: open(os.environ["TFDISTRIBUTE_EVENTS"], "ab").write(b"\xff{]\n[1]\n{\"event\": 3}\n"),
}
if not os.environ["TFDISTRIBUTE_EVENTS"]:
    next_task()
plan = json.loads(sys.argv[1])
if not plan.get("silent", False):
    tell("started", pid=os.getpid())
    tell("serving" if role == "ps" else "tensorflow")
default = [["sleep", 60]] if role == "ps" else []
for act, *arguments in plan.get(f"{name}@{restart}", plan.get(name, plan.get(role, default))):
    acts[act](*arguments)
"""


def command(acts: Mapping[str, Any]) -> list[str]:
    """Command line of a fake task."""
    return [sys.executable, "-I", "-S", "-c", _TASK, json.dumps(acts)]


def fake_job(directory: Path, acts: Mapping[str, Any], **fields: Any) -> Job:
    """A job with a chief, a worker and an evaluator by default; takes fields of both the cluster and the job."""
    cluster = {"kind": "local", "workers": 2, "evaluator": True}
    cluster = fields.pop("cluster", cluster)
    settings = ("workers", "ps", "evaluator", "restarts", "network")
    deadlines = ("start_timeout_s", "stall_timeout_s")
    cluster |= {name: fields.pop(name) for name in (*settings, *deadlines) if name in fields}
    private_directory = private.new_directory()
    return read(
        Job,
        {
            "id": private.job_id(private_directory),
            "cluster": cluster,
            "verb": "train_and_evaluate",
            "command": command({"chief": TRAINS, "worker": TRAINS, "evaluator": EVALUATES, **acts}),
            "directory": private_directory,
            "working_directory": str(directory),
            "model_dir": str(directory / "model"),
            "parent_pid": os.getpid(),
            **fields,
        },
    )


def result(job: Mapping[str, Any], timeout_s: float = 60) -> dict[str, Any]:
    """Wait for a job's end, and check that nothing of it is left."""
    deadline = time.monotonic() + timeout_s
    while job_handle.is_running(job) or Path(job["directory"]).exists():
        if time.monotonic() > deadline:
            raise AssertionError(f"Not ended: {job_handle.job_state(job)}")
        time.sleep(0.01)
    reap_supervisors()
    state = job_handle.job_state(job)
    if job["model_dir"] is not None:
        assert not (Path(job["model_dir"]) / ".lock").exists()
    return state


def run_job(directory: Path, acts: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Run a job to its end."""
    return result(start_supervisor(fake_job(directory, acts, **fields)))


@contextlib.contextmanager
def running(directory: Path, acts: Mapping[str, Any], **fields: Any) -> Iterator[dict[str, Any]]:
    """A running job for the test to act on, which always ends afterwards."""
    job = start_supervisor(fake_job(directory, acts, **fields))
    try:
        yield job
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(job["pid"], signal.SIGKILL)
        reap_supervisors()


def state_when(job: Mapping[str, Any], condition: Any, timeout_s: float = 10) -> dict[str, Any]:
    """The first state of a job that meets a condition."""
    deadline = time.monotonic() + timeout_s
    while not condition(state := job_handle.job_state(job)):
        if time.monotonic() > deadline or state["ended"] is not None:
            raise AssertionError(f"Never came: {state}")
        time.sleep(0.01)
    return state


def row(state: Mapping[str, Any], task: str) -> dict[str, Any]:
    """The row of one task."""
    return next(each for each in state["tasks"] if each["task"] == task)


def files_with(text: str, directory: Path) -> list[str]:
    """The files at any depth of a directory that contain a text; others may write there."""
    paths = [
        os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names
    ]
    return [path for path in paths if text.encode() in _content(path)]


def _content(path: str) -> bytes:
    """What a file contains; nothing if it was removed or renamed since it was listed."""
    try:
        return Path(path).read_bytes() if os.path.isfile(path) else b""
    except FileNotFoundError:
        return b""


def open_files(pid: int) -> list[str]:
    """What the descriptors of a running process lead to."""
    found = list[str]()
    for name in os.listdir(f"/proc/{pid}/fd"):
        # It opens and closes files meanwhile.
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


def processes_of(job: Mapping[str, Any]) -> list[int]:
    """Processes whose environment names a job, including its tasks' children."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (
                f"TFDISTRIBUTE_JOB={job['directory']}".encode()
                in (process / "environ").read_bytes()
            ):
                found.append(int(process.name))
    return found
