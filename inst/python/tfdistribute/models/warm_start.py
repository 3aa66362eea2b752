"""Warm start: initial values from another model's checkpoint."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from tfdistribute import engine, storage
from tfdistribute.descriptions import Description
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.files import absolute_path


@dataclass(frozen=True)
class WarmStart(Description):
    """Checkpoint that a model's first training starts from; later trainings continue the model's own.

    Args:
        ckpt_to_initialize_from: Directory of a trained model, prefix of a checkpoint, or SavedModel directory.
        vars_to_warm_start: A regular expression for the names of trainable variables, or several for the names of all
            variables.
        var_name_to_prev_var_name: Old names by new name, for renamed variables.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/WarmStartSettings
    """

    ckpt_to_initialize_from: str
    vars_to_warm_start: str | tuple[str, ...] = ".*"
    var_name_to_prev_var_name: dict[str, str] | None = None

    def __post_init__(self) -> None:
        path = absolute_path(self.ckpt_to_initialize_from)
        object.__setattr__(self, "ckpt_to_initialize_from", path)

    def check(self) -> None:
        """Check that the checkpoint exists.

        Raises:
            ModelDirectoryError: it does not.
        """
        path = self.ckpt_to_initialize_from
        files = (path + ".index", os.path.join(path, "checkpoint"), self._saved_model() + ".index")
        if not any(storage.is_file(file) for file in files):
            raise ModelDirectoryError(
                f'`warm_start_from` "{path}" holds no checkpoint.',
                "Give the `model_dir` of a trained model, or what latest_checkpoint() returns.",
                argument="warm_start_from",
                value=path,
            )

    def build(self) -> Any:
        """Make the ``tf.estimator.WarmStartSettings``."""
        several = not isinstance(self.vars_to_warm_start, str)
        saved_model = self._saved_model()
        return engine.tf.estimator.WarmStartSettings(
            saved_model
            if storage.is_file(f"{saved_model}.index")
            else self.ckpt_to_initialize_from,
            list(self.vars_to_warm_start) if several else self.vars_to_warm_start,
            var_name_to_prev_var_name=self.var_name_to_prev_var_name,
        )

    def _saved_model(self) -> str:
        return os.path.join(self.ckpt_to_initialize_from, "variables", "variables")
