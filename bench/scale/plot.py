"""Plot of one curve: ``plot.py NAME.json PICTURE.png``, with the peers' Python, which has matplotlib."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

path = Path(sys.argv[1])
figure, panel = plt.subplots(figsize=(6, 4))
for cost, points in json.loads(path.read_text(encoding="utf-8")).items():
    sizes, values = zip(*points, strict=True)
    (line,) = panel.loglog(sizes, values, "o-", label=cost)
    # What a linear cost would be, from the largest size; those of size 1 are subtracted.
    linear = [values[-1] * (size - 1) / (sizes[-1] - 1) for size in sizes]
    panel.loglog(sizes, linear, ":", color=line.get_color(), linewidth=1)
panel.set_xlabel(path.stem)
panel.set_title("dotted: linear", fontsize=9, loc="left")
panel.legend(fontsize=8)
figure.tight_layout()
figure.savefig(sys.argv[2], dpi=80)
