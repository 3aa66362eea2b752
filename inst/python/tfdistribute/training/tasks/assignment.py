"""What a task of a cluster was asked to do, and which task it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfdistribute import task_events
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import START_PATIENCE, ClusterSpec, LocalCluster
from tfdistribute.cluster.tf_config import to_tf_config
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.strategies import MultiWorker
from tfdistribute.training.history import Listener
from tfdistribute.training.preparation import run_seed
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.tasks.progress_file import job_name

# Without a supervisor tasks are started by hand or by a cluster's scheduler, which takes its time.
_START_S = 300.0


@dataclass(frozen=True)
class Work:
    """A training that the tasks of a cluster share.

    Args:
        verb: "train" or "train_and_evaluate", as the user called it.
        model: What is trained.
        settings: The run configuration.
        train: What to train on.
        evaluation: What the evaluator evaluates on; None where nobody is asked to.
        steps: Steps from where the job begins, in place of the global step in ``train``.
        saving_listeners: tf.estimator.CheckpointSaverListener objects, for the chief.
        listener: Told of the progress in this task.
    """

    verb: str
    model: Model
    settings: RunSettings
    train: TrainSpec
    evaluation: EvalSpec | None = None
    steps: int | None = None
    saving_listeners: Sequence[Any] = ()
    listener: Listener | None = None

    @property
    def deadline_s(self) -> float:
        """Seconds to wait for a task that does not answer."""
        strategy, cluster = self.settings.train_distribute, self.settings.cluster
        given = strategy.timeout_s if isinstance(strategy, MultiWorker) else None
        if given is not None:
            return given
        if not isinstance(cluster, LocalCluster):
            return _START_S
        # Who watches over the tasks of a job sees which of them still computes, and ends the job where none does.
        is_watched = bool(os.environ.get(task_events.JOB))
        return cluster.start_timeout_s * (START_PATIENCE if is_watched else 1)

    def run_seed(self, member: Member) -> int:
        """Choose the seed of inputs: the same in each task of a job, also after a restart."""
        return run_seed(self.settings, job_name(member))


def joined(settings: RunSettings) -> Member | None:
    """Say as which task of a cluster this process trains.

    Where ``cluster`` names this process's task, TF_CONFIG is set accordingly, for this process.

    Args:
        settings: The run configuration.

    Returns:
        The member; None where this process trains alone.

    Raises:
        ClusterError: TF_CONFIG cannot be read.
    """
    cluster = settings.cluster
    if (
        isinstance(cluster, ClusterSpec)
        and cluster.task is not None
        and not os.environ.get("TF_CONFIG")
    ):
        os.environ["TF_CONFIG"] = to_tf_config(cluster, cluster.task)
    member = Member.here(protocol=settings.protocol)
    if member is None or (member.is_alone and not task_events.is_supervised()):
        return None
    return member
