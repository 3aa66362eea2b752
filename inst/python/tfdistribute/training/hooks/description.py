"""Description of a session hook, the context of the verb that uses it, and the hooks of a model function."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from tfdistribute.checkpoints.mirror import local_directory
from tfdistribute.cluster.tf_config import TfConfig, read_tf_config
from tfdistribute.descriptions import Description, read
from tfdistribute.errors import ArgumentError
from tfdistribute.training.history import History

TRAINING = ("train", "train_and_evaluate")
# A task may watch the training by itself.
RECORDS = "It decides what is logged or saved, and not what is trained."

VERBS = {"train": "train", "eval": "evaluate", "infer": "predict"}


@dataclass(frozen=True)
class HookContext:
    verb: str  # The evaluations of train_and_evaluate are "evaluate".
    model_dir: str | None = None
    history: History | None = None
    tf_config: TfConfig | None = None
    # Returns the rows of another input in memory, as the model that trains reads them.
    read_rows: Callable[[Any], Any] | None = None

    def note_stop(self, reason: str) -> None:
        if self.history is not None and self.history.stopped_by is None:
            self.history.stopped_by = reason

    @classmethod
    def here(
        cls,
        verb: str,
        model_dir: str,
        history: History | None = None,
        read_rows: Callable[[Any], Any] | None = None,
    ) -> "HookContext":
        tf_config = read_tf_config(os.environ)
        return cls(verb, local_directory(model_dir), history, tf_config, read_rows)

    @property
    def is_alone(self) -> bool:
        return self.tf_config is None or self.tf_config.tasks <= 1


@dataclass(frozen=True)
class Hook(Description):
    # Whether it only works while a model trains.
    trains_only: ClassVar[bool] = False
    # Whether it can end a training that has no other end.
    may_end: ClassVar[bool] = False
    in_words: ClassVar[str] = "a hook"

    def check(self, context: HookContext) -> None:
        """Check, before TensorFlow starts, that the hook works in a run; else ArgumentError or UnsupportedError."""
        if self.trains_only and context.verb not in TRAINING:
            raise ArgumentError(
                f"hook_{self.kind}() works while a model trains, and {context.verb}() does not train.",
                "Give it to train() or train_spec().",
                argument="hooks",
                value=f"hook_{self.kind}()",
            )

    def session_hook(self, context: HookContext) -> Any:
        """Make a new ``tf.estimator.SessionRunHook``; None if the hook needs none."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        return f"hook_{self.kind}()"


def read_hooks(values: Sequence[Any] | None) -> list[Any]:
    """Read hooks: mappings that describe a ``Hook``, ``Hook`` objects, and ``tf.estimator.SessionRunHook`` objects."""
    return [
        read(Hook, cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value
        for value in values or ()
    ]


def check_hooks(hooks: Sequence[Any], context: HookContext) -> None:
    for hook in hooks:
        if isinstance(hook, Hook):
            hook.check(context)


def as_hooks(hooks: Sequence[Any], context: HookContext) -> list[Any]:
    """Make ``tf.estimator.SessionRunHook`` objects in the same order; raise as ``Hook.check`` does."""
    descriptions = read_hooks(hooks)
    check_hooks(descriptions, context)
    session_hooks = [
        hook.session_hook(context) if isinstance(hook, Hook) else hook for hook in descriptions
    ]
    return [hook for hook in session_hooks if hook is not None]


def may_end(hooks: Sequence[Any]) -> bool:
    """Return whether a hook can end a training that has no other end; TensorFlow's own objects always may."""
    return any(hook.may_end if isinstance(hook, Hook) else True for hook in hooks)


@dataclass
class ModelHooks:
    model_dir: str
    history: History | None = None

    def __call__(self, hooks: Sequence[Any], mode: str) -> list[Any]:
        """Make session hooks in the same order; ArgumentError for a hook that must be given to the verb."""
        context = HookContext.here(VERBS[mode], self.model_dir, self.history)
        all_hooks: list[Any] = []
        for hook in read_hooks(hooks):
            session_hooks = as_hooks([hook], context)
            if not session_hooks and isinstance(hook, Hook):
                raise ArgumentError(
                    f"{hook.name} changes what train() records and shows, so it cannot be part of a model.",
                    "Give it to train() or train_spec().",
                    argument="training_hooks",
                    value=hook.name,
                )
            all_hooks += session_hooks
        return all_hooks
