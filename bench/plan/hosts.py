"""Planned and measured speeds of 2, 3 and 4 hosts, whose links have 1 and 10 Gbit/s, and 0.1 and 1 ms.

``hosts.py [UNITS [BATCH [GBIT ...]]]``; needs root, for network namespaces. The delay is one way, so that a message and
its answer take twice as long. All hosts share the cores of this machine, which the plan takes into account.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

from shaped_hosts import shaped_hosts

HOSTS, DELAYS_S, SECONDS = 4, (1e-4, 1e-3), 4
SCRIPT = Path(__file__).with_name("hosts.R")

units, batch, *gigabits = [*sys.argv[1:], *("1024", "192", "1", "10")[len(sys.argv) - 1 :]]
print("| link | hosts | planned | measured | planned / measured | limit |")
print("|---|---:|---:|---:|---:|---|")
for rate, delay_s in itertools.product(map(float, gigabits), DELAYS_S):
    with (
        tempfile.TemporaryDirectory() as directory,
        shaped_hosts(HOSTS, rate * 1e9, delay_s, Path(directory)) as (_, ssh),
    ):
        command = ["Rscript", str(SCRIPT), ssh, units, batch, str(SECONDS)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            _, hosts, planned, measured, limit = line.split()
            ratio = float(planned) / float(measured)
            link = f"{rate:g} Gbit/s, {delay_s * 1000:g} ms"
            print(
                f"| {link} | {hosts} | {float(planned):,.0f} | {float(measured):,.0f} | {ratio:.2f} | {limit} |",
                flush=True,
            )
