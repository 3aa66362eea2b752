"""JAX at its fastest on this model: ``lax.scan`` over steps that gather rows by their numbers, on one thread."""

from __future__ import annotations

import itertools
import os
import time
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
from data import BATCH, HIDDEN, ROWS, WIDTH, X, Y
from way import take_turns

STEPS, RATE = 1500, 0.001
random = np.random.default_rng()
all_x, all_y = jnp.asarray(X), jnp.asarray(Y, jnp.float32)
sizes = (WIDTH, *HIDDEN, 1)
weights = [
    (jnp.asarray(random.normal(0, 0.1, shape), jnp.float32), jnp.zeros(shape[1]))
    for shape in itertools.pairwise(sizes)
]
state = (weights, jax.tree.map(lambda weight: jnp.full_like(weight, 0.1), weights))


def loss_of(weights: Any, x: Any, y: Any) -> Any:
    *hidden, (kernel, bias) = weights
    for each_kernel, each_bias in hidden:
        x = jax.nn.relu(x @ each_kernel + each_bias)
    logits = (x @ kernel + bias)[:, 0]
    return jnp.mean(jax.nn.softplus(logits) - logits * y)


def step(state: Any, rows: Any) -> tuple[Any, Any]:
    weights, sums = state
    loss, gradients = jax.value_and_grad(loss_of)(weights, all_x[rows], all_y[rows])
    sums = jax.tree.map(lambda total, gradient: total + gradient**2, sums, gradients)
    weights = jax.tree.map(
        lambda weight, total, gradient: weight - RATE * gradient / jnp.sqrt(total),
        weights,
        sums,
        gradients,
    )
    return (weights, sums), loss


steps_of = jax.jit(lambda state, rows: jax.lax.scan(step, state, rows), donate_argnums=0)


def measure(steps: int) -> float:
    global state
    started = time.perf_counter()
    for _ in range(steps // STEPS):
        rows = random.permutation(ROWS)[: STEPS * BATCH].astype(np.int32)
        state, losses = steps_of(state, jnp.asarray(rows.reshape(STEPS, BATCH)))
    losses.block_until_ready()
    return steps // STEPS * STEPS * BATCH / (time.perf_counter() - started)


take_turns(measure, warm_up=STEPS)
