"""Hooks that write files: checkpoints, summaries, speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute import engine
from tfdistribute.errors import ArgumentError
from tfdistribute.files import absolute_path, canonical_path
from tfdistribute.training.hooks.description import Hook, HookContext


@dataclass(frozen=True)
class CheckpointSaver(Hook, kind="checkpoint_saver"):
    """Write checkpoints at an interval of its own.

    In the model's directory it replaces the checkpoints of the run configuration; elsewhere it adds checkpoints.
    """

    trains_only: ClassVar[bool] = True

    checkpoint_dir: str | None = None
    every_s: float | None = None
    every_n_steps: int | None = None
    saver: Any = None
    checkpoint_basename: str = "model.ckpt"
    scaffold: Any = None
    listeners: tuple[Any, ...] = ()

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
    every_n_steps: int | None = None
    every_s: float | None = None
    output_dir: str | None = None
    summary_writer: Any = None
    scaffold: Any = None
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
    every_n_steps: int | None = None
    every_s: float | None = None
    output_dir: str | None = None
    summary_writer: Any = None

    def session_hook(self, context: HookContext) -> Any:
        return engine.tf.estimator.StepCounterHook(
            every_n_steps=self.every_n_steps,
            every_n_secs=self.every_s,
            output_dir=_output_dir(self.output_dir, self.summary_writer, context, self.name),
            summary_writer=self.summary_writer,
        )


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
    return absolute_path(directory)
