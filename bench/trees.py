"""Seconds of boosted trees beside LightGBM and XGBoost, and of two workers beside one process.

    tools/env python -m pip install --no-deps --target .environment/peers lightgbm narwhals scipy xgboost
    PEERS=.environment/peers tools/env python bench/trees.py [ROWS]

All ways grow 300 trees on the same rows, with two threads, and take turns. Then one process with one core and two with
one core each take turns. Prints medians, ratios to the first way, and root mean squared errors of other rows.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(os.environ.get("PEERS", "."))
# Threads that wait do not compute.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

COLUMNS, TREES, TURNS, THREADS = 20, 300, 3, 2
ROWS = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdecimal() else 100_000
RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(ROWS * 6 // 5, COLUMNS)).astype("float32")
Y = (X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3:10].sum(1)).astype("float32")
Y += RANDOM.normal(size=len(Y)).astype("float32") / 2


def described(part: slice, response: bool = True) -> dict[str, Any]:
    values = {f"x{place}": X[part, place].copy() for place in range(COLUMNS)}
    values |= {"y": Y[part].copy()} if response else {}
    columns = [
        {"name": name, "type": "float", "values": lambda each=each: each}
        for name, each in values.items()
    ]
    named = {"response": "y"} if response else {}
    return {"kind": "in_memory", "columns": columns, **named, "shuffle": False}


def call(name: str, threads: int, directory: str, trees: int = TREES, **arguments: Any) -> Any:
    # TensorFlow takes seconds to import.
    from tfdistribute import bridge  # noqa: PLC0415

    config = {"seed": 1, "session_config": {"intra_op_parallelism_threads": threads}}
    model = {"kind": "boosted_trees_regressor", "n_trees": trees, "validation": 0}
    estimator = {**model, "model_dir": directory, "config": config}
    answer = bridge.call(name, {"estimator": estimator, **arguments})
    assert "value" in answer, answer
    return answer["value"]


def own(threads: int = THREADS, trees: int = TREES) -> Callable[[Any], Any]:
    directory = tempfile.mkdtemp()
    call("train", threads, directory, trees, input=described(slice(ROWS)))

    def predict(part: slice) -> Any:
        found = call("predict", threads, directory, trees, input=described(part, response=False))
        return np.ravel(found["predictions"])

    return predict


def lightgbm() -> Callable[[Any], Any]:
    import lightgbm as library  # noqa: PLC0415

    settings = {"objective": "regression", "num_threads": THREADS, "verbose": -1}
    model = library.train(settings, library.Dataset(X[:ROWS], Y[:ROWS]), TREES)
    return lambda part: model.predict(X[part])


def xgboost() -> Callable[[Any], Any]:
    import xgboost as library  # noqa: PLC0415

    settings = {"learning_rate": 0.1, "nthread": THREADS}
    model = library.train(settings, library.DMatrix(X[:ROWS], Y[:ROWS]), TREES)
    return lambda part: model.predict(library.DMatrix(X[part]))


def show(seconds: Mapping[str, list[float]], errors: Mapping[str, float] | None = None) -> None:
    first = statistics.median(next(iter(seconds.values())))
    for name, each in seconds.items():
        median = statistics.median(each)
        line = f"{name:22} {median:7.2f} s ({min(each):.2f} to {max(each):.2f})  ratio {median / first:.2f}"
        print(line if errors is None else f"{line}  error {errors[name]:.4f}", flush=True)


def beside_others() -> None:
    ways = {"tfdistribute": own, "LightGBM": lightgbm, "XGBoost": xgboost}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    computed: dict[str, list[float]] = {f"{name}, computing": [] for name in ways}
    errors: dict[str, float] = {}
    own(trees=2)
    for turn in range(TURNS):
        for name in ways if turn % 2 == 0 else reversed(ways):
            began, before = time.monotonic(), time.process_time()
            predict = ways[name]()
            seconds[name].append(time.monotonic() - began)
            computed[f"{name}, computing"].append(time.process_time() - before)
            rest = slice(ROWS, None)
            errors[name] = float(np.sqrt(np.mean((predict(rest) - Y[rest]) ** 2)))
    show(seconds, errors)
    # Seconds of the processor vary less on a busy machine.
    show(computed)


def task(index: int, directory: Path) -> None:
    """Train as one task, with one core, when all tasks are ready."""
    os.sched_setaffinity(0, [index])
    tf_config = os.environ.pop("TF_CONFIG", None)
    own(threads=1, trees=2)
    (directory / f"ready-{index}").touch()
    while not (directory / "go").exists():
        time.sleep(0.01)
    if tf_config is not None:
        os.environ["TF_CONFIG"] = tf_config
    began = time.monotonic()
    call("train", 1, str(directory / "model"), input=described(slice(ROWS)))
    (directory / f"seconds-{index}").write_text(str(time.monotonic() - began))
    os._exit(0)


def processes(count: int) -> float:
    from tfdistribute.cluster.ports import free_ports  # noqa: PLC0415

    addresses = [f"127.0.0.1:{port}" for port in free_ports(count)]
    cluster = {"chief": addresses[:1], "worker": addresses[1:]}
    with tempfile.TemporaryDirectory() as directory:
        started: list[subprocess.Popen[bytes]] = []
        for index in range(count):
            role = (
                {"type": "worker", "index": index - 1} if index else {"type": "chief", "index": 0}
            )
            config = {"TF_CONFIG": json.dumps({"cluster": cluster, "task": role})}
            command = [sys.executable, __file__, str(ROWS), "task", str(index), directory]
            environment = {**os.environ, **(config if count > 1 else {})}
            started.append(subprocess.Popen(command, env=environment))
        while len(list(Path(directory).glob("ready-*"))) < count:
            assert all(each.poll() is None for each in started)
            time.sleep(0.1)
        Path(directory, "go").touch()
        for each in started:
            assert each.wait() == 0
        return float(Path(directory, "seconds-0").read_text())


if __name__ == "__main__":
    if "task" in sys.argv:
        task(int(sys.argv[3]), Path(sys.argv[4]))
    beside_others()
    seconds: dict[str, list[float]] = {"one process": [], "two workers": []}
    for _ in range(TURNS):
        for count, each in enumerate(seconds.values(), 1):
            each.append(processes(count))
    show(seconds)
