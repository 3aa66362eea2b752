"""Environment variables that are changed for a while."""

from __future__ import annotations

import os

import pytest

from tfdistribute.environment import changed_variable


@pytest.mark.parametrize("before", [None, "", "a"])
@pytest.mark.parametrize("value", [None, "", "b"])
def test_a_variable_is_put_back_after_an_error(
    before: str | None, value: str | None, monkeypatch: pytest.MonkeyPatch
):
    name = "TFDISTRIBUTE_SOME_VARIABLE"
    monkeypatch.delenv(name, raising=False)
    if before is not None:
        monkeypatch.setenv(name, before)
    with pytest.raises(KeyError), changed_variable(name, value):
        assert os.environ.get(name) == value
        raise KeyError
    assert os.environ.get(name) == before
