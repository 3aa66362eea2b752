"""One of two processes that train with Keras under MultiWorkerMirroredStrategy."""

from __future__ import annotations

import json
import os
import time

import tensorflow as tf
from data import GLOBAL_BATCH, HIDDEN, WIDTH, X, Y
from way import take_turns

task = {"type": "worker", "index": int(os.environ["RANK"])}
cluster = {"worker": os.environ["WORKERS"].split(",")}
os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
strategy = tf.distribute.MultiWorkerMirroredStrategy()
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
rows = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(8192, seed=1).repeat()
batches = rows.batch(GLOBAL_BATCH, drop_remainder=True).prefetch(2).with_options(options)
with strategy.scope():
    layers = [tf.keras.layers.Dense(units, "relu") for units in HIDDEN]
    model = tf.keras.Sequential([tf.keras.layers.Input(WIDTH), *layers, tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.Adagrad(), "mse")


def measure(steps: int) -> float:
    model.fit(batches, steps_per_epoch=5, epochs=1, verbose=0)
    started = time.perf_counter()
    model.fit(batches, steps_per_epoch=steps, epochs=1, verbose=0)
    return steps * GLOBAL_BATCH / 2 / (time.perf_counter() - started)


take_turns(measure, warm_up=5)
