"""What every hook is described by, and how the hooks of a verb are made."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from tfdistribute.cluster.tf_config import TfConfig, read_tf_config
from tfdistribute.descriptions import Description, read
from tfdistribute.errors import ArgumentError
from tfdistribute.training.history import History

TRAINING = ("train", "train_and_evaluate")


@dataclass(frozen=True)
class Run:
    """What hooks take part in.

    Args:
        verb: "train", "train_and_evaluate", "evaluate" or "predict"; the evaluations of train_and_evaluate are
            "evaluate".
        model_dir: Directory of the model; None where it is not known.
        history: The record of the training, where there is one.
        tf_config: The cluster, if any.
    """

    verb: str
    model_dir: str | None = None
    history: History | None = None
    tf_config: TfConfig | None = None

    def note_stop(self, reason: str) -> None:
        """Keep the first reason why training ended before its steps or its data did."""
        if self.history is not None and self.history.stopped_by is None:
            self.history.stopped_by = reason

    @classmethod
    def here(cls, verb: str, model_dir: str, history: History | None = None) -> Run:
        """Describe a run of this process, with the cluster that its environment names."""
        return cls(verb, model_dir, history, read_tf_config(os.environ))

    @property
    def is_alone(self) -> bool:
        """Whether no other task takes part."""
        return self.tf_config is None or self.tf_config.tasks <= 1


@dataclass(frozen=True)
class Hook(Description):
    """Root of the family: something that takes part in every step of a session."""

    # Whether it means nothing but while a model trains.
    trains_only: ClassVar[bool] = False
    # Whether a training that has no other end may end by it.
    may_end: ClassVar[bool] = False

    def check(self, run: Run) -> None:
        """See that the hook can do its work, before TensorFlow starts.

        Args:
            run: What it is to take part in.

        Raises:
            ArgumentError: it has no meaning there.
            UnsupportedError: it cannot work there in this version.
        """
        if self.trains_only and run.verb not in TRAINING:
            raise ArgumentError(
                f"hook_{self.kind}() works while a model trains, and {run.verb}() does not train.",
                "Give it to train() or train_spec().",
                argument="hooks",
                value=f"hook_{self.kind}()",
            )

    def session_hook(self, run: Run) -> Any:
        """Make TensorFlow's object.

        Args:
            run: What it takes part in.

        Returns:
            A new ``tf.estimator.SessionRunHook``, or None where the hook needs none.
        """
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The hook as the user wrote it, for messages."""
        return f"hook_{self.kind}()"


def read_hooks(values: Sequence[Any] | None) -> list[Any]:
    """Read the hooks that a verb was given.

    Args:
        values: Mappings that describe a ``Hook``, ``Hook`` objects, and ``tf.estimator.SessionRunHook`` objects.

    Returns:
        ``Hook`` descriptions and TensorFlow's objects, in the same order.

    Raises:
        ArgumentError: a mapping describes no hook.
    """
    return [
        read(Hook, cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value
        for value in values or ()
    ]


def check_hooks(hooks: Sequence[Any], run: Run) -> None:
    """See that every described hook can do its work; see ``Hook.check``."""
    for hook in hooks:
        if isinstance(hook, Hook):
            hook.check(run)


def as_hooks(hooks: Sequence[Any], run: Run) -> list[Any]:
    """Make TensorFlow's objects.

    Args:
        hooks: What ``read_hooks`` gave, or the same as mappings.
        run: What they take part in.

    Returns:
        ``tf.estimator.SessionRunHook`` objects in the same order.

    Raises:
        ArgumentError, UnsupportedError: see ``Hook.check``.
    """
    read_ones = read_hooks(hooks)
    check_hooks(read_ones, run)
    made = [hook.session_hook(run) if isinstance(hook, Hook) else hook for hook in read_ones]
    return [hook for hook in made if hook is not None]


def may_end(hooks: Sequence[Any]) -> bool:
    """Say whether a hook may end a training that has no other end; TensorFlow's own objects always may."""
    return any(hook.may_end if isinstance(hook, Hook) else True for hook in hooks)
