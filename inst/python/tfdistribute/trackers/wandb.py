"""Weights & Biases, with runs on its service, or in files that `wandb sync` uploads."""

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tfdistribute.descriptions.constraints import Line
from tfdistribute.trackers.description import Row, Run, Tracker

_START_S = 30.0
_STEP = "global_step"


@dataclass(frozen=True, kw_only=True)
class Wandb(Tracker, kind="wandb"):
    """A project of Weights & Biases; None for the values of its environment variables."""

    package: ClassVar[str] = "wandb"

    project: Line | None = None
    entity: Line | None = None
    mode: Literal["online", "offline"] = "online"

    @property
    def place(self) -> str:
        names = (self.entity, self.project or os.environ.get("WANDB_PROJECT"))
        return "/".join(["Weights & Biases", *(name for name in names if name)])

    def open(self, run: str | None, parameters: Mapping[str, Any]) -> Run:
        wandb: Any = importlib.import_module("wandb")
        opened = wandb.init(
            project=self.project,
            entity=self.entity,
            name=self.run_name,
            id=run,
            resume="allow",
            mode=self.mode,
            config=dict(parameters),
            # A learning rate may change when a training continues.
            allow_val_change=True,
            settings=wandb.Settings(silent=True, console="off", init_timeout=_START_S),
        )
        # By default, rows of an earlier step than the last are dropped, and so would be most evaluations.
        opened.define_metric(_STEP)
        opened.define_metric("*", step_metric=_STEP)
        return _WandbRun(opened)


class _WandbRun:
    def __init__(self, run: Any) -> None:
        self.id = str(run.id)
        self._run = run

    def log(self, rows: Sequence[Row]) -> None:
        for step, values in rows:
            self._run.log({_STEP: step, **values})

    def log_model(self, files: Sequence[str]) -> None:
        wandb: Any = importlib.import_module("wandb")
        artifact = wandb.Artifact(f"model-{self.id}", type="model")
        for file in files:
            artifact.add_file(file)
        self._run.log_artifact(artifact)

    def close(self, state: str) -> None:
        self._run.finish(exit_code=int(state in ("failed", "stopped")))
