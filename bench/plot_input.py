"""Plot of file inputs: ``plot_input.py RESULTS.json PICTURE.png [BEFORE.json]``, with the peers' Python.

The files are written by ``input.py --json``. To measure an earlier version, run this ``input.py`` in its checkout.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

RATIO, WANTED = "shuffled / reader", 0.8


def ratios(path: str) -> dict[str, float]:
    """Return the speed of each case, shuffled, as a multiple of the reader's."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    return {f"{each['format']}, {each['rows']}": each[RATIO] for each in found}


now = ratios(sys.argv[1])
before = ratios(sys.argv[3]) if len(sys.argv) > 3 else {}
names = list(now)[::-1]
figure, panel = plt.subplots(figsize=(7, 0.26 * len(names) + 1))
colors = ["#1f6f8b" if now[name] >= WANTED else "#b8c4c9" for name in names]
panel.barh(names, [now[name] for name in names], color=colors)
known = [name for name in names if name in before]
panel.plot([before[name] for name in known], known, "k|", markersize=9)
panel.axvline(WANTED, color="black", linewidth=0.8, linestyle=":")
panel.set_xscale("log")
panel.set_ylim(-0.7, len(names) - 0.3)
panel.set_xticks([0.25, 0.5, 0.8, 1, 2, 4], ["0.25", "0.5", "0.8", "1", "2", "4"])
panel.minorticks_off()
panel.set_title(
    f"shuffled / reader in the same step (dotted: goal{', strokes: before' if before else ''})",
    fontsize=9,
    loc="left",
)
panel.tick_params(labelsize=8)
figure.tight_layout()
figure.savefig(sys.argv[2], dpi=90)
