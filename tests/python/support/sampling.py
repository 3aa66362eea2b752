"""Parametrised tests: `make check` runs a few cases, `make check-all` every one."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sampled(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    check: Collection[Any],
    versions: Collection[Any] = (),
    smoke: Collection[Any] = (),
    **options: Any,
) -> Any:
    """Like ``pytest.mark.parametrize``, but marks cases outside ``check`` as ``full``.

    Those in ``versions`` are marked ``versions``, and those in ``smoke`` are marked ``smoke``.
    """
    cases = list(cases)
    assert check, "`make check` runs no case."
    assert all(case in cases for case in check), "`check` names a case that does not exist."
    assert all(case in check for case in [*versions, *smoke]), "A case is outside `check`."

    def marked(case: Any) -> Any:
        values = [case] if isinstance(names, str) else case
        marks = [] if case in check else [pytest.mark.full]
        marks += [pytest.mark.versions] * (case in versions) + [pytest.mark.smoke] * (case in smoke)
        return pytest.param(*values, marks=marks)

    return pytest.mark.parametrize(names, [marked(case) for case in cases], **options)


def diagonal(names: tuple[str, ...], *values: Iterable[Any]) -> Any:
    """Parametrize by all combinations of values, of which ``make check`` runs a few: each value occurs in them."""
    lists = [list(each) for each in values]
    longest = max(map(len, lists))
    chosen = [tuple(each[index % len(each)] for each in lists) for index in range(longest)]
    return sampled(names, itertools.product(*lists), check=chosen)
