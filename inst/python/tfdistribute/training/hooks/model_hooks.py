"""Hooks of a model function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistribute.errors import ArgumentError
from tfdistribute.training.history import History
from tfdistribute.training.hooks.description import Hook, HookContext, as_hooks, read_hooks

VERBS = {"train": "train", "eval": "evaluate", "infer": "predict"}


class ModelHooks:
    """Makes the hooks of a model function each time TensorFlow calls it."""

    def __init__(self, model_dir: str) -> None:
        self._model_dir = model_dir
        self.history: History | None = None

    def __call__(self, hooks: Sequence[Any], mode: str) -> list[Any]:
        """Make session hooks in the same order; ArgumentError for one that must be given to the verb."""
        context = HookContext.here(VERBS[mode], self._model_dir, self.history)
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
