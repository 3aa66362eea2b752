"""Early stopping in a cluster: workers with the same losses stop at the same step."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

CODE = """
import json, os, socket, subprocess, sys, tempfile

def lead():
    sockets = [socket.socket() for _ in range(2)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    with tempfile.TemporaryDirectory() as directory:
        workers = []
        for index in range(2):
            task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            environment = {**os.environ, "TF_CONFIG": json.dumps(task)}
            command = [sys.executable, os.path.abspath(sys.argv[0]), directory, str(index)]
            workers.append(subprocess.Popen(command, env=environment))
        sys.exit(max(worker.wait() for worker in workers))

def work(directory, index):
    import numpy as np
    from tfdistribute.engine import tf
    from tfdistribute.training.history import History
    from tfdistribute.training.hooks import HookContext, as_hooks

    history = History()
    stopping = {"kind": "early_stopping", "monitor": "loss", "data": "training", "mode": "min",
                "patience_steps": 8, "every_n_steps": 4}
    hooks = as_hooks([stopping], HookContext.here("train_and_evaluate", directory, history))

    def input_fn():
        # Each worker's own losses differ; only the one over both of them is common.
        numbers = np.arange(8.0)
        return tf.data.Dataset.from_tensor_slices(({"x": numbers}, numbers * (1 + index))).batch(4).repeat()

    estimator = tf.estimator.LinearRegressor(
        [tf.feature_column.numeric_column("x")],
        model_dir=directory,
        optimizer=lambda: tf.keras.optimizers.legacy.SGD(0.0),
        config=tf.estimator.RunConfig(
            train_distribute=tf.distribute.experimental.MultiWorkerMirroredStrategy()
        ),
    )
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn, max_steps=1000, hooks=hooks),
        tf.estimator.EvalSpec(input_fn, steps=1),
    )
    step = tf.train.load_variable(directory, "global_step") if index == 0 else None
    print(json.dumps({"stopped_by": history.stopped_by, "step": step and int(step)}), flush=True)

if __name__ == "__main__":
    if len(sys.argv) == 1:
        lead()
    else:
        work(sys.argv[1], int(sys.argv[2]))
"""


@pytest.mark.oldest
@pytest.mark.jobs
def test_two_workers_stop_together(run_python: Callable[..., Any]):
    finished = run_python(CODE, timeout_s=120)
    answers = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]
    assert len(answers) == 2
    for answer in answers:
        assert answer["stopped_by"].startswith(
            "hook_early_stopping(): loss (training) was best at step 4"
        )
    assert {answer["step"] for answer in answers} == {None, 12}
