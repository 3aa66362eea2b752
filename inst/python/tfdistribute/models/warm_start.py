"""Warm start: initial values from another model's checkpoint."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from tfdistribute import engine, storage
from tfdistribute.checkpoints.mirror import local_checkpoint
from tfdistribute.checkpoints.newest import listed_checkpoint
from tfdistribute.checksums import checksum
from tfdistribute.descriptions import Description, check_directory
from tfdistribute.descriptions.constraints import PLACE, Expected, Fact, Text
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.files import absolute_path, is_remote


@dataclass(frozen=True)
class WarmStart(Description):
    # A checkpoint elsewhere.
    ckpt_to_initialize_from: Annotated[Text, Fact.CODE, PLACE]
    # A regular expression for trainable variables, or several for all.
    vars_to_warm_start: Annotated[
        Text | tuple[Text, ...], Expected("non-empty strings or NULL"), Fact.NAME
    ] = ".*"
    # Old names by new name.
    var_name_to_prev_var_name: Annotated[
        dict[str, str] | None,
        Expected("names in the checkpoint, named by this model's, or NULL"),
        Fact.NAME,
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        path = absolute_path(self.ckpt_to_initialize_from)
        check_directory("warm_start_from", path)
        object.__setattr__(self, "ckpt_to_initialize_from", path)

    def content(self) -> Mapping[str, Any]:
        paths = (self.ckpt_to_initialize_from, self._saved_model())
        found = (checkpoint_checksum(path) for path in paths)
        return {"checkpoint": next((each for each in found if each is not None), None)}

    def check(self) -> None:
        path = self.ckpt_to_initialize_from
        files = (path + ".index", os.path.join(path, "checkpoint"), self._saved_model() + ".index")
        if not any(storage.is_file(file) for file in files):
            raise ModelDirectoryError(
                f'`warm_start_from` "{path}" holds no checkpoint.',
                "Give the `model_dir` of a trained model, or what latest_checkpoint() returns.",
                value=path,
            )

    def build(self) -> Any:
        several = not isinstance(self.vars_to_warm_start, str)
        path, saved_model = self.ckpt_to_initialize_from, self._saved_model()
        if storage.is_file(f"{saved_model}.index"):
            path = saved_model
        elif is_remote(path) and not storage.is_file(f"{path}.index"):
            path = listed_checkpoint(path) or path
        return engine.tf.estimator.WarmStartSettings(
            local_checkpoint(path),
            list(self.vars_to_warm_start) if several else self.vars_to_warm_start,
            var_name_to_prev_var_name=self.var_name_to_prev_var_name,
        )

    def _saved_model(self) -> str:
        return os.path.join(self.ckpt_to_initialize_from, "variables", "variables")


def checkpoint_checksum(path: str) -> str | None:
    for prefix in (path, listed_checkpoint(path)):
        if prefix is not None and storage.is_file(f"{prefix}.index"):
            return checksum([storage.read_bytes(f"{prefix}.index")])
    return None
