"""Estimators, and data and length of a training and of its evaluations, as users describe them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from tfdistribute.descriptions import Description, read
from tfdistribute.descriptions.constraints import Count, Expected, Ge, MayDiffer, PythonObject, Text
from tfdistribute.errors import ArgumentError, InputError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import Listener
from tfdistribute.training.hooks import HookContext, check_hooks, may_end, read_hooks
from tfdistribute.training.hooks.description import RECORDS

COMPARED_BY_LAST_STEP = "The last step is compared, see ``TaskFacts``."
OWN = MayDiffer("Each task has its own.")
_EVALUATES = MayDiffer("Evaluations do not change what is trained.")


@dataclass(frozen=True)
class TrainSpec(Description):
    """The data and length of a training, which stops at the global step ``max_steps``, or at the end of the input.

    Args:
        max_steps: Global step at which training stops, a count. NULL (default) trains until the input ends.
        hooks: [Hooks][hooks], such as [hook_early_stopping()], or TensorFlow's own hooks, one or a list.
    """

    input: Input
    max_steps: Annotated[Count | None, MayDiffer(COMPARED_BY_LAST_STEP)] = None
    hooks: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hooks:
            object.__setattr__(self, "hooks", tuple(read_hooks(self.hooks)))


@dataclass(frozen=True)
class EvalSpec(Description):
    """Data, length and frequency of evaluations.

    Args:
        steps: Batches per evaluation, a count. NULL (default) evaluates all rows. (tfestimators silently stopped after
            100 batches.)
        name: A string that names the evaluation, or NULL.
        hooks: [Hooks][hooks], such as [hook_early_stopping()], or TensorFlow's own hooks, one or a list.
        exporters: `tf.estimator.Exporter` objects, one or a list.
        start_delay_secs: Seconds before the first evaluation in a cluster, a count. Ignored without a cluster.
        throttle_secs: Minimum seconds between evaluations, a count. An evaluation follows a checkpoint, so
            `run_config(save_checkpoints_steps =)` is also relevant. The end of training is always evaluated. The
            evaluator of a cluster evaluates the newest checkpoint, or with 0 each that `model_dir` still keeps.
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
        if self.hooks:
            object.__setattr__(self, "hooks", tuple(read_hooks(self.hooks)))


@dataclass(frozen=True)
class Start:
    """The checkpoint with which a training begins: its step, its variables, and losses that led to it.

    ``noted`` holds steps, their losses, and seconds since the first.
    """

    step: int
    variables: Mapping[str, Any]
    noted: Sequence[tuple[int, float, float]]


@dataclass(frozen=True)
class Training:
    """A training as a user asked for it, in this process or as a task of a cluster.

    Args:
        verb: "train" or "train_and_evaluate".
        evaluation: Data and frequency of the evaluations; None for no evaluation.
        steps: Steps from where the training begins, in place of the global step in ``train``.
        saving_listeners: tf.estimator.CheckpointSaverListener objects, for the chief.
        listener: Called with the progress, at most ten times a second.
        notes: Sentences for the history.
        validation: Rows that choose the end of the training, or how much of it is kept.
        start: Where the training begins; None for the newest checkpoint of the model.
    """

    verb: Annotated[str, _EVALUATES]
    model: Model
    settings: RunSettings
    train: TrainSpec
    evaluation: Annotated[EvalSpec | None, _EVALUATES] = None
    steps: Annotated[int | None, MayDiffer(COMPARED_BY_LAST_STEP)] = None
    saving_listeners: Annotated[Sequence[Any], MayDiffer("Only the chief saves.")] = ()
    listener: Annotated[Listener | None, OWN] = None
    notes: Annotated[Sequence[str], MayDiffer(RECORDS)] = ()
    validation: Annotated[Input | None, MayDiffer("Only the chief reads them.")] = None
    start: Annotated[Start | None, MayDiffer("Only the chief has it.")] = None

    def check(self) -> None:
        """Check that the training can end, and that its hooks work in it."""
        if self.evaluation is None:
            _check_training(self.model, self.train, self.steps)
        else:
            _check_specs(self.model, self.train, self.evaluation)


def _check_training(model: Model, spec: TrainSpec, steps: int | None) -> None:
    max_steps, hooks = spec.max_steps, spec.hooks
    if steps is not None and max_steps is not None:
        raise ArgumentError(
            f"`steps` ({steps}) and `max_steps` ({max_steps}) cannot both be given.",
            "Give `steps` to count from here, or `max_steps` to stop at a global step.",
            value=str(steps),
        )
    if hooks:
        check_hooks(hooks, HookContext.here("train", model.model_dir))
    if steps is None and max_steps is None and not (hooks and may_end(hooks)):
        check_ends(spec.input, "train", "steps")


def _check_specs(model: Model, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
    check_hooks(train_spec.hooks, HookContext.here("train_and_evaluate", model.model_dir))
    check_hooks(eval_spec.hooks, HookContext.here("evaluate", model.model_dir))
    if train_spec.max_steps is None and not may_end(train_spec.hooks):
        check_ends(train_spec.input, "train_and_evaluate", "max_steps")
    if eval_spec.steps is None:
        check_ends(eval_spec.input, "evaluate", "steps")


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
