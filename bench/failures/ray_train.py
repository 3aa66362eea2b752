"""One training by Ray Train with its TensorFlow trainer, on nodes of one machine: ray_train.py DIRECTORY WORKERS.

A line "away" on standard input takes one node away, and "back" adds it again.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import ray
import tensorflow as tf
import tf_keras
from ray import train
from ray.cluster_utils import Cluster
from ray.train.tensorflow import TensorflowTrainer

# The constants of package.R.
ROWS, BATCH, INPUTS, UNITS, RATE, SAVE_STEPS = 9600, 960, 20, 512, 0.001, 50
NODE = {"num_cpus": 1, "object_store_memory": 10**8}


def make_rows() -> tuple[Any, Any]:
    chance = np.random.default_rng(1)
    x = chance.standard_normal((ROWS, INPUTS)).astype("float32")
    return x, np.sin(x).sum(axis=1, keepdims=True)


def make_model() -> tuple[Any, Any]:
    tf_keras.utils.set_random_seed(1)
    layers = [tf_keras.layers.Dense(UNITS, "relu") for _ in range(2)]
    model = tf_keras.Sequential([tf_keras.Input([INPUTS]), *layers, tf_keras.layers.Dense(1)])
    return model, tf_keras.optimizers.legacy.SGD(RATE)


def make_step(strategy: Any, model: Any, optimizer: Any) -> Any:
    def of_replica(features: Any, labels: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(features) - labels) ** 2) / BATCH
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    return tf.function(lambda features, labels: strategy.run(of_replica, (features, labels)))


def restore(model: Any) -> int:
    checkpoint = train.get_checkpoint()
    if checkpoint is None:
        return 0
    with checkpoint.as_directory() as path, np.load(os.path.join(path, "weights.npz")) as saved:
        model.set_weights([saved[f"arr_{number}"] for number in range(len(model.weights))])
        return int(saved["step"])


def save(model: Any, step: int, directory: Path, is_chief: bool) -> None:
    with tempfile.TemporaryDirectory() as path:
        saved = None
        if is_chief:
            np.savez(os.path.join(path, "weights.npz"), *model.get_weights(), step=step)
            np.savez(directory / "weights" / f"{step}.npz", *model.get_weights())
            saved = train.Checkpoint.from_directory(path)
        train.report({"step": step}, checkpoint=saved)


def train_model(config: dict[str, Any]) -> None:
    directory, context = Path(config["directory"]), train.get_context()
    rank, share = context.get_world_rank(), BATCH // context.get_world_size()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    x, y = make_rows()
    with strategy.scope():
        model, optimizer = make_model()
    step, take_step = restore(model), make_step(strategy, model, optimizer)
    (directory / "pids" / f"{rank}").write_text(str(os.getpid()))
    while True:
        first = step * BATCH % ROWS + rank * share
        take_step(tf.constant(x[first : first + share]), tf.constant(y[first : first + share]))
        step += 1
        if rank == 0:
            (directory / "step.new").write_text(str(step))
            os.replace(directory / "step.new", directory / "step")
        if step % SAVE_STEPS == 0:
            save(model, step, directory, rank == 0)


def main(directory: str, workers: int) -> None:
    for name in ("pids", "weights"):
        os.makedirs(os.path.join(directory, name), exist_ok=True)
    head = {**NODE, "num_cpus": 0, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(**NODE) for _ in range(workers)]
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")

    def obey() -> None:
        for line in sys.stdin:
            if line.strip() == "away":
                cluster.remove_node(nodes.pop(), allow_graceful=False)
            else:
                nodes.append(cluster.add_node(**NODE))
        with contextlib.suppress(Exception):
            cluster.shutdown()
        os._exit(0)

    threading.Thread(target=obey, daemon=True).start()
    TensorflowTrainer(
        train_model,
        train_loop_config={"directory": directory},
        scaling_config=train.ScalingConfig(
            num_workers=(1, workers), elastic_resize_monitor_interval_s=10.0
        ),
        run_config=train.RunConfig(
            storage_path=os.path.join(directory, "storage"),
            failure_config=train.FailureConfig(max_failures=-1),
            checkpoint_config=train.CheckpointConfig(num_to_keep=2),
        ),
    ).fit()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
