"""Estimators, and data and length of a training and of its evaluations, as users describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from tfdistribute.descriptions import Description, read
from tfdistribute.descriptions.constraints import Count, Expected, Ge, MayDiffer, PythonObject, Text
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.inputs import Input
from tfdistribute.models import FactorCodes, Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.hooks import HookContext, check_hooks, may_end, read_hooks

COMPARED_BY_LAST_STEP = "The last step is compared, see ``TaskFacts``."


@dataclass(frozen=True)
class TrainSpec(Description):
    """The data and length of a training, which stops at the global step ``max_steps``, or at the end of the input."""

    input: Input
    max_steps: Annotated[Count | None, MayDiffer(COMPARED_BY_LAST_STEP)] = None
    hooks: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hooks", tuple(read_hooks(self.hooks)))


@dataclass(frozen=True)
class EvalSpec(Description):
    """Data, length and frequency of evaluations.

    Args:
        steps: Batches of each evaluation; None for all rows.
        exporters: tf.estimator.Exporter objects.
        start_delay_secs: Seconds before the first evaluation (only in a cluster).
        throttle_secs: Least number of seconds between two evaluations.
    """

    input: Input
    steps: Count | None = None
    name: Text | None = None
    hooks: tuple[Any, ...] = ()
    exporters: Annotated[
        tuple[PythonObject, ...], Expected("tf.estimator.Exporter objects, one or a list,")
    ] = ()
    start_delay_secs: Annotated[int, Ge(0)] = 120
    throttle_secs: Annotated[int, Ge(0)] = 600

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hooks", tuple(read_hooks(self.hooks)))


def check_training(
    model: Model, source: Input, steps: int | None, max_steps: int | None, hooks: Sequence[Any]
) -> None:
    if steps is not None and max_steps is not None:
        raise ArgumentError(
            f"`steps` ({steps}) and `max_steps` ({max_steps}) cannot both be given.",
            "Give `steps` to count from here, or `max_steps` to stop at a global step.",
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
    """Make an input raise an error at any value that the model cannot use, and fill in the model's defaults.

    See ``Input.accepting`` and ``Input.with_defaults``.
    """
    facts = source.facts()
    by_model = model.accepted_values(facts, needs_label)
    checked = source.accepting(codes.accepted_values(facts, by_model, needs_label))
    return checked.with_defaults(
        {each.feature: each.default for each in model.required_features() if each.default}
    )


def check_ends(source: Input, verb: str, argument: str) -> None:
    facts = source.facts()
    if facts.rows is not None and facts.epochs is None:
        raise InputError(
            f"{verb}() would never end: the input repeats without end (`epochs = NULL`) and `{argument}` is NULL.",
            f"Give `{argument}`, or `epochs` in input_fn().",
            argument=argument,
            value="NULL",
        )


def read_estimator(estimator: Mapping[str, Any]) -> tuple[Model, RunSettings]:
    fields = {name: value for name, value in estimator.items() if name != "config"}
    return read(Model, fields), read(RunSettings, estimator.get("config") or {})
