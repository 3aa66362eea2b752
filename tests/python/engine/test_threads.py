"""Threads of a session: as many as the settings say, whatever started TensorFlow."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Trains twice and prints, for each training, how many threads did at least a tenth of the work.
SCRIPT = """
import os, tempfile
import numpy as np
from tfdistribute import engine
from tfdistribute.inputs import Column, InMemory
from tfdistribute.models.custom import Custom
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies import OneDevice
from tfdistribute.training.train import train

def work():
    spent = {}
    for thread in os.listdir("/proc/self/task"):
        try:
            fields = open(f"/proc/self/task/{thread}/stat").read().rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        spent[thread] = int(fields[11]) + int(fields[12])
    return spent

def model_fn(features, labels, mode):
    x = features["x"]
    tf = engine.tf
    # Two branches, which two threads would compute at the same time.
    parts = [tf.compat.v1.layers.dense(tf.compat.v1.layers.dense(x, 768), 768) for _ in range(2)]
    return {"loss": tf.reduce_mean(tf.square(tf.add_n(parts))), "optimizer": "sgd"}

x = np.ones((512, 768), "float32")
source = InMemory(
    (Column("x", "float", lambda: x, (768,)), Column("y", "float", lambda: np.ones(512, "float32"))),
    response="y", batch_size=512, epochs=None,
)
class Steps(engine.tf.estimator.SessionRunHook):
    def __init__(self):
        self.step, self.before, self.after = 0, {}, {}
    def after_run(self, context, values):
        self.step += 1
        if self.step == 5:
            self.before = work()
        self.after = work()

def busy(**threads):
    settings = RunSettings(strategy=OneDevice("CPU:0"), session_config=threads)
    hook = Steps()
    with tempfile.TemporaryDirectory() as directory:
        model = Custom(directory, model_fn)
        notes = train(model, settings, source, steps=25, hooks=[hook]).notes
    spent = [hook.after[each] - hook.before.get(each, 0) for each in hook.after]
    said = [each for each in notes if "no effect" in each]
    print("BUSY", sum(each > sum(spent) / 10 for each in spent), *said, flush=True)

busy(intra_op_parallelism_threads=1)
busy(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
busy(intra_op_parallelism_threads=3)
"""


@pytest.mark.slow
@pytest.mark.versions
@pytest.mark.timeout(120)
def test_a_training_computes_with_the_threads_of_its_settings():
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    said = [line for line in ended.stdout.splitlines() if line.startswith("BUSY")]
    assert len(said) == 3
    assert said[:2] == ["BUSY 2", "BUSY 1"]
    assert said[2].endswith(
        "`session_config$intra_op_parallelism_threads` is 3 and has no effect: TensorFlow has started its threads "
        "already. To use it, restart R and train before anything else uses TensorFlow."
    )
