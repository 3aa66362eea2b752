"""Curves of cost against size: rows of a file, columns, tasks of a job, and workers.

    tools/env python bench/scale/curves.py [--full] [rows] [columns] [tasks] [lockstep] [workers]

Processes that share cores cost more than linear: each finds its caches filled by the others. ``lockstep`` measures
that with steps of processes that have no TensorFlow, but wait for each other after each step, and with the start of
processes that train alone. The steps and the start of workers may be as steep.

Each point is measured in a process of its own, those of columns, lockstep and workers in three, of which the least
counts. Costs are seconds of processor time, which other work on the machine changes little, and the memory of workers.
The cost of the smallest size, which is that of starting, is subtracted. A curve's exponent is the slope of the line
through its larger half, on logarithmic axes, of this cost against what the size has more than the smallest: 1 is
linear. The table is printed, and a picture of each curve written to ``runs/bench/scale``. ``--full`` goes on to 10^8
rows, 8 workers and 64 tasks, in about 16 minutes, and replaces the pictures in ``bench/scale``. Files are sparse: 10^8
rows of zeros take no space.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "runs" / "bench" / "scale"
PEERS = ROOT / ".environment" / "bench" / "bin" / "python"
# How much exponents vary.
VARIATION = 0.15


@dataclass(frozen=True)
class Curve:
    """Sizes, and what is measured of each.

    Args:
        sizes: From small to large; the first is subtracted from the others.
        full: Further sizes, with ``--full``.
        script: Script that prints the costs of a size as JSON, by name.
        repeats: Processes of each size.
        most: Largest exponent, to which ``VARIATION`` is added; a cost may be as steep as in an earlier curve.
    """

    sizes: tuple[int, ...]
    full: tuple[int, ...]
    script: str
    repeats: int = 1
    most: float = 1.0


CURVES = {
    "rows": Curve((1, 10**4, 10**5, 10**6, 10**7), (10**8,), "points.py"),
    "columns": Curve((1, 10, 100, 500, 1000, 2000), (), "points.py", repeats=3),
    "tasks": Curve((1, 2, 4, 8, 16), (32, 64), "points.py"),
    "lockstep": Curve((1, 2, 4), (8,), "points.py", repeats=3, most=math.inf),
    "workers": Curve((1, 2, 4), (8,), "workers.R", repeats=3),
}
# Cost of a size that was measured as no more than that of the smallest; no line goes through it.
LEAST = 1e-3

Points = dict[str, list[tuple[int, float]]]


def _measured_once(name: str, size: int) -> dict[str, float]:
    script = HERE / CURVES[name].script
    program = "Rscript" if script.suffix == ".R" else sys.executable
    path = os.pathsep.join(str(ROOT / each) for each in ("inst/python", "tests/python"))
    done = subprocess.run(
        [program, str(script), name, str(size)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"},
        timeout=3600,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measured(name: str, sizes: Sequence[int]) -> Points:
    """Return the costs of all sizes beyond the first, by what they are costs of.

    Sizes take turns, because the machine may be slower for minutes.
    """
    turns = [
        {size: _measured_once(name, size) for size in sizes} for _ in range(CURVES[name].repeats)
    ]

    def least(size: int, cost: str) -> float:
        return min(turn[size][cost] for turn in turns)

    first, *others = sizes
    return {
        cost: [(size, max(least(size, cost) - least(first, cost), LEAST)) for size in others]
        for cost in turns[0][first]
    }


def exponent(points: Sequence[tuple[int, float]], least: int) -> float:
    """Return the slope of the larger half of the costs, beyond those of the least size, on logarithmic axes."""
    larger = [point for point in points[len(points) // 2 - 1 :] if point[1] > LEAST]
    logs = [(math.log(size - least), math.log(value)) for size, value in larger]
    x = sum(one for one, _ in logs) / len(logs)
    y = sum(other for _, other in logs) / len(logs)
    return sum((one - x) * (other - y) for one, other in logs) / sum(
        (one - x) ** 2 for one, _ in logs
    )


def main() -> None:
    """Measure, print a table of exponents and plot; exit with 1 if a curve rises faster than its size."""
    asked = argparse.ArgumentParser(description="Curves of cost against size.")
    asked.add_argument("--full", action="store_true", help="10^8 rows, 8 workers and 64 tasks")
    asked.add_argument("names", nargs="*", help=f"of {', '.join(CURVES)}; all without")
    given = asked.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    too_steep = False
    slopes: dict[str, float] = {}
    print("| Cost | smallest | largest | exponent |\n|---|---:|---:|---:|")
    for name in given.names or CURVES:
        curve = CURVES[name]
        points = measured(name, curve.sizes + (curve.full if given.full else ()))
        results = RESULTS / f"{name}.json"
        results.write_text(json.dumps(points), encoding="utf-8")
        for cost, found in points.items():
            slope = exponent(found, curve.sizes[0])
            too_steep |= slope > max(curve.most, slopes.get(cost, 0)) + VARIATION
            slopes[cost] = slope
            ends = [f"{size:,}: {value:.3g}" for size, value in (found[0], found[-1])]
            print(f"| {name}: {cost} | {ends[0]} | {ends[1]} | {slope:.2f} |", flush=True)
        if PEERS.exists():
            picture = (HERE if given.full else RESULTS) / f"{name}.png"
            subprocess.run([PEERS, HERE / "plot.py", results, picture], check=True)
    sys.exit(1 if too_steep else 0)


if __name__ == "__main__":
    main()
