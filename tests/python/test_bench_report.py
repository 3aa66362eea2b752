"""Tests of the report that ``tools/bench`` prints of its runs."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tfdistribute.engine.step.passes import PASSES

SUITE = Path(__file__).parents[2] / "bench" / "suite"
MODULES = ("cases", "passes", "processes", "report", "results", "run", "way")


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The modules of bench/suite, which are scripts beside each other."""
    monkeypatch.syspath_prepend(str(SUITE))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    for name in MODULES:
        del sys.modules[name]


def case(suite: Any, *goals: tuple[str, str | None, float], **settings: Any) -> Any:
    ways = tuple(suite.cases.Way(name, ("script.py",), 1) for name in ("theirs", "ours"))
    given = tuple(suite.cases.Goal(*goal) for goal in goals)
    return suite.cases.Case("case", "Title", "rows per second", ways, given, **settings)


def run(ours: Sequence[float], theirs: Sequence[float] = (100, 100, 100)) -> dict[str, Any]:
    return {"theirs": list(theirs), "ours": list(ours)}


def write(suite: Any, folder: Path, name: str, values: Mapping[str, Sequence[float]]) -> Path:
    folder.mkdir()
    results = suite.results.Results(folder, suite.report.machine())
    for way, found in values.items():
        for repeat, value in enumerate(found):
            results.add(case=name, way=way, repeat=repeat, unit="", value=value, seconds=1.0)
    return folder


def test_a_goal_is_judged_by_the_median_ratio_of_neighbouring_turns(suite: Any):
    twice_as_fast = run((200, 2000, 20), theirs=(100, 1000, 10))
    (verdict,) = suite.report.verdicts(case(suite, ("ours", "theirs", 2.0)), [twice_as_fast])
    assert str(verdict) == "ours / theirs: 2.00 (2.00 to 2.00) (goal 2, reached)"


def test_a_goal_of_two_runs_is_judged_by_the_worse_one(suite: Any):
    runs = [run((300, 300, 300)), run((190, 190, 190))]
    (verdict,) = suite.report.verdicts(case(suite, ("ours", "theirs", 2.0)), runs)
    found = "3.00 (3.00 to 3.00) and 1.90 (1.90 to 1.90)"
    assert str(verdict) == f"ours / theirs: {found} (goal 2, **missed**)"


def test_a_goal_may_be_a_number_of_one_way(suite: Any):
    (verdict,) = suite.report.verdicts(case(suite, ("ours", None, 150.0)), [run((100, 160, 170))])
    assert str(verdict) == "ours: 160.00 (100.00 to 170.00) (goal 150, reached)"


def test_a_goal_is_missed_only_if_the_interval_of_the_median_lies_below_it(suite: Any):
    given = case(suite, ("ours", None, 150.0))
    (verdict,) = suite.report.verdicts(given, [run((100, 140, 160))])
    assert (verdict.is_reached, verdict.is_missed, verdict.is_open) == (False, False, True)
    assert str(verdict) == "ours: 140.00 (100.00 to 160.00) (goal 150, not decided)"
    (verdict,) = suite.report.verdicts(given, [run((100, 140, 149))])
    assert (verdict.is_reached, verdict.is_missed, verdict.is_open) == (False, True, False)


# Probability that the median lies outside, by the tails of a binomial distribution.
@pytest.mark.parametrize(
    ("turns", "ends"), [(3, (1, 3)), (6, (1, 6)), (9, (2, 8)), (12, (3, 10)), (15, (4, 12))]
)
def test_the_interval_of_more_turns_leaves_out_the_ends(
    suite: Any, turns: int, ends: tuple[int, int]
):
    assert suite.report.interval(range(1, turns + 1)) == ends


def test_only_cases_whose_goals_are_not_decided_get_more_turns(suite: Any):
    decided, undecided = case(suite, ("ours", None, 5.0)), case(suite, ("ours", None, 15.0))
    undecided = dataclasses.replace(undecided, name="open")
    taken: list[str] = []

    def script(name: str, way: Any) -> SimpleNamespace:
        def measure(amount: int) -> dict[str, float]:
            taken.append(name)
            return {"value": 10.0 + 10 * (len(taken) % 2)}

        return SimpleNamespace(way=way, measure=measure)

    group = [(decided, 3), (undecided, 3)]
    scripts = {each.name: [script(each.name, way) for way in each.ways] for each, _ in group}
    results = SimpleNamespace(add=lambda **turn: None)
    values = suite.run.measure_until_decided(group, scripts, results)
    assert [len(each) for each in values["case"].values()] == [3, 3]
    assert [len(each) for each in values["open"].values()] == [9, 9]


def test_a_goal_whose_ways_were_left_out_is_not_reached(suite: Any):
    (verdict,) = suite.report.verdicts(
        case(suite, ("ours", "theirs", 1.0)), [{"ours": [1.0, 1.0, 1.0]}]
    )
    assert str(verdict) == "ours / theirs (goal 1, **not measured**)"
    assert not verdict.is_reached


def test_the_table_shows_the_run_that_is_furthest_from_a_goal(suite: Any):
    # Faster in the second run, but nearer to what it is compared with.
    runs = [run((300, 310, 320)), run((900, 910, 920), theirs=(800, 800, 800))]
    table = suite.report.table(case(suite, ("ours", "theirs", 2.0)), runs)
    assert "| ours | 910 | 900 to 920 | 1.14 |" in table
    assert "- ours / theirs: 3.10 (3.00 to 3.20) and 1.14 (1.12 to 1.15) (goal 2, **missed" in table


@pytest.mark.parametrize(("lower_is_better", "shown"), [(False, 300), (True, 400)])
def test_without_goals_the_table_shows_the_slower_run(
    suite: Any, lower_is_better: bool, shown: int
):
    runs = [run((300, 300, 300)), run((400, 400, 400))]
    table = suite.report.table(case(suite, lower_is_better=lower_is_better), runs)
    assert f"| ours | {shown} |" in table


def test_the_report_of_two_folders_sums_up_the_goals_of_both(suite: Any, tmp_path: Path):
    measured = next(each for each in suite.cases.CASES if len(each.goals) > 1)
    goal = measured.goals[0]
    ways = {way.name: [1.0, 1.0, 1.0] for way in measured.ways}
    enough = {**ways, goal.way: [100.0, 100.0, 100.0]}
    folders = [
        write(suite, tmp_path / str(index), measured.name, values)
        for index, values in enumerate((enough, ways))
    ]
    *_, summed_up = suite.run.worst_of(folders)
    missed = [line for line in summed_up.splitlines() if line.startswith("- ")]
    total = len(measured.goals)
    assert summed_up.startswith(
        f"**{total - len(missed)} of {total} goals reached, {len(missed)} missed**"
    )
    assert (
        f"- {measured.name}: {goal.way} / {goal.other}: 100.00 (100.00 to 100.00) and 1.00 (1.00 to 1.00) "
        f"(goal {goal.at_least:g}, **missed**)" in missed
    )


def test_the_turns_of_a_case_are_spread_over_the_time_of_its_group(suite: Any):
    few, many = case(suite), case(suite, repeats=6)
    order = suite.run.spread([(few, 2), (many, 6)])
    assert [repeat for each, repeat in order if each is many] == list(range(6))
    assert [repeat for each, repeat in order if each is few] == [0, 1]
    assert [index for index, (each, _) in enumerate(order) if each is few] == [1, 5]


def test_goals_name_ways_of_their_case(suite: Any):
    for each in suite.cases.CASES:
        names = {way.name for way in each.ways}
        named = {name for goal in each.goals for name in (goal.way, goal.other) if name is not None}
        assert named <= names, each.name


def test_every_run_of_a_case_measures_the_ways_of_its_goals(suite: Any):
    for each in suite.cases.CASES:
        named = {name for goal in each.goals for name in (goal.way, goal.other)}
        left_out = [way.name for way in each.ways if not way.usual]
        assert named.isdisjoint(left_out), each.name


def asked(*names: str, **settings: bool) -> SimpleNamespace:
    given = {"all": False, "quick": False, "passes": False, **settings}
    return SimpleNamespace(names=list(names), repeats=None, **given)


def test_make_bench_leaves_out_ways_that_are_measured_by_name(suite: Any):
    rare = {each.name: [way for way in each.ways if not way.usual] for each in suite.cases.CASES}
    name = next(name for name, ways in rare.items() if ways)

    def ways(names: list[str], **settings: bool) -> set[Any]:
        return {
            way
            for each, _ in suite.run.chosen(asked(*names, **settings))
            for way in each.ways
            if each.name == name
        }

    assert ways([]).isdisjoint(rare[name])
    assert ways([name]) >= set(rare[name])
    assert ways([], all=True) >= set(rare[name])


def test_cases_start_together_while_their_processes_are_few(suite: Any):
    cases = [(case(suite), 3), (case(suite), 2), (case(suite), 1)]
    assert suite.run.groups(cases, most=4) == [cases[:2], cases[2:]]
    assert suite.run.groups(cases, most=1) == [[each] for each in cases]


def test_every_script_of_a_case_exists(suite: Any):
    scripts = [way.script[0] for each in suite.cases.CASES for way in each.ways]
    scripts += [script[0] for script in suite.cases.SCRIPTS]
    assert [name for name in scripts if not (SUITE.parent / name).is_file()] == []


def test_each_pass_over_a_step_is_measured_with_and_without_it(suite: Any):
    left_out = {
        each.name: [way.without for way in each.ways if way.without]
        for each in suite.passes.cases()
    }
    assert left_out == {f"pass-{each.name}": [each.name] for each in PASSES}
    for each in suite.passes.cases():
        without, with_pass = map(suite.processes._variables, each.ways)
        assert without["TFDISTRIBUTE_PASSES"] == f"-{each.ways[0].without}"
        assert with_pass["TFDISTRIBUTE_PASSES"] == ""
        assert all((suite.processes.BENCH / way.script[0]).is_file() for way in each.ways)
