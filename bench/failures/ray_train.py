"""One training by Ray Train with its TensorFlow trainer, on four nodes of one machine: ray_train.py DIRECTORY.

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

# The constants of package.R.
ROWS, BATCH, INPUTS, UNITS, RATE, SAVE_STEPS, WORKERS = 9600, 960, 20, 512, 0.001, 50, 4
NODE = {"num_cpus": 1, "object_store_memory": 10**8}


def train_model(config: dict[str, Any]) -> None:
    import numpy as np
    import tensorflow as tf
    import tf_keras
    from ray import train

    directory = Path(config["directory"])
    context = train.get_context()
    rank, workers = context.get_world_rank(), context.get_world_size()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    chance = np.random.default_rng(1)
    x = chance.standard_normal((ROWS, INPUTS)).astype("float32")
    y = np.sin(x).sum(axis=1, keepdims=True)
    with strategy.scope():
        tf_keras.utils.set_random_seed(1)
        layers = [tf_keras.layers.Dense(UNITS, "relu") for _ in range(2)]
        model = tf_keras.Sequential([tf_keras.Input([INPUTS]), *layers, tf_keras.layers.Dense(1)])
        optimizer = tf_keras.optimizers.legacy.SGD(RATE)
    step = 0
    if (checkpoint := train.get_checkpoint()) is not None:
        with checkpoint.as_directory() as path, np.load(os.path.join(path, "weights.npz")) as saved:
            step = int(saved["step"])
            model.set_weights([saved[f"arr_{number}"] for number in range(len(model.weights))])

    @tf.function
    def take_step(features: Any, labels: Any) -> None:
        def of_replica(features: Any, labels: Any) -> None:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((model(features) - labels) ** 2) / BATCH
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

        strategy.run(of_replica, (features, labels))

    (directory / "pids" / f"{rank}").write_text(str(os.getpid()))
    share = BATCH // workers
    while True:
        first = step * BATCH % ROWS + rank * share
        take_step(tf.constant(x[first : first + share]), tf.constant(y[first : first + share]))
        step += 1
        if rank == 0:
            (directory / "step.new").write_text(str(step))
            os.replace(directory / "step.new", directory / "step")
        if step % SAVE_STEPS == 0:
            with tempfile.TemporaryDirectory() as path:
                saved = None
                if rank == 0:
                    np.savez(os.path.join(path, "weights.npz"), *model.get_weights(), step=step)
                    np.savez(directory / "weights" / f"{step}.npz", *model.get_weights())
                    saved = train.Checkpoint.from_directory(path)
                train.report({"step": step}, checkpoint=saved)


def main(directory: str) -> None:
    import ray
    from ray.cluster_utils import Cluster
    from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
    from ray.train.tensorflow import TensorflowTrainer

    for name in ("pids", "weights"):
        os.makedirs(os.path.join(directory, name), exist_ok=True)
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**NODE, "num_cpus": 0, "include_dashboard": False},
    )
    nodes = [cluster.add_node(**NODE) for _ in range(WORKERS)]
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
        scaling_config=ScalingConfig(
            num_workers=(1, WORKERS), elastic_resize_monitor_interval_s=10.0
        ),
        run_config=RunConfig(
            storage_path=os.path.join(directory, "storage"),
            failure_config=FailureConfig(max_failures=-1),
            checkpoint_config=CheckpointConfig(num_to_keep=2),
        ),
    ).fit()


if __name__ == "__main__":
    main(sys.argv[1])
