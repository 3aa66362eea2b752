"""What the chief leaves in model_dir for the other tasks: that it trains, since which step, and that it is done.

Only the chief writes. Everybody else reads: the evaluator to know which checkpoint is the last one, a parameter
server to know that nobody needs it any more, and a task that was started again to know where its job began.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from dataclasses import dataclass
from typing import Any

from tfdistribute import engine, task_events
from tfdistribute.cluster.member import Member

MARK = "tfdistribute-training.json"
# About when this process began.
_PROCESS_BEGAN = time.time()


@dataclass(frozen=True)
class Mark:
    """One training, as its chief described it.

    Args:
        job: What tells this training from others: the job's name, or the cluster's addresses.
        first_step: Global step at which the job began, before any restart.
        started: When the chief began, in seconds since 1970.
        finished_step: Global step of the last checkpoint; None while the chief trains.
        interrupted: Whether it ended because somebody asked it to.
    """

    job: str
    first_step: int
    started: float
    finished_step: int | None = None
    interrupted: bool = False


def job_name(member: Member) -> str:
    """Name the training that this process takes part in; the same in each of its tasks."""
    supervised = os.environ.get(task_events.JOB)
    if supervised:
        return os.path.basename(os.path.normpath(supervised))
    return json.dumps({role: list(each) for role, each in sorted(member.cluster.items())})


def read_mark(model_dir: str) -> Mark | None:
    """Read what a chief left.

    Args:
        model_dir: Directory of the model, also a remote one.

    Returns:
        The mark; None where there is none.
    """
    gfile = engine.tf.io.gfile
    try:
        with gfile.GFile(os.path.join(model_dir, MARK), "r") as file:
            fields: dict[str, Any] = json.loads(file.read())
        return Mark(**fields)
    except (engine.tf.errors.OpError, ValueError, TypeError):
        return None


def mark_of_job(model_dir: str, member: Member) -> Mark | None:
    """Read the mark that the chief of this process's own job left.

    Args:
        model_dir: Directory of the model.
        member: This process.

    Returns:
        The mark; None where there is none, or another job's.
    """
    mark = read_mark(model_dir)
    return mark if mark is not None and mark.job == job_name(member) else None


def began_here(mark: Mark) -> bool:
    """Say whether a chief began after this process, so that its mark cannot be an earlier training's."""
    return mark.started >= _PROCESS_BEGAN


def begin(model_dir: str, member: Member, step: int) -> Mark:
    """Mark the beginning, as the chief; a restarted job keeps the step at which it began.

    Args:
        model_dir: Directory of the model.
        member: The chief.
        step: Global step of the newest checkpoint.

    Returns:
        The mark that now stands there.
    """
    mark = Mark(job_name(member), first_step(model_dir, member, step), time.time())
    _write(model_dir, mark)
    return mark


def finish(model_dir: str, mark: Mark, step: int, interrupted: bool = False) -> None:
    """Mark the end: the last checkpoint is written."""
    _write(model_dir, dataclasses.replace(mark, finished_step=step, interrupted=interrupted))


def first_step(model_dir: str, member: Member, step: int) -> int:
    """Say at which global step the job of this process began.

    Args:
        model_dir: Directory of the model.
        member: This process.
        step: Global step of the newest checkpoint.

    Returns:
        The step of the mark where the job was restarted, else the given one.
    """
    if task_events.attempt() == 0:
        return step
    known = mark_of_job(model_dir, member)
    return step if known is None else min(known.first_step, step)


def _write(model_dir: str, mark: Mark) -> None:
    gfile = engine.tf.io.gfile
    path = os.path.join(model_dir, MARK)
    # Whole or not at all: others read it at any time.
    with gfile.GFile(path + ".new", "w") as file:
        file.write(json.dumps(dataclasses.asdict(mark)))
    gfile.rename(path + ".new", path, overwrite=True)
