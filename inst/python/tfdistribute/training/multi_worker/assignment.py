"""Assignment of a task: the training that it takes part in, and its place in the cluster.

The tasks of a cluster compare their assignments before the first step. Every field of every description counts, so that
a new one is compared without any change here. A field that may differ says so, see ``MayDiffer``.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from tfdistribute import task_events
from tfdistribute.cluster.checks import check_at_start
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import (
    STALL_TIMEOUT_S,
    START_PATIENCE,
    START_TIMEOUT_S,
    ClusterSpec,
)
from tfdistribute.cluster.tf_config import read_tf_config, to_tf_config
from tfdistribute.descriptions.comparison import Entries, Exceptions, entries_of
from tfdistribute.descriptions.constraints import MayDiffer
from tfdistribute.errors import ClusterError, ModelDirectoryError
from tfdistribute.files import canonical_path
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import Listener
from tfdistribute.training.hooks.description import RECORDS
from tfdistribute.training.specs import (
    COMPARED_BY_LAST_STEP,
    EvalSpec,
    TrainSpec,
    check_specs,
    check_training,
)

_EXCEPTIONS = Exceptions(between_tasks=True)
_EVALUATES = MayDiffer("Evaluations do not change what is trained.")
_OWN = MayDiffer("Each task has its own.")

# Where users find these fields.
_NAMES = {
    "$model": "object",
    "$settings": "config",
    "$train$input": "input",
    "$train$hooks": "hooks",
}


@dataclass(frozen=True)
class TaskAssignment:
    """One task's part of a training that the tasks of a cluster share.

    Args:
        verb: "train" or "train_and_evaluate", as the user called it.
        evaluation: Data and frequency of the evaluations; None for no evaluation.
        steps: Steps from where the job begins, in place of the global step in ``train``.
        saving_listeners: tf.estimator.CheckpointSaverListener objects, for the chief.
    """

    verb: Annotated[str, _EVALUATES]
    member: Annotated[Member, _OWN]
    model: Model
    settings: RunSettings
    train: TrainSpec
    evaluation: Annotated[EvalSpec | None, _EVALUATES] = None
    steps: Annotated[int | None, MayDiffer(COMPARED_BY_LAST_STEP)] = None
    saving_listeners: Annotated[Sequence[Any], MayDiffer("Only the chief saves.")] = ()
    listener: Annotated[Listener | None, _OWN] = None
    notes: Annotated[Sequence[str], MayDiffer(RECORDS)] = ()

    def check(self) -> None:
        """Check that the training may begin: its directory, which the job must have locked, its hooks, and its end."""
        model, spec = self.model, self.train
        locked = os.environ.get(task_events.MODEL_DIR)
        if locked and canonical_path(locked) != canonical_path(model.model_dir):
            raise ModelDirectoryError(
                f'`model_dir` "{model.model_dir}" is not the directory of this job, which has locked "{locked}".',
                "Start the job again: its files name two directories.",
                value=model.model_dir,
            )
        if self.evaluation is None:
            check_training(model, spec.input, self.steps, spec.max_steps, spec.hooks)
        else:
            check_specs(model, spec, self.evaluation)

    def entries(self, model: Model) -> Entries:
        """Return the entries that the tasks compare; ``model`` is completed from the input and the model directory."""
        entries = entries_of(dataclasses.replace(self, model=model), "", _EXCEPTIONS)
        return {_name_for_users(path): value for path, value in entries.items()}

    @property
    def start_timeout_s(self) -> float:
        seconds = self._timeout_s("start_timeout_s", START_TIMEOUT_S)
        # A supervisor sees which tasks still compute, and ends a job in which none does.
        return seconds * (START_PATIENCE if task_events.is_in_job() else 1)

    @property
    def stall_timeout_s(self) -> float:
        return self._timeout_s("stall_timeout_s", STALL_TIMEOUT_S)

    def _timeout_s(self, name: str, default: float) -> float:
        of_strategy = getattr(self.settings.strategy, "timeout_s", None)
        of_cluster = getattr(self.settings.cluster, name, default)
        return of_cluster if of_strategy is None else of_strategy


def enter_cluster(settings: RunSettings) -> Member | None:
    """Become the task of a cluster that this process trains as, and return it; None if the process trains alone.

    If ``cluster`` names the task of this process, TF_CONFIG is set accordingly. Raises ClusterError if
    TF_CONFIG cannot be read, or its cluster has a mistake, see ``cluster.checks``.
    """
    cluster = settings.cluster
    if (
        isinstance(cluster, ClusterSpec)
        and cluster.task is not None
        and not os.environ.get("TF_CONFIG")
    ):
        os.environ["TF_CONFIG"] = to_tf_config(cluster, cluster.task)
    config = read_tf_config(os.environ)
    if config is not None:
        check_at_start(config)
        if config.task_type is None:
            raise ClusterError(
                f"TF_CONFIG has a cluster of {config.tasks} tasks, and does not say which of them this process is.",
                'Add a task such as {"type": "chief", "index": 0}, or unset TF_CONFIG to train on this machine alone.',
                argument="TF_CONFIG",
                value="task",
            )
    member = Member.of(config, protocol=settings.protocol)
    if member is None or (member.is_alone and not task_events.is_supervised()):
        return None
    return member


def _name_for_users(path: str) -> str:
    for field, name in _NAMES.items():
        if path.startswith(field):
            return name + path.removeprefix(field)
    return path.removeprefix("$")
