"""Runner of the measurements, called by ``tools/bench``: ``run.py [--quick | --all | --passes] [NAME ...]``.

``run.py --table FOLDER FOLDER`` prints the worst of several runs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import passes
import report
from cases import CASES, PEERS, SCRIPTS, Case
from processes import BENCH, ROOT, Running, WayError, python_of, running
from results import Results, read

RESULTS = ROOT / "runs" / "bench"
# Processes that start at once: as many as the largest case has, or more if there is memory for each.
AT_ONCE = 11
GB_OF_PROCESS = 1.5
# How often a case takes its turns again whose goals are not decided.
MORE_ROUNDS = 2


def measure(
    group: Sequence[tuple[Case, int]],
    scripts: Mapping[str, list[Running]],
    results: Results,
    values: dict[str, dict[str, list[float]]],
) -> None:
    """Let the ways of each case take turns, so that other load on the machine affects all of them; add to ``values``.

    The turns of a case are spread over the time of its group: a machine may be slow for a minute.
    """
    for case, repeat in spread(group):
        # There and back: what comes later in a turn may find the machine slower.
        for script in scripts[case.name][:: -1 if repeat % 2 else 1]:
            try:
                answer = script.measure(script.way.amount)
            except WayError as failure:
                print(f"  left out: {failure}", flush=True)
                scripts[case.name].remove(script)
                continue
            name = script.way.name
            values[case.name].setdefault(name, []).append(answer["value"])
            results.add(case=case.name, way=name, repeat=repeat, unit=case.unit, **answer)


def measure_until_decided(
    group: Sequence[tuple[Case, int]], scripts: Mapping[str, list[Running]], results: Results
) -> dict[str, dict[str, list[float]]]:
    """Measure, and again as many turns of the cases with a goal that is neither reached nor missed clearly."""
    values: dict[str, dict[str, list[float]]] = {case.name: {} for case, _ in group}
    measure(group, scripts, results, values)
    for _ in range(MORE_ROUNDS):
        group = [
            (case, repeats)
            for case, repeats in group
            if any(each.is_open for each in report.verdicts(case, [values[case.name]]))
        ]
        if group:
            names = ", ".join(case.name for case, _ in group)
            print(f"more turns, because the range of a goal includes it: {names}", flush=True)
        measure(group, scripts, results, values)
    return values


def spread(group: Sequence[tuple[Case, int]]) -> list[tuple[Case, int]]:
    """Return the turns of cases with different numbers of turns, in the order in which they are taken."""
    turns = [
        ((repeat + 0.5) / repeats, case, repeat)
        for case, repeats in group
        for repeat in range(repeats)
    ]
    return [(case, repeat) for _, case, repeat in sorted(turns, key=lambda turn: turn[0])]


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
    parser.add_argument(
        "--passes", action="store_true", help="what each pass over a training step gains"
    )
    parser.add_argument("--repeats", type=int, help="turns of each way")
    parser.add_argument(
        "--table", action="store_true", help="the worst of the runs in these folders"
    )
    return parser.parse_args()


def checked(names: list[str]) -> list[str]:
    """Return the names, or exit if one is neither a case nor a script."""
    known = {case.name for case in (*CASES, *passes.cases())}
    unknown = set(names) - known - {script[0] for script in SCRIPTS}
    if unknown:
        sys.exit(f"bench: there is no {' or '.join(sorted(unknown))}; see bench/README.md")
    return names


def chosen(asked: argparse.Namespace) -> list[tuple[Case, int]]:
    """Return the cases to measure, with their ways and their numbers of turns."""
    everything = bool(asked.all or asked.names) and not asked.quick
    found: list[tuple[Case, int]] = []
    for case in passes.cases() if asked.passes else CASES:
        turns = case.quick if asked.quick else case.repeats if everything or case.usual else 0
        if turns and (not asked.names or case.name in asked.names):
            ways = tuple(way for way in case.ways if everything or way.usual)
            found.append((replace(case, ways=ways), asked.repeats or turns))
    return found


def groups(cases: Sequence[tuple[Case, int]], most: int) -> list[list[tuple[Case, int]]]:
    """Return the cases in groups whose processes start at once, because much of a start leaves a core idle."""
    found: list[list[tuple[Case, int]]] = []
    for case, repeats in cases:
        if found and sum(len(each.ways) for each, _ in [*found[-1], (case, 0)]) <= most:
            found[-1].append((case, repeats))
        else:
            found.append([(case, repeats)])
    return found


def worst_of(folders: list[Path]) -> list[str]:
    """Return the report of the worst of several runs; its last section sums up the goals."""
    runs = [read(folder) for folder in folders]
    sections = [report.described(machine) for machine, _ in runs]
    verdicts: dict[str, list[report.Verdict]] = {}
    for case in (*CASES, *passes.cases()):
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
    machine = report.machine()
    results = Results(folder, machine)
    for group in groups(chosen(asked), max(AT_ONCE, int(machine["memory_gb"] / GB_OF_PROCESS))):
        cases = [case for case, _ in group]
        print(f"\nstarting {', '.join(case.name for case in cases)}", flush=True)
        with running(cases, folder) as scripts:
            so_far = time.monotonic() - began
            print(f"measuring ({so_far:.0f} s so far)", flush=True)
            found = measure_until_decided(group, scripts, results)
        for case in cases:
            turns = max(map(len, found[case.name].values()), default=0)
            print(f"\n{case.name}: {turns} turns of {len(case.ways)} ways", flush=True)
            if found[case.name]:
                print(report.table(case, [found[case.name]]), flush=True)
    for script in SCRIPTS:
        if script[0] in names:
            show_script(script, folder)
    sections = worst_of([folder])
    (folder / "table.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    if len(sections) > 2 and not asked.passes:
        picture(results.path, folder)
        print(f"\n{sections[-1]}")
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    print(
        f"\n{minutes} min {seconds} s; table.md, picture.png and results.jsonl are in {folder.relative_to(ROOT)}"
    )


def main() -> None:
    """Measure, or print the worst of earlier runs."""
    asked = arguments()
    if asked.table:
        print("\n\n".join(worst_of([Path(folder) for folder in asked.names])))
    else:
        run(asked, checked(asked.names))


if __name__ == "__main__":
    sys.exit(main())
