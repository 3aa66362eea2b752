"""Runner of the measurements, called by ``tools/bench``: ``run.py [--quick | --all] [NAME ...]``.

``run.py --table FOLDER FOLDER`` prints the worst of several runs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import report
from cases import CASES, PEERS, SCRIPTS, Case
from processes import BENCH, ROOT, WayError, python_of, running
from results import Results, read

RESULTS = ROOT / "runs" / "bench"


def measure(case: Case, repeats: int, results: Results, folder: Path) -> dict[str, list[float]]:
    """Let the ways of a case take turns, so that other load on the machine affects all of them."""
    values: dict[str, list[float]] = {}
    logs = folder / case.name
    logs.mkdir(exist_ok=True)
    with running(case.ways, logs) as scripts:
        for repeat in range(repeats):
            for script in [each for each in scripts if repeat < (each.way.turns or repeats)]:
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
    """Run a script that prints its own results."""
    print(f"\n== {' '.join(script)}", flush=True)
    program = ["Rscript"] if script[0].endswith(".R") else ["python"]
    command = [*program, str(BENCH / script[0]), *script[1:]]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
        )
    except subprocess.TimeoutExpired:
        print("  left out: not done after 15 minutes", flush=True)
        return
    (folder / f"{script[0].replace('/', '-')}.txt").write_text(
        done.stdout + done.stderr, encoding="utf-8"
    )
    print(done.stdout.strip() if done.returncode == 0 else done.stderr.strip()[-1000:], flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the measurements under bench/.")
    parser.add_argument(
        "names", nargs="*", help="cases or scripts; without any, those of make bench"
    )
    parser.add_argument("--all", action="store_true", help="every case")
    parser.add_argument("--quick", action="store_true", help="fewer cases and turns")
    parser.add_argument("--repeats", type=int, help="turns of each way")
    parser.add_argument(
        "--table", action="store_true", help="the worst of the runs in these folders"
    )
    return parser.parse_args()


def checked(names: list[str]) -> list[str]:
    """Return the names, or exit if one is neither a case nor a script."""
    unknown = set(names) - {case.name for case in CASES} - {script[0] for script in SCRIPTS}
    if unknown:
        sys.exit(f"bench: there is no {' or '.join(sorted(unknown))}; see bench/README.md")
    return names


def chosen(asked: argparse.Namespace) -> list[tuple[Case, int]]:
    """Return the cases to measure, with their numbers of turns."""
    if asked.quick:
        turns = {case.name: case.quick for case in CASES}
    else:
        everything = asked.all or asked.names
        turns = {case.name: case.repeats if everything or case.usual else 0 for case in CASES}
    cases = [case for case in CASES if not asked.names or case.name in asked.names]
    return [(case, asked.repeats or turns[case.name]) for case in cases if turns[case.name]]


def worst_of(folders: list[Path]) -> list[str]:
    """Return the report of the worst of several runs; its last section sums up the goals."""
    runs = [read(folder) for folder in folders]
    sections = [report.described(machine) for machine, _ in runs]
    verdicts: dict[str, list[report.Verdict]] = {}
    for case in CASES:
        found = [values[case.name] for _, values in runs if case.name in values]
        if found:
            sections.append(report.table(case, found))
            verdicts[case.name] = report.verdicts(case, found)
    return [*sections, report.summary(verdicts)]


def picture(results: Path, folder: Path) -> None:
    """Plot the runs, if the peers' environment exists."""
    if python_of(PEERS).exists():
        script = BENCH / "suite" / "plot.py"
        subprocess.run([python_of(PEERS), script, results, folder / "picture.png"], check=False)


def run(asked: argparse.Namespace, names: list[str]) -> None:
    """Measure, and write results, table and picture below ``runs/bench``."""
    began = time.monotonic()
    folder = RESULTS / time.strftime("%Y-%m-%d-%H%M%S")
    folder.mkdir(parents=True)
    results = Results(folder, report.machine())
    for case, repeats in chosen(asked):
        print(f"\n{case.name}: {repeats} turns of {len(case.ways)} ways", flush=True)
        values = measure(case, repeats, results, folder)
        if values:
            print(report.table(case, [values]), flush=True)
        print(f"  ({time.monotonic() - began:.0f} s since the start)", flush=True)
    for script in SCRIPTS:
        if script[0] in names:
            show_script(script, folder)
    sections = worst_of([folder])
    (folder / "table.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    if len(sections) > 2:
        picture(results.path, folder)
        print(f"\n{sections[-1]}")
    print(f"\n{folder.relative_to(ROOT)}: table.md, picture.png, results.jsonl", flush=True)


def main() -> None:
    """Measure, or print the worst of earlier runs."""
    asked = arguments()
    if asked.table:
        print("\n\n".join(worst_of([Path(folder) for folder in asked.names])))
    else:
        run(asked, checked(asked.names))


if __name__ == "__main__":
    sys.exit(main())
