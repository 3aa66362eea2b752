"""Goodput of trainings under one schedule of failures: this package, restarts of the whole job, and Ray Train.

Run ``tools/env python bench/failures/run.py`` on an idle machine: 20 minutes, or less with --seconds and --calm. After
the first step, one training process is killed every 20 seconds, and the last host is gone for a minute. The goodput
is the number of the last step, divided by the steps that the same training takes in the same time without failures.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.checkpoints.newest import newest_step
from tfdistribute.launch import job_handle

HERE = Path(__file__).parent
ENVIRONMENT = HERE.parents[1] / ".environment"
ENGINES = ENVIRONMENT / "engines/bin/python"
SAVE_STEPS = 50
START_S = 300.0
_TICK_S = 0.05

# A host that is away does not answer. Its agent ends with the connection.
_SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
if [ -e "$0.$2.away" ]; then echo "ssh: connect to host $2: No route to host" >&2; exit 255; fi
echo $$ > "$0.$2.pid"
cat | SSH_CONNECTION="10.0.0.1 1 127.0.0.1 22" setsid sh -c "$3" | cat
"""


class Training(ABC):
    """One way to train, in a directory of its own."""

    process: subprocess.Popen[Any]
    workers = 4

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def step(self) -> int:
        """Return the global step that the training has reached."""

    @abstractmethod
    def pids(self) -> list[int]:
        """List the processes that train, by rank."""

    @abstractmethod
    def set_host(self, is_away: bool) -> None: ...

    @abstractmethod
    def weights(self, step: int) -> list[Any] | None:
        """Return the weights of a checkpoint; None without one."""

    @abstractmethod
    def stop(self) -> None: ...

    def look(self) -> None:  # noqa: B027 - most need nothing
        """Do what a user of this way would do now."""


class Package(Training):
    name, restarts = "tfdistribute", 1000
    # None for all workers.
    fewest: int | None = 1
    # Whether steps are computed on one core, so that processes load on the others.
    shares_core = False
    _cores: Any = None

    def start(self) -> None:
        self._ssh = self.directory / "ssh"
        self._ssh.write_text(_SSH)
        self._ssh.chmod(0o755)
        self._launch()

    def _launch(self) -> None:
        command = ["Rscript", str(HERE / "package.R"), str(self.directory), str(self._ssh)]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, str(self.fewest or self.workers), str(self.workers), str(self.restarts)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _state(self) -> dict[str, Any]:
        with contextlib.suppress(Exception):
            job = job_handle.find_job(str(self.directory / "model"))
            return {} if job is None else job_handle.job_state(job)
        return {}

    def step(self) -> int:
        state = self._state()
        step = state.get("global_step") if state.get("state") == "training" else None
        # Between two starts, only what is saved counts.
        return newest_step(str(self.directory / "model")) if step is None else step

    def pids(self) -> list[int]:
        return [each["pid"] for each in self._state().get("tasks", ()) if each["pid"]]

    def set_host(self, is_away: bool) -> None:
        host = f"{self._ssh}.node-{self.workers}"
        sign = Path(f"{host}.away")
        if is_away:
            sign.touch()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(Path(f"{host}.pid").read_text()), signal.SIGKILL)
        else:
            sign.unlink()

    def look(self) -> None:
        if not self.shares_core:
            return
        state = self._state()
        cores = {0} if state.get("state") == "training" else set(range(os.cpu_count() or 1))
        pids = [each["pid"] for each in state.get("tasks", ()) if each["pid"]]
        if (pids, cores) != self._cores:
            self._cores = pids, cores
            for thread in (each for pid in pids for each in Path(f"/proc/{pid}/task").glob("*")):
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(int(thread.name), cores)

    def weights(self, step: int) -> list[Any] | None:
        path = str(self.directory / "model" / f"model.ckpt-{step}")
        if not os.path.exists(f"{path}.index"):
            return None
        reader = tf.train.load_checkpoint(path)
        names = sorted(
            name
            for name in reader.get_variable_to_shape_map()
            if "layer" in name or "logits" in name
        )
        return [reader.get_tensor(name) for name in names]

    def stop(self) -> None:
        job = job_handle.find_job(str(self.directory / "model"))
        if job is not None:
            text = (job_handle.job_state(job).get("goodput") or {}).get("text")
            sys.stdout.write(f"  {self.name} reports: {text}\n")
            job_handle.stop_job(job)
        self.process.terminate()
        self.process.wait()


class WholeJob(Package):
    name, fewest, restarts = "restarts of the whole job", None, 0

    def look(self) -> None:
        super().look()
        if self.process.poll() is not None:
            self._launch()


class Ray(Training):
    name = "Ray Train"

    def start(self) -> None:
        packages = ENVIRONMENT / "failures"
        if not packages.exists():
            pip = [str(ENGINES), "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
            needed = ["--requirement", str(HERE / "packages.txt")]
            subprocess.run([*pip, str(packages), *needed], check=True)
        # Paths of Ray's sockets must be short.
        self._home = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
        environment = {"RAY_TMPDIR": self._home, "TMPDIR": self._home, "RAY_TRAIN_V2_ENABLED": "1"}
        with (self.directory / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [str(ENGINES), str(HERE / "ray_train.py"), str(self.directory), str(self.workers)],
                env={
                    **os.environ,
                    **environment,
                    "PYTHONPATH": str(packages),
                    "TF_CPP_MIN_LOG_LEVEL": "2",
                },
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def step(self) -> int:
        with contextlib.suppress(OSError, ValueError):
            return int((self.directory / "step").read_text())
        return 0

    def pids(self) -> list[int]:
        files = sorted((self.directory / "pids").glob("*"))
        pids = [int(path.read_text()) for path in files]
        return [pid for pid in pids if Path(f"/proc/{pid}").exists()]

    def set_host(self, is_away: bool) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("away\n" if is_away else "back\n")
        self.process.stdin.flush()

    def weights(self, step: int) -> list[Any] | None:
        path = self.directory / "weights" / f"{step}.npz"
        if not path.exists():
            return None
        with np.load(path) as saved:
            return [saved[name] for name in saved.files]

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        # Ray's processes have sessions of their own, and become children of this process.
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
        while pids := children.read_text().split():
            for pid in map(int, pids):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        shutil.rmtree(self._home, ignore_errors=True)


def watch(
    training: Training, seconds: float, kill_every_s: float, away: tuple[float, float]
) -> int:
    """Train for some time after the first step, and return the steps of that time."""
    training.start()
    try:
        return _disturb(training, seconds, kill_every_s, away)
    finally:
        training.stop()


def _disturb(
    training: Training, seconds: float, kill_every_s: float, away: tuple[float, float]
) -> int:
    end = time.monotonic() + START_S
    while (first := training.step()) == 0:
        is_running = training.process.poll() is None and time.monotonic() < end
        assert is_running, (training.directory / "log").read_text()[-3000:]
        time.sleep(_TICK_S)
    began, kills = time.monotonic(), 0
    acts = [(at, is_away) for at, is_away in ((away[0], True), (away[1], False)) if at < seconds]
    while (now := time.monotonic() - began) < seconds:
        if now >= (kills + 1) * kill_every_s and (pids := training.pids()):
            kills += 1
            with contextlib.suppress(ProcessLookupError):
                os.kill(pids[kills % len(pids)], signal.SIGKILL)
        if acts and now >= acts[0][0]:
            training.set_host(acts.pop(0)[1])
        training.look()
        time.sleep(_TICK_S)
    return training.step() - first


def difference(one: Training, other: Training) -> tuple[int, float]:
    """Return the last step of which both have a checkpoint, and the largest difference of their weights there."""
    steps = range(SAVE_STEPS, 10**6, SAVE_STEPS)
    last = max(
        (
            step
            for step in steps
            if one.weights(step) is not None and other.weights(step) is not None
        ),
        default=0,
    )
    pairs = zip(one.weights(last) or (), other.weights(last) or (), strict=True)
    return last, max((float(np.abs(mine - its).max()) for mine, its in pairs), default=float("nan"))


def adopt_orphans() -> None:
    """Let no training go on, whatever ends this process."""
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--calm", type=float, default=60.0, help="seconds without failures")
    parser.add_argument("--kill-every", type=float, default=20.0)
    parser.add_argument("--away", type=float, nargs=2, default=(90.0, 150.0))
    parser.add_argument("--workers", type=int, default=4, help="1, 2 or 4 divide the batch")
    parser.add_argument("--one-core", action="store_true", help="for steps of the package")
    parser.add_argument("ways", nargs="*", default=["package", "whole", "ray"])
    return parser.parse_args()


def main() -> None:
    asked = _asked()
    adopt_orphans()
    Training.workers, Package.shares_core = asked.workers, asked.one_core
    ways = {"package": Package, "whole": WholeJob, "ray": Ray}
    never = (asked.seconds * 2, asked.seconds * 2)
    calm: dict[str, tuple[Training, float]] = {}
    with tempfile.TemporaryDirectory(prefix="failures-") as home:
        for name in asked.ways:
            kind = ways[name]
            # The package trains alike in both ways.
            key = "ray" if name == "ray" else "package"
            if key not in calm:
                undisturbed = ways[key](Path(home, f"{key}-calm"))
                steps = watch(undisturbed, asked.calm, asked.seconds * 2, never)
                calm[key] = undisturbed, steps / asked.calm
                sys.stdout.write(f"{kind.name}, undisturbed: {steps / asked.calm:.1f} steps/s\n")
            training = kind(Path(home, name))
            steps = watch(training, asked.seconds, asked.kill_every, tuple(asked.away))
            step, most = difference(calm[key][0], training)
            share = steps / (calm[key][1] * asked.seconds)
            sys.stdout.write(
                f"{kind.name}: goodput {share:.2f} ({steps} steps); weights at step {step} differ from the undisturbed "
                f"ones by at most {most:.1g}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
