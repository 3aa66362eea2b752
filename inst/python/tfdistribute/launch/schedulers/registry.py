"""Schedulers by the names that handles of jobs keep."""

from tfdistribute.cluster.spec import Cluster
from tfdistribute.launch.schedulers.ray.scheduler import RayScheduler
from tfdistribute.launch.schedulers.scheduler import Scheduler
from tfdistribute.launch.schedulers.slurm.scheduler import SlurmScheduler

SCHEDULERS: dict[str, Scheduler] = {
    "ray": RayScheduler(),
    "slurm": SlurmScheduler(),
}


def name_of_scheduler(cluster: Cluster) -> str | None:
    """Return the name of the scheduler that runs the supervisor of a cluster's jobs; None for this machine."""
    return next((name for name, each in SCHEDULERS.items() if each.takes(cluster)), None)


def scheduler_of(cluster: Cluster) -> Scheduler | None:
    name = name_of_scheduler(cluster)
    return None if name is None else SCHEDULERS[name]
