"""Supervisors of jobs in detached actors on the head node of Ray, which outlive the session."""

import contextlib
import importlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfdistribute.launch.frameworks.ray import RayFramework

NOT_SEEN = "found no directory"

_NAMESPACE = "tfdistribute"
_ANSWER_S = 40.0
_START_S = 60.0
# The driver may end before it starts the supervisor in its actor.
_UNUSED_S = 60.0
_HEAD = {"node:__internal_head__": 0.001}


class SupervisorActor:
    def __init__(self) -> None:
        self._unused = threading.Timer(_UNUSED_S, os._exit, (0,))
        self._unused.daemon = True
        self._unused.start()

    def start(
        self, options: Sequence[str], source: str, directory: str, output: str
    ) -> tuple[str | None, str]:
        """Return, when the job has a state, None and the address of the cluster.

        If the supervisor ends before, the first value is what it has printed.
        """
        self._unused.cancel()
        address = importlib.import_module("ray").get_runtime_context().gcs_address
        if not os.path.isdir(directory):
            return NOT_SEEN, address
        # The file is new: a link that another user of model_dir has left there is not followed.
        with open(output, "xb") as log:
            self._process = subprocess.Popen(
                [sys.executable, *options, directory, address],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as pipe:
            pipe.write(source.encode())
        threading.Thread(target=self._end_with_supervisor, daemon=True).start()
        while not os.path.exists(os.path.join(directory, "state.json")):
            if self._process.poll() is not None:
                return Path(output).read_text(encoding="utf-8", errors="replace"), address
            time.sleep(0.05)
        return None, address

    def send_signal(self, number: int) -> bool:
        self._process.send_signal(number)
        return self._process.poll() is None

    def _end_with_supervisor(self) -> None:
        self._process.wait()
        # Answers may be on their way.
        time.sleep(1.0)
        os._exit(0)


class RaySupervisors(RayFramework):
    def start_supervisor(self, name: str, **arguments: Any) -> tuple[str | None, str]:
        ray = self._ray
        # The head node may have another version of this package.
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        actor = (
            ray.remote(num_cpus=0, max_restarts=0)(SupervisorActor)
            .options(name=name, namespace=_NAMESPACE, lifetime="detached", resources=_HEAD)
            .remote()
        )
        try:
            said, address = ray.get(actor.start.remote(**arguments), timeout=_START_S)
        except BaseException:
            ray.kill(actor)
            raise
        if said is not None:
            ray.kill(actor)
        return said, address

    def send_signal(self, name: str, number: int) -> bool:
        """Return whether the supervisor is running; 0 is no signal."""
        try:
            actor = self._ray.get_actor(name, namespace=_NAMESPACE)
        except ValueError:
            return False
        try:
            return self._ray.get(actor.send_signal.remote(number), timeout=_ANSWER_S)
        except self._ray.exceptions.ActorDiedError:
            return False
