"""The exception tree in Python and R."""

from __future__ import annotations

import re
from pathlib import Path

from tfdistribute import errors

R_ERRORS = Path(__file__).parents[2] / "R" / "errors.R"


def tree() -> dict[str, type[errors.TfdistributeError]]:
    found: dict[str, type[errors.TfdistributeError]] = {}
    waiting: list[type[errors.TfdistributeError]] = [errors.TfdistributeError]
    while waiting:
        current = waiting.pop()
        found[current.kind] = current
        waiting.extend(current.__subclasses__())
    return found


def test_an_error_says_the_problem_and_then_the_remedy():
    error = errors.ShardingError(
        "A batch of 10.", "Use 8 or 12.", argument="batch_size", value="10"
    )
    assert str(error) == "A batch of 10.\nUse 8 or 12."
    assert (error.argument, error.value) == ("batch_size", "10")


def test_the_argument_is_the_one_that_the_problem_begins_with():
    argument_of = {
        "`epochs` must be a count, not -1.": "epochs",
        "`environment$MY-KEY` must be text.": "environment$MY-KEY",
        "The column `x` has text.": None,
        "`launch()` needs a cluster.": None,
        "`seed = 1` has no effect.": None,
    }
    assert {text: errors.ArgumentError(text).argument for text in argument_of} == argument_of
    assert errors.ArgumentError("`a` and `b` differ.", argument="b").argument == "b"


def test_kinds_go_from_the_most_special_to_the_root():
    assert errors.error_kinds(errors.ShardingError) == ["sharding", "input", "error"]


def test_every_error_stands_in_the_drawn_tree():
    for kind, error in tree().items():
        assert error.__name__ in (errors.__doc__ or ""), kind


def test_r_knows_the_parents_that_python_has():
    pairs = {
        kind: errors.error_kinds(error)[1]
        for kind, error in tree().items()
        if len(errors.error_kinds(error)) > 2
    }
    parents = re.search(r"error_parents <- list\(([^)]*)\)", R_ERRORS.read_text(encoding="utf-8"))
    assert parents is not None
    assert dict(re.findall(r'(\w+) = "(\w+)"', parents.group(1))) == pairs
