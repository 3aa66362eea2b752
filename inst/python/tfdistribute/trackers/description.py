"""Base class of tracker descriptions, and the contract of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Line

Row = tuple[int, Mapping[str, float]]


class Run(Protocol):
    @property
    def id(self) -> str: ...

    def log(self, rows: Sequence[Row]) -> None: ...

    def log_model(self, files: Sequence[str]) -> None:
        """Save the files of a model as the artifact "model"."""
        ...

    def close(self, state: str) -> None:
        """End the run: "done", "failed" or "stopped"; with any other state, it continues later."""
        ...


@dataclass(frozen=True, kw_only=True)
class Tracker(Description):
    in_words: ClassVar[str] = "track_mlflow() or track_wandb()"

    # The package that pip installs for the tracker.
    package: ClassVar[str] = ""

    run_name: Line | None = None
    log_model: bool = False

    @property
    def name(self) -> str:
        """Name of the R function that made it, for messages."""
        return f"track_{self.kind}()"

    @property
    def place(self) -> str:
        """Where its runs are, for messages. A run only continues in the same place."""
        raise NotImplementedError

    def open(self, run: str | None, parameters: Mapping[str, Any]) -> Run:
        """Open the run with this id if it still exists, otherwise a new one. The package may raise any error."""
        raise NotImplementedError
