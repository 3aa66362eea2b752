"""The remedies of errors in the sources. R's tests type those with code of R."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from support.remedies import remedies

import tfdistribute

TEXTS = remedies(Path(tfdistribute.__file__).parent)
NAMES = {
    name: text
    for text in TEXTS
    for name in re.findall(r"\b((?:multiprocessing|tfdistribute|tf)(?:\.\w+)+)", text)
}


def test_remedies_are_found_wherever_errors_are_raised() -> None:
    assert len(TEXTS) > 400
    for text in (
        "Name each class once.",
        "Use `eval_distribute = NULL`; the result is the same.",
        "Give n_classes = {}.",
    ):
        assert text in TEXTS


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_python_in_remedies_exist(tensorflow: Any, name: str) -> None:
    first, *parts = name.split(".")
    found: Any = tensorflow if first == "tf" else importlib.import_module(first)
    for part in parts:
        found = getattr(found, part, None) or importlib.import_module(f"{found.__name__}.{part}")


def test_the_way_to_start_processes_is_that_of_python() -> None:
    import multiprocessing

    assert any('multiprocessing.get_context("spawn")' in text for text in TEXTS)
    assert multiprocessing.get_context("spawn").get_start_method() == "spawn"
