"""Checks before a growth of trees, and the columns and classes that the model learns."""

from dataclasses import replace
from typing import Any

from tfdistribute.cluster.member import Member
from tfdistribute.errors import ArgumentError, RunConfigError
from tfdistribute.models.canned.trees import Trees
from tfdistribute.training.model_directory import as_trained
from tfdistribute.training.specs import Training
from tfdistribute.training.trees.ydf import library

# Rows that TensorFlow reads at a time.
BATCH = 4096
_NO_STEPS = "`steps` and `max_steps` have no meaning for boosted trees, whose number is `n_trees`."


def begin_growth(training: Training, member: Member | None) -> Training:
    """Check a training, and complete its model with the columns and classes of its rows; workers need neither."""
    model, spec = training.model, training.train
    assert isinstance(model, Trees)
    _check(training)
    if member is not None and not member.is_chief:
        return training
    library()
    known = as_trained(model)
    source = known.learning(spec.input)
    if known.table is not None and known.learns_columns():
        known.table.check_columns(source.facts(), known.weight_column)
    completed: Any = known.complete_from_input(source.facts())
    rows = completed.reading(source).repeated(BATCH, epochs=1)
    is_limited = training.steps is not None or spec.max_steps is not None
    return replace(
        training,
        model=completed,
        train=replace(spec, input=rows, max_steps=None),
        steps=None,
        notes=(_NO_STEPS,) if is_limited else (),
    )


def _check(training: Training) -> None:
    strategy = training.settings.strategy
    if strategy is not None:
        raise RunConfigError(
            f"`strategy` is {strategy.kind}, and boosted trees use no devices of TensorFlow.",
            "Leave it out: all cores grow the trees. Use `cluster` for more machines.",
            argument="strategy",
            value=strategy.kind,
        )
    given = {"hooks": training.train.hooks, "saving_listeners": training.saving_listeners}
    for name in (name for name, values in given.items() if values):
        raise ArgumentError(
            f"`{name}` act on steps of TensorFlow, and boosted trees take none.",
            "Leave them out. `validation` of the model chooses the number of trees.",
            argument=name,
        )
