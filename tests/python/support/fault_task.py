"""A task for fault injection, which stops at given places until the test lets it continue.

Run as ``python fault_task.py DIRECTORY OPTIONS``, like ``cluster_task``. ``stops`` in the options names the places, in
the order in which they are reached: "worker-0 start", "chief-0 begin" (the graph is built, no step has run),
"chief-0 step-14" (14 steps are done, or more if other tasks count steps too), "chief-0 save-20" (the files of
checkpoint 20, or of a later one, are written but not yet registered as the newest). A task that is killed at its stop
and restarted does not stop there again.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import cluster_task

# Steps are reported at most ten times a second; before a stop each one must be reported.
_TOLD_S = 0.15


class Stops:
    """The places at which this task waits for the test.

    Args:
        directory: Where it records its arrival and looks for permission to continue.
        places: All places of all tasks, in the order in which they are reached.
    """

    def __init__(self, directory: Path, places: list[str]) -> None:
        self.directory = directory
        self.places = places

    def is_next(self, place: str, step: int = 0) -> bool:
        arrived = len(list(self.directory.glob("arrived-*")))
        if arrived == len(self.places):
            return False
        task, _, wanted = self.places[arrived].partition(" ")
        kind, _, least = wanted.partition("-")
        return (task, kind) == (cluster_task.task_name(), place) and step >= int(least or 0)

    def reach(self, place: str, step: int = 0) -> None:
        if not self.is_next(place, step):
            return
        number = len(list(self.directory.glob("arrived-*")))
        (self.directory / f"arrived-{number}").touch()
        while not (self.directory / f"go-{number}").exists():
            time.sleep(0.02)

    def reach_step(self, done: int) -> None:
        if self.is_next("step", done + 1):
            time.sleep(_TOLD_S)
        self.reach("step", done)
        time.sleep(0.01)


class Stopping(cluster_task.Custom):
    """The linear model of the other tests, with stops."""

    def __init__(self, directory: Path, stops: Stops) -> None:
        super().__init__(directory)
        self.stops = stops

    def model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> dict[str, Any]:
        import tensorflow as tf

        v1 = tf.compat.v1
        if mode == "train":
            self.stops.reach("begin")
            done = v1.train.get_or_create_global_step()
            at_step = v1.py_func(self.stops.reach_step, [done], [], stateful=True)
            with tf.control_dependencies([at_step]):
                labels = tf.identity(labels)
        return super().model_fn(features, labels, mode, config)


def stop_at_saves(stops: Stops, full_at: int | None) -> None:
    """Stop between the two parts of a checkpoint; at step ``full_at``, simulate a full disk."""
    import tensorflow as tf
    from tensorflow.python.checkpoint import checkpoint_management

    name_newest = checkpoint_management.update_checkpoint_state_internal

    def stopping(save_dir: str, model_checkpoint_path: str, *args: Any, **kwargs: Any) -> None:
        step = model_checkpoint_path.rpartition("-")[2]
        stops.reach("save", int(step))
        if step == str(full_at):
            raise tf.errors.ResourceExhaustedError(None, None, "a file; No space left on device")
        name_newest(save_dir, model_checkpoint_path, *args, **kwargs)

    checkpoint_management.update_checkpoint_state_internal = stopping


def main(directory: Path, options: dict[str, Any]) -> None:
    from tfdistribute import task_events

    task_events.emit_started()
    stops = Stops(directory, options.get("stops", []))
    stops.reach("start")
    stop_at_saves(stops, options.get("full_at"))
    cluster_task.MODELS["custom"] = lambda folder: Stopping(folder, stops).described()
    cluster_task.main(directory, {"models": ["custom"], **options})


if __name__ == "__main__":
    from tfdistribute import task_events
    from tfdistribute.training.multi_worker import standby

    if os.environ.get(task_events.EVENTS) == "":
        standby.await_task()
    while True:
        main(Path(sys.argv[1]), json.loads(sys.argv[2]))
