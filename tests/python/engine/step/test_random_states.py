"""Variables of a model's own: micro-batches change them as the whole batch does."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from support.micro_batches import same
from support.random_states import PLACES, STATES, draw, step_of
from support.sampling import diagonal

pytestmark = pytest.mark.usefixtures("tensorflow")


@pytest.mark.versions
@diagonal(("name", "place"), STATES, PLACES)
def test_each_state_is_that_of_the_whole_batch(name: str, place: str):
    same(step_of([name], place, True, 0), 3, 1e-5, words=name)


@pytest.mark.parametrize(
    "seeds",
    [range(10 * each, 10 * each + 10) for each in range(1)]
    + [
        pytest.param(range(10 * each, 10 * each + 10), marks=pytest.mark.full)
        for each in range(1, 30)
    ],
    ids=str,
)
def test_the_states_of_random_steps_are_those_of_the_whole_batch(seeds: range):
    for seed in seeds:
        step, micro_batches, words = draw(seed)
        same(step, micro_batches, 1e-5, words=f"program {seed}: {words}")
