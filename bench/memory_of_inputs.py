"""Memory that training takes on large sources: files of 10 GB, and more than 2 GB of data in memory.

    tools/env python bench/memory_of_inputs.py [--full | --quick]

Each case trains a linear regressor with the package's train() in a process of its own, and prints its peak of resident
memory. ``beyond_mb`` is the difference to the same training on a file of 1 MB, which is TensorFlow's own share. Files
hold zeros; the Parquet file is compressed, so it takes less space on disk than as rows in memory. Only ``--full``
checks the promised limit, 1 GB of memory for files of 10 GB. Files have 1 GB by default, and 256 MB with ``--quick``,
which leaves out data in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tfdistribute.descriptions import read
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.storage.buckets import arrow_module
from tfdistribute.training.train import train

WIDTH = 20
ROW_BYTES = 4 * (WIDTH + 1)
BATCH = 4096
MEGABYTE = 2**20
# For files. Data in memory takes one copy of itself, and another while it is packed.
LIMIT_MB = 1024


def arrow(rows: int, folder: str) -> dict[str, Any]:
    """Write record batches of about 2 MB, as write_arrow() does."""
    table, path = zeros(min(rows, 2**15)), f"{folder}/data.arrow"
    with arrow_module("pyarrow.ipc").new_file(path, table.schema) as out:
        for _ in range(rows // len(table)):
            out.write_table(table)
    return {"kind": "arrow", "paths": path}


def zeros(rows: int) -> Any:
    pyarrow = arrow_module("pyarrow")
    x = pyarrow.FixedSizeListArray.from_arrays(np.zeros(rows * WIDTH, np.float32), WIDTH)
    return pyarrow.table({"y": np.zeros(rows, np.float32), "x": x})


def parquet(rows: int, folder: str) -> dict[str, Any]:
    """Write row groups of a million rows, pyarrow's default."""
    table = zeros(min(rows, 2**20))
    with arrow_module("pyarrow.parquet").ParquetWriter(
        f"{folder}/data.parquet", table.schema
    ) as out:
        for _ in range(rows // len(table)):
            out.write_table(table)
    return {"kind": "parquet", "paths": f"{folder}/data.parquet"}


def in_memory(rows: int, _folder: str) -> dict[str, Any]:
    columns = [
        {"name": "y", "type": "float", "values": lambda: np.zeros(rows, np.float32)},
        {
            "name": "x",
            "type": "float",
            "values": lambda: np.zeros((rows, WIDTH), np.float32),
            "shape": [WIDTH],
        },
    ]
    return {"kind": "in_memory", "columns": columns}


CASES: dict[str, Callable[[int, str], dict[str, Any]]] = {
    "Arrow": arrow,
    "parquet": parquet,
    "in memory": in_memory,
}


def trained(case: str, megabytes: int, folder: str) -> dict[str, Any]:
    rows = max(1, megabytes * MEGABYTE // ROW_BYTES)
    source = {**CASES[case](rows, folder), "response": "y", "batch_size": BATCH}
    model = {
        "kind": "linear_regressor",
        "model_dir": f"{folder}/model",
        "feature_columns": [{"kind": "numeric", "key": "x", "shape": [WIDTH]}],
    }
    start = time.perf_counter()
    train(read(Model, model), read(RunSettings, {}), read(Input, source))
    seconds = time.perf_counter() - start
    written = sum(path.stat().st_size for path in Path(folder, "model").rglob("*"))
    return {
        "case": case,
        "megabytes": megabytes,
        "rows": rows,
        "seconds": round(seconds, 1),
        "peak_mb": round(peak_mb()),
        "model_dir_mb": round(written / MEGABYTE, 2),
    }


def peak_mb() -> float:
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def in_child(case: str, megabytes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, __file__, "--case", case, str(megabytes), folder],
            stdout=subprocess.PIPE,
            check=True,
            timeout=3600,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
        )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure and print a table; exit with 1 if a file takes more than the limit."""
    asked = argparse.ArgumentParser(description="Memory of inputs.")
    asked.add_argument("--quick", action="store_true", help="256 MB")
    asked.add_argument("--full", action="store_true", help="10 GB of files, 2.5 GB in memory")
    asked.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.case:
        print(json.dumps(trained(given.case[0], int(given.case[1]), given.case[2])))
        return
    size = 10_240 if given.full else 256 if given.quick else 1024
    sizes = {"Arrow": size, "parquet": size}
    if not given.quick:
        sizes["in memory"] = 2560 if given.full else 512
    results: list[dict[str, Any]] = []
    for case, megabytes in sizes.items():
        least = in_child(case, 1)["peak_mb"]
        found = in_child(case, megabytes)
        found["beyond_mb"] = found["peak_mb"] - least
        results.append(found)
        print(json.dumps(found), flush=True)
    print(f"\n{'source':14}{'MB':>7}{'peak MB':>9}{'beyond':>8}{'model_dir':>11}{'rows/s':>12}")
    for found in results:
        print(
            f"{found['case']:14}{found['megabytes']:>7}{found['peak_mb']:>9}{found['beyond_mb']:>8}"
            f"{found['model_dir_mb']:>11}{found['rows'] / found['seconds']:>12,.0f}"
        )
    too_much = [
        each for each in results if each["case"] != "in memory" and each["peak_mb"] > LIMIT_MB
    ]
    sys.exit(1 if too_much else 0)


if __name__ == "__main__":
    main()
