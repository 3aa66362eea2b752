"""Hooks that write files: checkpoints, summaries, speed, profiles."""

import os
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tfdistribute import engine
from tfdistribute.descriptions.constraints import (
    Count,
    Expected,
    Fact,
    Len,
    Never,
    PythonObject,
    Seconds,
    Text,
    exactly_one,
    excludes,
)
from tfdistribute.errors import ArgumentError
from tfdistribute.files import absolute_path, canonical_path, is_remote
from tfdistribute.training.hooks.description import RECORDS, Hook, HookContext

Scaffold = Annotated[PythonObject | None, Expected("a Python Scaffold or NULL")]
SummaryWriter = Annotated[PythonObject | None, Expected("a Python SummaryWriter or NULL")]


@dataclass(frozen=True)
class CheckpointSaver(Hook, kind="checkpoint_saver"):
    """Write checkpoints at an interval of its own.

    In the model's directory it replaces the checkpoints of the run configuration; elsewhere it adds checkpoints.

    Args:
        checkpoint_dir: Directory on this machine, a string. NULL uses the model's directory.
        every_s: Seconds between checkpoints, a number.
        every_n_steps: Steps between checkpoints, a count. Exactly one of `every_s` and `every_n_steps` is required.
        saver: A Python `tf.compat.v1.train.Saver`. NULL saves all variables.
        checkpoint_basename: First part of the file names, a string.
        scaffold: A Python `tf.compat.v1.train.Scaffold` with the saver to use, or NULL. Not together with `saver`.
        listeners: `tf.estimator.CheckpointSaverListener` objects, one or a list.
    """

    trains_only: ClassVar[bool] = True
    may_differ: ClassVar[str | None] = RECORDS
    rules: ClassVar[tuple[Never, ...]] = (
        *exactly_one("every_s", "every_n_steps"),
        excludes("saver", "scaffold"),
    )

    checkpoint_dir: Annotated[Text | None, Fact.PATH] = None
    every_s: Seconds | None = None
    every_n_steps: Count | None = None
    saver: Annotated[PythonObject | None, Expected("a Python Saver or NULL")] = None
    checkpoint_basename: Text = "model.ckpt"
    scaffold: Scaffold = None
    listeners: Annotated[
        tuple[PythonObject, ...],
        Expected("CheckpointSaverListener objects, one or a list,"),
    ] = ()

    def session_hook(self, context: HookContext) -> Any:
        directory = _directory(self.checkpoint_dir, context, "checkpoint_dir", self.name)

        def make(saver: Any) -> Any:
            return engine.tf.estimator.CheckpointSaverHook(
                directory,
                save_secs=self.every_s,
                save_steps=self.every_n_steps,
                saver=saver,
                checkpoint_basename=self.checkpoint_basename,
                scaffold=self.scaffold,
                listeners=list(self.listeners),
            )

        own = context.model_dir
        if own is not None and canonical_path(directory) == canonical_path(own):
            return make(self.saver)
        if self.saver is not None or self.scaffold is not None:
            return engine.hooks.SaveElsewhere(lambda _: make(self.saver))
        return engine.hooks.SaveElsewhere(make)


@dataclass(frozen=True)
class SummarySaver(Hook, kind="summary_saver"):
    """Write additional summaries for TensorBoard.

    Args:
        every_n_steps: Steps between summaries, a count.
        every_s: Seconds between summaries, a number. Exactly one of `every_n_steps` and `every_s` is required.
        output_dir: Directory on this machine, a string. NULL uses the model's directory.
        summary_writer: A Python `SummaryWriter` to use instead of `output_dir`, or NULL.
        scaffold: A Python `tf.compat.v1.train.Scaffold` whose summaries are written, or NULL.
        summary_op: A summary tensor or its name, or several. NULL writes all summaries of the graph. Not together with
            `scaffold`.
    """

    may_differ: ClassVar[str | None] = RECORDS
    rules: ClassVar[tuple[Never, ...]] = (
        *exactly_one("every_n_steps", "every_s"),
        excludes("scaffold", "summary_op"),
    )

    every_n_steps: Count | None = None
    every_s: Seconds | None = None
    output_dir: Annotated[Text | None, Fact.PATH] = None
    summary_writer: SummaryWriter = None
    scaffold: Scaffold = None
    summary_op: Any = None

    def session_hook(self, context: HookContext) -> Any:
        settings = {
            "save_steps": self.every_n_steps,
            "save_secs": self.every_s,
            "output_dir": _output_dir(self.output_dir, self.summary_writer, context, self.name),
            "summary_writer": self.summary_writer,
        }
        if self.scaffold is not None:
            return engine.tf.estimator.SummarySaverHook(scaffold=self.scaffold, **settings)
        return engine.hooks.SaveSummaries(self.summary_op, **settings)


@dataclass(frozen=True)
class StepCounter(Hook, kind="step_counter"):
    """Write additional records of the training speed for TensorBoard.

    Args:
        every_s: Seconds between records, a number.
        output_dir: Directory on this machine, a string. NULL uses the model's directory.
        summary_writer: A Python `SummaryWriter` to use instead of `output_dir`, or NULL.
    """

    may_differ: ClassVar[str | None] = RECORDS
    rules: ClassVar[tuple[Never, ...]] = exactly_one("every_n_steps", "every_s")

    every_n_steps: Count | None = None
    every_s: Seconds | None = None
    output_dir: Annotated[Text | None, Fact.PATH] = None
    summary_writer: SummaryWriter = None

    def session_hook(self, context: HookContext) -> Any:
        return engine.tf.estimator.StepCounterHook(
            every_n_steps=self.every_n_steps,
            every_n_secs=self.every_s,
            output_dir=_output_dir(self.output_dir, self.summary_writer, context, self.name),
            summary_writer=self.summary_writer,
        )


@dataclass(frozen=True)
class Profiler(Hook, kind="profiler"):
    """Profile steps. Each task of a cluster writes to a directory of its own.

    Args:
        steps: First and last step, two counts. `c(110, 120)` profiles 11 steps.
        output_dir: Directory on this machine, a string. NULL uses the model's directory.
    """

    trains_only: ClassVar[bool] = True
    may_differ: ClassVar[str | None] = RECORDS

    steps: Annotated[
        tuple[Count, ...],
        Len(2, 2, increasing="weakly"),
        Expected("the first and the last step, two counts,"),
    ]
    output_dir: Annotated[Text | None, Fact.PATH] = None

    def session_hook(self, context: HookContext) -> Any:
        directory = _directory(self.output_dir, context, "output_dir", self.name)
        task = () if context.is_alone or context.tf_config is None else (context.tf_config.task,)
        names = ("profile", *(each.replace(" ", "-") for each in task))
        return engine.hooks.ProfileSteps(*self.steps, os.path.join(directory, *names))


def _output_dir(
    output_dir: str | None, summary_writer: Any, context: HookContext, name: str
) -> str | None:
    return (
        None if summary_writer is not None else _directory(output_dir, context, "output_dir", name)
    )


def _directory(path: str | None, context: HookContext, argument: str, name: str) -> str:
    directory = path or context.model_dir
    if directory is None:
        raise ArgumentError(
            f"{name} is used outside a verb of this package, so `{argument} = NULL` does not name a directory.",
            f"Give `{argument}`.",
            argument=argument,
            value="NULL",
        )
    if is_remote(directory):
        raise ArgumentError(
            f'`{argument}` "{directory}" is on remote storage, where {name} cannot write.',
            "Leave it out for the directory of the model, which may be there, or give a directory on this machine.",
            value=directory,
        )
    return absolute_path(directory)
