"""Assignment of a task: the training that it takes part in, and its place in the cluster."""

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
from tfdistribute.training.history import Listener
from tfdistribute.training.specs import EvalSpec, TrainSpec

# Without a supervisor, tasks are started by hand or by a cluster's scheduler, which takes longer.
_START_S = 300.0


@dataclass(frozen=True)
class TaskAssignment:
    """One task's part of a training that the tasks of a cluster share.

    Args:
        verb: "train" or "train_and_evaluate", as the user called it.
        member: The task that this process is.
        train: Data and length of the training.
        evaluation: Data and frequency of the evaluations; None for no evaluation.
        steps: Steps from where the job begins, in place of the global step in ``train``.
        saving_listeners: tf.estimator.CheckpointSaverListener objects, for the chief.
        listener: Called with the progress in this task.
    """

    verb: str
    member: Member
    model: Model
    settings: RunSettings
    train: TrainSpec
    evaluation: EvalSpec | None = None
    steps: int | None = None
    saving_listeners: Sequence[Any] = ()
    listener: Listener | None = None

    @property
    def peer_timeout_s(self) -> float:
        """Seconds to wait for a task that does not answer."""
        given = getattr(self.settings.train_distribute, "timeout_s", None)
        if given is not None:
            return given
        cluster = self.settings.cluster
        if not isinstance(cluster, LocalCluster):
            return _START_S
        # A supervisor sees which tasks still compute, and ends a job in which none does.
        in_job = bool(os.environ.get(task_events.JOB))
        return cluster.start_timeout_s * (START_PATIENCE if in_job else 1)


def current_member(settings: RunSettings) -> Member | None:
    """Return the task of a cluster that this process trains as; None if it trains alone.

    If ``cluster`` names the task of this process, TF_CONFIG is set accordingly in this process.

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
