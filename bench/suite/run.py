"""Run the measurements: ``run.py [--quick] [NAME ...]``; ``tools/bench`` calls it.

Ways of a case take turns, A B A B, so that a busy minute of the machine meets all of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import report
from cases import CASES, SCRIPTS, Case
from processes import BENCH, PEERS, ROOT, WayError, running

RESULTS = ROOT / "runs" / "bench"


class Results:
    """One JSON line per run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results.jsonl"
        self._file = self.path.open("w", encoding="utf-8")

    def add(self, **run: Any) -> None:
        self._file.write(json.dumps(run) + "\n")
        self._file.flush()


def measure(case: Case, repeats: int, results: Results, folder: Path) -> dict[str, list[float]]:
    """Let the ways of a case take turns."""
    values: dict[str, list[float]] = {}
    logs = folder / case.name
    logs.mkdir(exist_ok=True)
    with running(case.ways, logs) as scripts:
        for repeat in range(repeats):
            for script in list(scripts):
                try:
                    answer = script.measure(script.way.amount)
                except WayError as failure:
                    print(f"  left out: {failure}", flush=True)
                    scripts.remove(script)
                    continue
                name = script.way.name
                values.setdefault(name, []).append(answer["value"])
                results.add(case=case.name, way=name, repeat=repeat, unit=case.unit, **answer)
    return values


def show_script(script: tuple[str, ...], folder: Path) -> None:
    """Run a script that measures and prints by itself."""
    print(f"\n== {' '.join(script)}", flush=True)
    program = ["Rscript"] if script[0].endswith(".R") else ["python"]
    done = subprocess.run(
        [*program, str(BENCH / script[0]), *script[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    (folder / f"{script[0]}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    print(done.stdout.strip() if done.returncode == 0 else done.stderr.strip()[-1000:], flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the measurements under bench/.")
    parser.add_argument("names", nargs="*", help="cases; all without")
    parser.add_argument("--quick", action="store_true", help="fewer cases and turns")
    parser.add_argument("--repeats", type=int, help="turns of each way")
    return parser.parse_args()


def main() -> None:
    """Measure, and leave results, table and picture below ``runs/bench``."""
    asked = arguments()
    folder = RESULTS / time.strftime("%Y-%m-%d-%H%M%S")
    folder.mkdir(parents=True)
    results, where = Results(folder), report.machine()
    results.add(machine=where)
    sections = [report.described(where)]
    chosen = [case for case in CASES if case.name in asked.names or not asked.names]
    for case in chosen:
        repeats = asked.repeats or (case.quick if asked.quick else case.repeats)
        if repeats and (not asked.quick or case.quick):
            print(f"\n{case.name}: {repeats} turns of {len(case.ways)} ways", flush=True)
            values = measure(case, repeats, results, folder)
            if values:
                sections.append(report.table(case, values))
                print(sections[-1], flush=True)
    (folder / "table.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    picture = folder / "picture.png"
    if PEERS.exists():
        plot = [str(PEERS), str(BENCH / "suite" / "plot.py"), str(results.path), str(picture)]
        subprocess.run(plot, check=False)
    if not asked.quick:
        scripts = [each for each in SCRIPTS if not asked.names or each[0] in asked.names]
        for script in scripts:
            if (BENCH / script[0]).exists():
                show_script(script, folder)
    print(f"\n{folder.relative_to(ROOT)}: table.md, picture.png, results.jsonl", flush=True)


if __name__ == "__main__":
    sys.exit(main())
