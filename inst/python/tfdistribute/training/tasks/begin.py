"""Begin of a task's training: the step, which the chief knows, and what the task tells the others."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator

from tfdistribute.checkpoints.leftovers import tidy
from tfdistribute.cluster.agreement import TaskFacts
from tfdistribute.training.preparation import Prepared
from tfdistribute.training.tasks.agreement import SHARE_S, Agreement
from tfdistribute.training.tasks.assignment import TaskAssignment
from tfdistribute.training.tasks.peers import Peers
from tfdistribute.training.tasks.progress_file import ProgressFile
from tfdistribute.training.variables import global_step

_POLL_S = 0.2


@contextlib.contextmanager
def recorded(
    assignment: TaskAssignment, prepared: Prepared, peers: Peers
) -> Iterator[TaskFacts | None]:
    """Record the training inside the block, as the chief, which knows where it begins; other tasks get None."""
    if not assignment.member.is_chief:
        yield None
        return
    model_dir = prepared.model.model_dir
    tidy(model_dir)
    step = global_step(model_dir)
    progress = ProgressFile(model_dir, assignment.member)
    first_step = progress.first_step(step)
    with progress.recorded(first_step) as record:
        yield peers.facts(model_dir=model_dir, step=step, first_step=first_step, mark=record.mark)


def learn_from_chief(
    assignment: TaskAssignment, prepared: Prepared, agreement: Agreement
) -> TaskFacts:
    member, model_dir = assignment.member, prepared.model.model_dir
    # The others see that an earlier training of this process is over.
    agreement.announce(agreement.own)
    chief = agreement.facts_of_chief()
    agreement.compare(chief)
    agreement.check_directory(chief, ProgressFile(model_dir, member).mark)
    step, end = global_step(model_dir), time.monotonic() + SHARE_S
    while member.in_step and step != chief.step and time.monotonic() < end:
        # A network file system may show the newest checkpoint late.
        time.sleep(_POLL_S)
        step = global_step(model_dir)
    return dataclasses.replace(agreement.own, step=step, first_step=chief.first_step)


def last_step_of_data(
    assignment: TaskAssignment, prepared: Prepared, first_step: int
) -> int | None:
    """Return the step at which the data ends, if it is known and the same for all tasks.

    A task that runs out of data mid-step aborts collectives its peers have started, and the next checkpoint may need
    one of them.
    """
    member = assignment.member
    if not member.in_step:
        return None
    steps = prepared.steps_of(assignment.train.input, len(member.training_tasks))
    return None if steps is None else first_step + steps
