"""Plot of the runs: ``plot.py RESULTS.jsonl PICTURE.png``, with the peers' Python, which has matplotlib."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

runs = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
cases: dict[str, dict[str, list[float]]] = {}
units: dict[str, str] = {}
for run in runs:
    if "case" in run:
        cases.setdefault(run["case"], {}).setdefault(run["way"], []).append(run["value"])
        units[run["case"]] = run["unit"]

heights = [len(ways) + 1.5 for ways in cases.values()]
figure, panels = plt.subplots(
    len(cases), 1, figsize=(9, 0.38 * sum(heights)), height_ratios=heights, squeeze=False
)
for panel, (case, ways) in zip(panels[:, 0], cases.items(), strict=True):
    names = list(ways)[::-1]
    middles = [statistics.median(ways[name]) for name in names]
    own = ["#1f6f8b" if name.startswith("tfdistribute") else "#b8c4c9" for name in names]
    panel.barh(names, middles, color=own)
    for place, name in enumerate(names):
        panel.plot(ways[name], [place] * len(ways[name]), "k|", markersize=6)
    panel.set_title(
        f"{case} ({units[case]}; bars are medians, strokes are runs)", fontsize=9, loc="left"
    )
    panel.tick_params(labelsize=8)
figure.tight_layout()
figure.savefig(sys.argv[2], dpi=110)
