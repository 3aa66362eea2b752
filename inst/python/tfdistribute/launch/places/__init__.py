"""Places where tasks run."""

from __future__ import annotations

from collections.abc import Mapping

from tfdistribute.cluster.spec import Task
from tfdistribute.launch.job import Job
from tfdistribute.launch.places.local import LocalPlace
from tfdistribute.launch.places.place import Place

__all__ = ["Place", "places_of"]


def places_of(job: Job, is_private: bool) -> Mapping[Task, Place]:
    """Return the place of each task of a job."""
    here = LocalPlace(job.directory, is_private)
    return dict.fromkeys(job.tasks, here)
