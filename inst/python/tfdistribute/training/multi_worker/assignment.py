"""Assignment of a task: the training that it takes part in, and its place in the cluster.

The tasks of a cluster compare their assignments before the first step. Every field of every description counts, so that
a new one is compared without any change here. A field that may differ says so, see ``MayDiffer``.
"""

import dataclasses
import os
import socket
from dataclasses import dataclass, field
from typing import Annotated

from tfdistribute import task_events
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import (
    STALL_TIMEOUT_S,
    START_PATIENCE,
    START_TIMEOUT_S,
)
from tfdistribute.descriptions.comparison import Entries, Exceptions, entries_of
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.files import canonical_path
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.specs import OWN, Training

_EXCEPTIONS = Exceptions(between_tasks=True)

# Where users find these fields.
_NAMES = {
    "$model": "object",
    "$settings": "config",
    "$train$input": "input",
    "$train$hooks": "hooks",
}


@dataclass(frozen=True)
class TaskAssignment(Training):
    """One task's part of a training that the tasks of a cluster share."""

    member: Annotated[Member, OWN] = field(kw_only=True)

    def check(self) -> None:
        """Also check that the job has locked the model directory."""
        model_dir = self.model.model_dir
        locked = os.environ.get(task_events.MODEL_DIR)
        if locked and not f"{canonical_path(model_dir)}/".startswith(f"{canonical_path(locked)}/"):
            raise ModelDirectoryError(
                f'`model_dir` "{model_dir}" is not the directory of this job, which has locked "{locked}".',
                "Start the job again: its files name two directories.",
                value=model_dir,
            )
        super().check()

    def entries(self, model: Model) -> Entries:
        """Return the entries that the tasks compare; ``model`` is completed from the input and the model directory."""
        entries = entries_of(dataclasses.replace(self, model=model), "", _EXCEPTIONS)
        return {_name_for_users(path): value for path, value in entries.items()}

    @property
    def start_timeout_s(self) -> float:
        return start_timeout_s(self.settings)

    @property
    def stall_timeout_s(self) -> float:
        return _timeout_s(self.settings, "stall_timeout_s", STALL_TIMEOUT_S)


def start_timeout_s(settings: RunSettings) -> float:
    seconds = _timeout_s(settings, "start_timeout_s", START_TIMEOUT_S)
    # A supervisor sees which tasks still compute, and ends a job in which none does.
    return seconds * (START_PATIENCE if task_events.is_in_job() else 1)


def holder_of(member: Member) -> str:
    """Return how a chief that holds model_dir is called."""
    # The tasks of two hosts may have the same loopback addresses.
    host = "" if task_events.is_in_job() else f"{socket.gethostname()} "
    return f"{host}{member.job_name}"


def _timeout_s(settings: RunSettings, name: str, default: float) -> float:
    of_strategy = getattr(settings.strategy, "timeout_s", None)
    of_cluster = getattr(settings.cluster, name, default)
    return of_cluster if of_strategy is None else of_strategy


def _name_for_users(path: str) -> str:
    for start, name in _NAMES.items():
        if path.startswith(start):
            return name + path.removeprefix(start)
    return path.removeprefix("$")
