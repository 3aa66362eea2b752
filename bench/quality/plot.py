"""Plot of scores against time: ``plot.py LOG PICTURE.png``, with the peers' Python. LOG is the output of ``run.R``.

A point is a way: seconds of wall time, and how far its scores are from the best of each table, both in the geometric
mean over the tables that all ways have.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

LINE = re.compile(r"^(\w+) +(\w+) +seed \d+ +([\d.]+) +([\d.]+) s,", re.MULTILINE)
LABELS = {
    "tabular": "tabular_*()",
    "linear": "lm or glm",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "sklearn_gbm": "histogram boosting",
    "sklearn_mlp": "MLP of scikit-learn",
    "realmlp": "RealMLP",
}

found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
for table, way, score, seconds in LINE.findall(Path(sys.argv[1]).read_text(encoding="utf-8")):
    found[way, table].append((float(score), float(seconds)))
means = {
    key: [statistics.fmean(each) for each in zip(*fits, strict=True)] for key, fits in found.items()
}
ways = sorted({way for way, _ in means})
tables = [
    table
    for table in sorted({table for _, table in means})
    if all((way, table) in means for way in ways)
]
figure, panel = plt.subplots(figsize=(7, 4))
for way in ways:
    lost = [means[way, each][0] / min(means[other, each][0] for other in ways) for each in tables]
    # run.R rounds to tenths.
    seconds = statistics.geometric_mean(max(0.1, means[way, each][1]) for each in tables)
    place = seconds, 100 * (statistics.geometric_mean(lost) - 1)
    panel.plot(*place, "o", color="#1f6f8b" if way == "tabular" else "#8a979c")
    offset = 6, -11 if way == "lightgbm" else 4
    panel.annotate(LABELS.get(way, way), place, offset, textcoords="offset points", fontsize=8)
panel.set_xscale("log")
panel.set_xticks([0.3, 1, 3, 10, 30, 100], ["0.3", "1", "3", "10", "30", "100"])
panel.minorticks_off()
panel.set_ylim(bottom=0)
panel.margins(x=0.2)
panel.set_xlabel("seconds on two cores", fontsize=8)
panel.set_title(
    f"percent worse than the best way, mean of {len(tables)} tables", fontsize=9, loc="left"
)
panel.tick_params(labelsize=8)
figure.tight_layout()
figure.savefig(sys.argv[2], dpi=90)
