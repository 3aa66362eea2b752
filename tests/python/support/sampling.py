"""Parametrised tests: `make check` runs a few cases, `make check-all` every one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sampled(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    check: Collection[Any],
    versions: Collection[Any] = (),
    **options: Any,
) -> Any:
    """Like ``pytest.mark.parametrize``, but marks cases outside ``check`` as ``full``.

    Those in ``versions`` are marked ``versions``.
    """
    cases = list(cases)
    assert check, "`make check` runs no case."
    assert all(case in cases for case in check), "`check` names a case that does not exist."
    assert all(case in check for case in versions), "`versions` names a case outside `check`."

    def marked(case: Any) -> Any:
        values = [case] if isinstance(names, str) else case
        marks = [] if case in check else [pytest.mark.full]
        return pytest.param(*values, marks=marks + [pytest.mark.versions] * (case in versions))

    return pytest.mark.parametrize(names, [marked(case) for case in cases], **options)
