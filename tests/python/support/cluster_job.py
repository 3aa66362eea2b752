"""Cluster tasks as plain processes on the loopback interface."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.hosts import HERE, Host

TASK = Path(__file__).with_name("cluster_task.py")


class Job:
    """The tasks of one cluster in one directory.

    Args:
        directory: Directory of the tasks' answers, logs and models.
        options: Options of ``cluster_task``.
        workers: Training tasks, including the chief.
        ps: Parameter servers.
        hosts: Hosts of the tasks, in the order of the tasks; one for all of them by default.
    """

    def __init__(
        self,
        directory: Path,
        options: Mapping[str, Any],
        workers: int = 2,
        ps: int = 0,
        hosts: Sequence[Host] = (),
    ) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.options = dict(options)
        ports = iter(free_ports(workers + ps))
        counts = {"chief": 1, "worker": workers - 1, "ps": ps}
        names = [f"{role}-{index}" for role, count in counts.items() for index in range(count)]
        self.hosts = dict(zip(names, hosts or [HERE] * len(names), strict=True))
        self.cluster = {
            role: [
                f"{self.hosts[f'{role}-{index}'].address}:{next(ports)}" for index in range(count)
            ]
            for role, count in counts.items()
            if count
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, role: str, index: int = 0, tf_config: Any = None, **environment: str) -> None:
        task = tf_config or {"cluster": self.cluster, "task": {"type": role, "index": index}}
        name = f"{role}-{index}"
        command = [sys.executable, str(TASK), str(self.directory), json.dumps(self.options)]
        host = self.hosts.get(name, HERE)
        with (self.directory / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*host.prefix, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    "TF_CONFIG": json.dumps(task),
                    "TFDISTRIBUTE_EVENTS": str(self.directory / f"{name}.events"),
                    **environment,
                },
                start_new_session=True,
            )

    def start_all(self, **environment: str) -> None:
        for role, addresses in self.cluster.items():
            for index in range(len(addresses)):
                self.start(role, index, **environment)

    def wait(self, *names: str, timeout_s: float = 200) -> dict[str, int]:
        end = time.monotonic() + timeout_s
        for name in names:
            try:
                self.processes[name].wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired as late:
                self.processes[name].send_signal(signal.SIGUSR1)
                time.sleep(1)
                raise AssertionError(f"{name} did not end.\n{self.logs()}") from late
        return {name: self.processes[name].returncode for name in names}

    def freeze(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGSTOP)

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def answer(self, name: str, model: str) -> dict[str, Any]:
        """A verb's answer in a task: a mapping with ``value`` or ``error``."""
        path = self.directory / f"answer-{name}.json"
        assert path.exists(), self.logs()
        return json.loads(path.read_text(encoding="utf-8"))[model]

    def value(self, name: str, model: str) -> dict[str, Any]:
        answer = self.answer(name, model)
        assert "value" in answer, self.logs()
        return answer["value"]

    def error(self, name: str, model: str) -> dict[str, Any]:
        answer = self.answer(name, model)
        assert "error" in answer, self.logs()
        return answer["error"]

    def await_event(self, name: str, event: str, timeout_s: float = 90, **fields: Any) -> None:
        """Wait until a task has emitted an event whose numbers are at least these."""
        end = time.monotonic() + timeout_s
        while not any(
            all(each.get(key, -1) >= least for key, least in fields.items())
            for each in self.events(name, event)
        ):
            assert time.monotonic() < end, f"{name} did not emit {event}.\n{self.logs()}"
            assert self.processes[name].poll() is None, f"{name} ended.\n{self.logs()}"
            time.sleep(0.1)

    def await_rows(self, name: str, count: int, timeout_s: float = 90) -> None:
        """Wait until a task has trained on this many rows of the custom model."""
        end = time.monotonic() + timeout_s
        while not self.rows_file(name).exists() or len(self.rows(name)) < count:
            assert time.monotonic() < end, f"{name} does not train.\n{self.logs()}"
            assert self.processes[name].poll() is None, f"{name} ended.\n{self.logs()}"
            time.sleep(0.1)

    def events(self, name: str, event: str | None = None) -> list[dict[str, Any]]:
        path = self.directory / f"{name}.events"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines]
        return [each for each in found if event is None or each["event"] == event]

    def rows(self, name: str, model: str = "custom") -> list[int]:
        return [int(line) for line in self.rows_file(name, model).read_text().split()]

    def rows_file(self, name: str, model: str = "custom") -> Path:
        return self.directory / model / f"rows-{name}.txt"

    def runs(self, name: str) -> list[int]:
        """Steps of each many-step run that a task has started."""
        path = self.directory / f"runs-{name}.txt"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def model_dir(self, model: str) -> Path:
        return self.directory / model / "model"

    def logs(self) -> str:
        texts = [
            f"--- {path.name}\n{path.read_text(encoding='utf-8', errors='replace')[-4000:]}"
            for path in sorted(self.directory.glob("*.log"))
        ]
        return "\n".join(texts)

    def end(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def job(
    directory: Path,
    options: Mapping[str, Any],
    workers: int = 2,
    ps: int = 0,
    hosts: Sequence[Host] = (),
) -> Iterator[Job]:
    made = Job(directory, options, workers, ps, hosts)
    try:
        yield made
    finally:
        made.end()


def with_deadlines(running: Job, **seconds: float) -> dict[str, str]:
    """Give the cluster of the run configuration deadlines, as cluster() does in R."""
    described = {"kind": "addresses", **running.cluster, **seconds}
    config = {**running.options["config"], "cluster": described}
    return {"TEST_OPTIONS": json.dumps({"config": config})}


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
