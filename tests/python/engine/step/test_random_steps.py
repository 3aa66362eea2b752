"""Steps drawn at random: a compiled one has TensorFlow's numbers and errors, or is not compiled."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support.checkpoints import assert_alike, assert_identical
from support.many_steps import custom, trained
from support.random_steps import KNOWN, OTHERS, ROUNDED, draw, model_of, table
from support.sampling import sampled

from tfdistribute.engine.step.passes import VARIABLE
from tfdistribute.errors import TfdistributeError, UnsupportedError
from tfdistribute.inputs import Input

pytestmark = pytest.mark.usefixtures("tensorflow")


def outcome(model_fn: Any, data: Input, directory: Path, **fields: Any) -> Any:
    try:
        return trained(custom(model_fn), directory, 4, data=data, **fields)
    except TfdistributeError as error:
        return error


def compare(
    model_fn: Any, data: Input, directory: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> str:
    """Train with and without all passes, and return what became of the training that must be compiled."""
    compiled = outcome(model_fn, data, directory / "compiled", compile=True)
    if isinstance(compiled, UnsupportedError):
        assert "this training cannot be compiled: " in str(compiled), words
        return "not compiled"
    monkeypatch.setenv(VARIABLE, "-all")
    plain = outcome(model_fn, data, directory / "plain", compile=False)
    monkeypatch.delenv(VARIABLE)
    if isinstance(plain, TfdistributeError):
        assert isinstance(compiled, TfdistributeError), f"{words}: no error, but {plain}"
        return "error"
    assert not isinstance(compiled, TfdistributeError), f"{words}: {compiled}"
    np.testing.assert_allclose(
        compiled[1].losses, plain[1].losses, rtol=1e-5, atol=1e-6, err_msg=words
    )
    assert_alike(compiled[0], plain[0], 1e-4, 1e-5)
    return "compiled"


@pytest.mark.parametrize(
    "seeds",
    [range(10 * each, 10 * each + 10) for each in range(1)]
    + [
        pytest.param(range(10 * each, 10 * each + 10), marks=pytest.mark.full)
        for each in range(1, 30)
    ],
    ids=str,
)
def test_a_program_has_tensorflows_numbers_and_errors_or_is_not_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: range
):
    found = Counter[str]()
    for seed in seeds:
        model_fn, data, words = draw(seed)
        words = f"program {seed}: {words}"
        found[compare(model_fn, data, tmp_path / str(seed), monkeypatch, words)] += 1
    assert found["compiled"], found


CHECKED = ("lookup", "gather_nd", "scatter_nd", "segments", "by zero", "of a function")


@sampled("term", CHECKED, check=["lookup", "by zero", "of a function"])
def test_an_index_out_of_range_and_a_division_by_zero_end_a_compiled_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, term: str
):
    model_fn = model_of([term])
    assert compare(model_fn, table(1, False), tmp_path / "right", monkeypatch, term) == "compiled"
    assert compare(model_fn, table(1, True), tmp_path / "wrong", monkeypatch, term) == "error"


@pytest.mark.parametrize("term", OTHERS)
def test_what_xla_computes_otherwise_is_not_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, term: str
):
    data = table(1, False)
    assert compare(model_of([term]), data, tmp_path, monkeypatch, term) == "not compiled"


def test_all_terms_of_known_sizes_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    terms = list(KNOWN)
    assert compare(model_of(terms), table(1, False), tmp_path, monkeypatch, "all") == "compiled"


@pytest.mark.versions
@pytest.mark.parametrize("term", ROUNDED)
def test_weights_do_not_depend_on_passes_and_the_steps_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, term: str
):
    model = custom(model_of([term], optimizer=4))
    for batch_size in (7, 11):
        data = table(1, False, batch_size, epochs=8)

        def weights(steps: int, data: Input = data) -> dict[str, Any]:
            return trained(model, Path(mkdtemp(dir=tmp_path)), steps, data=data)[0]

        one = weights(1)
        assert_identical(weights(30), one)
        monkeypatch.setenv(VARIABLE, "-all")
        assert_identical(weights(1), one)
        monkeypatch.delenv(VARIABLE)
