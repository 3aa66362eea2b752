"""Cases of ``tools/bench --passes``: what each pass over a training step gains, by leaving it out."""

from __future__ import annotations

from cases import NEWEST, Case, Way

from tfdistribute.engine.step.passes import PASSES

WITH, WITHOUT = "with the pass", "without it"
_RATE, _MEMORY = "examples per second", "MB of memory at most"
# Devices of one processor share its threads, so speed shows nothing there.
_SHARE = "% of the backward pass on the busiest of two devices"
_SMALL = "small-model/package.py"
# The case of each pass: unit, script, and the amount of work with the pass and without it.
_CASES: dict[str, tuple[str, tuple[str, ...], int, int]] = {
    "category_codes": (_RATE, ("wide-and-sparse/package.py", "hashed"), 6000, 3000),
    "resident_rows": (_RATE, (_SMALL, "wide"), 6000, 3000),
    "accumulate": (_MEMORY, ("large-layers/memory.py", "8"), 2, 2),
    "place_gradients": (_SHARE, ("model-in-parts/placement.py",), 1, 1),
    "all_reduce": (_RATE, ("two-workers/package.R", "two"), 120, 60),
    "shared_random": (_RATE, (_SMALL, "dropout"), 3000, 1000),
    "loop": (_RATE, (_SMALL, "wide"), 6000, 1000),
    "compile": (_RATE, (_SMALL, "wide"), 30000, 12000),
}


def cases() -> tuple[Case, ...]:
    """Return a case for each pass, in their order."""
    missing = [each.name for each in PASSES if each.name not in _CASES]
    assert not missing, f"add cases for {missing} to bench/suite/passes.py"
    return tuple(_case(each.name, each.effect) for each in PASSES)


def _case(name: str, effect: str) -> Case:
    unit, script, with_pass, without = _CASES[name]
    return Case(
        f"pass-{name}",
        f"{name}: {effect} ({' '.join(script)})",
        unit,
        (
            Way(WITHOUT, script, without, NEWEST, without=name),
            Way(WITH, script, with_pass, NEWEST),
        ),
        lower_is_better=unit != _RATE,
    )
