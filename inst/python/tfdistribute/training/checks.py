"""Checks of a training or an evaluation before TensorFlow starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.inputs import Input
from tfdistribute.models import FactorCodes, Model
from tfdistribute.training.hooks import HookContext, check_hooks, may_end
from tfdistribute.training.specs import EvalSpec, TrainSpec


def check_training(
    model: Model, source: Input, steps: int | None, max_steps: int | None, hooks: Sequence[Any]
) -> None:
    if steps is not None and max_steps is not None:
        raise ArgumentError(
            f"`steps` ({steps}) and `max_steps` ({max_steps}) cannot both be given.",
            "Give `steps` to count from here, or `max_steps` to stop at a global step.",
            argument="steps",
            value=str(steps),
        )
    check_hooks(hooks, HookContext.here("train", model.model_dir))
    if steps is None and max_steps is None and not may_end(hooks):
        check_ends(source, "train", "steps")


def check_specs(model: Model, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
    check_hooks(train_spec.hooks, HookContext.here("train_and_evaluate", model.model_dir))
    check_hooks(eval_spec.hooks, HookContext.here("evaluate", model.model_dir))
    if train_spec.max_steps is None and not may_end(train_spec.hooks):
        check_ends(train_spec.input, "train_and_evaluate", "max_steps")
    if eval_spec.steps is None:
        check_ends(eval_spec.input, "evaluate", "steps")


def accepting(source: Input, model: Model, codes: FactorCodes, needs_label: bool) -> Input:
    """Return an input with an error at any value that the model cannot use; see ``Input.accepting``."""
    facts = source.facts()
    by_model = model.accepted_values(facts, needs_label)
    return source.accepting(codes.accepted_values(facts, by_model, needs_label))


def check_ends(source: Input, verb: str, argument: str) -> None:
    """Check that an input ends by itself, or that an argument of the verb ends it."""
    facts = source.facts()
    if facts.rows is not None and facts.epochs is None:
        raise InputError(
            f"{verb}() would never end: the input repeats without end (`num_epochs = NULL`) and `{argument}` is NULL.",
            f"Give `{argument}`, or `num_epochs` in input_fn().",
            argument=argument,
            value="NULL",
        )
