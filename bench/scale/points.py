"""Costs of one size, as JSON: ``points.py rows|columns|tasks|lockstep SIZE``."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from support.job_fakes import fake_job

from tfdistribute.descriptions import read
from tfdistribute.inputs import Column, InMemory, Input
from tfdistribute.inputs.packed.packing import pack
from tfdistribute.inputs.tables.arrow_file import write_arrow
from tfdistribute.launch.start import supervise
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

WIDTH, BATCH, STEPS = 20, 4096, 1000
# What a process of ``lockstep`` adds to in each step: eight arrays of 0.75 MB.
ARRAYS, ARRAY_BYTES = 8, 6 * 2**17


def processor_s(perform: Callable[[], Any]) -> float:
    started = time.process_time()
    perform()
    return time.process_time() - started


def rows(count: int, folder: str) -> dict[str, float]:
    """Train on all rows of a file once."""
    columns = [
        Column("y", "float", lambda: np.zeros(count, np.float32)),
        Column("x", "float", lambda: np.zeros((count, WIDTH), np.float32), (WIDTH,)),
    ]
    write_arrow(pack(columns), f"{folder}/data", 1)
    source = {"kind": "arrow", "paths": f"{folder}/data", "response": "y", "batch_size": BATCH}
    model = {
        "kind": "linear_regressor",
        "model_dir": f"{folder}/model",
        "feature_columns": [{"kind": "numeric", "key": "x", "shape": [WIDTH]}],
    }
    spent = processor_s(lambda: train(read(Model, model), RunSettings(), read(Input, source)))
    return {"seconds of an epoch": spent}


def columns(count: int, folder: str) -> dict[str, float]:
    """Train one step, and many."""
    names = [f"x{index}" for index in range(count)]
    values = np.random.default_rng(1).random((count, 4096), np.float32)
    described = [
        Column(name, "float", lambda row=row: row) for name, row in zip(names, values, strict=True)
    ]
    label = Column("y", "float", lambda: values[0])
    source = InMemory((*described, label), response="y", batch_size=128, epochs=None)

    def spent(steps: int) -> float:
        model = {
            "kind": "dnn_regressor",
            "hidden_units": [64, 32],
            "model_dir": f"{folder}/{steps}",
            "feature_columns": [{"kind": "numeric", "key": name} for name in names],
        }
        return processor_s(lambda: train(read(Model, model), RunSettings(), source, steps=steps))

    spent(2)
    first = spent(1)
    return {
        "seconds to the first step": first,
        f"seconds of {STEPS} steps": max(0.0, spent(STEPS) - first),
    }


def tasks(count: int, folder: str) -> dict[str, float]:
    """Supervise a job of fake tasks, which start, report fifty steps and end."""
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    acts = dict.fromkeys(("chief", "worker"), (("train", 50), ("finish", 50)))
    job = fake_job(Path(folder), acts, workers=count, evaluator=False)
    states: list[str] = []
    spent = processor_s(lambda: states.append(supervise(job)["state"]))
    assert states == ["done"], states
    return {"seconds of the supervisor": spent}


def lockstep(count: int, folder: str) -> dict[str, float]:
    """Let processes without TensorFlow compute steps, and wait for each other after each, or not.

    Others, which know nothing of each other, start this package and take one step.
    """
    del folder
    return {
        "seconds to the first step": _seconds_of_starts(count),
        "seconds of 2,000 steps": _seconds_of_steps(count, waits=True),
        "seconds of 2,000 steps without waiting": _seconds_of_steps(count, waits=False),
    }


def _seconds_of_starts(count: int) -> float:
    command = ["Rscript", str(Path(__file__).parents[1] / "start-up" / "first-step.R")]
    before = _seconds_of_children()
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(count)]
    assert [process.wait() for process in processes] == [0] * count
    return _seconds_of_children() - before


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds_of_steps(count: int, waits: bool) -> float:
    ends = {pair: multiprocessing.Pipe() for pair in _pairs(count)}
    results = multiprocessing.SimpleQueue()
    processes = [
        multiprocessing.Process(
            target=_take_steps,
            args=([ends[pair][pair.index(rank)] for pair in ends if rank in pair], waits, results),
        )
        for rank in range(count)
    ]
    for process in processes:
        process.start()
    spent = sum(results.get() for _ in processes)
    for process in processes:
        process.join()
    return spent


def _pairs(count: int) -> list[tuple[int, int]]:
    return [(first, second) for second in range(count) for first in range(second)]


def _take_steps(others: list[Connection], waits: bool, results: Any) -> None:
    arrays = [np.ones(ARRAY_BYTES // 4, np.float32) for _ in range(ARRAYS)]

    def meet() -> None:
        for other in others:
            other.send_bytes(b"done")
        for other in others:
            other.recv_bytes()

    def steps(taken: int) -> None:
        for _ in range(taken):
            for array in arrays:
                np.add(array, 1, out=array)
            if waits:
                meet()

    steps(50)
    meet()
    results.put(processor_s(lambda: steps(2 * STEPS)))


if __name__ == "__main__":
    # Processes of ``lockstep`` inherit their connections.
    multiprocessing.set_start_method("fork")
    with tempfile.TemporaryDirectory() as directory:
        measures = {"rows": rows, "columns": columns, "tasks": tasks, "lockstep": lockstep}
        found = measures[sys.argv[1]](int(sys.argv[2]), directory)
    print(json.dumps(found))
