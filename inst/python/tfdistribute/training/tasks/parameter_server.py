"""Listening for the other tasks of a cluster, and serving variables to them."""

from __future__ import annotations

import time
from typing import Any

from tfdistribute import engine, task_events
from tfdistribute.cluster import peers
from tfdistribute.cluster.addresses import parse_address
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.ports import listener
from tfdistribute.errors import ClusterError, LostPeerError, PortError
from tfdistribute.training.history import History
from tfdistribute.training.tasks.assignment import Work
from tfdistribute.training.tasks.progress_file import began_here, mark_of_job

_POLL_S = 1.0
# Others may still be closing their sessions when the chief is done.
_LINGER_S = 3.0

# When the trainings began that this process has served to their end, by model_dir.
_served: dict[str, float] = {}


def listen(member: Member, config: Any = None) -> None:
    """Start the server of this task; a task without others has none.

    Args:
        member: The task.
        config: The ``tf.estimator.RunConfig`` of its training; None for a parameter server.

    Raises:
        ClusterError: the address cannot be listened at.
        PortError: another program listens there.
    """
    if member.is_alone:
        return
    strategy = None if config is None else config.train_distribute
    session_config = None if config is None else config.session_config
    address = member.address
    try:
        engine.tasks.start_server(member, strategy, session_config)
    except engine.tf.errors.OpError as error:
        place = parse_address(address)
        taken_by = None if place is None or place.port is None else listener(place.port)
        if taken_by is not None:
            raise PortError(
                f"{member.task} cannot listen at {address}: the port is taken by {taken_by}.",
                "Give the task another port, or end the other program.",
                argument="cluster",
                value=address,
            ) from error
        raise ClusterError(
            f"{member.task} cannot listen at {address}: {error.message}",
            "Give the address of this machine, with a port above 1023.",
            argument="cluster",
            value=address,
        ) from error


def serve(work: Work, member: Member) -> History:
    """Keep variables for the others until their training has ended.

    Under a supervisor, which ends this process, that is for ever. Otherwise the chief's mark in model_dir says when
    the training has ended; a parameter server that cannot see model_dir is ended by who started it.

    Args:
        work: The training.
        member: This parameter server.

    Returns:
        An empty history.

    Raises:
        KeyboardInterrupt: interrupted.
        LostPeerError: the chief never came, or is gone for longer than the deadline.
        PortError: another program listens at the task's address.
    """
    listen(member)
    task_events.emit("serving")
    chief, came = member.chief, False
    seen = time.monotonic()
    while True:
        time.sleep(_POLL_S)
        if task_events.is_supervised() or chief is None:
            continue
        if _has_ended(work, member, came):
            time.sleep(_LINGER_S)
            return History()
        if peers.is_listening(chief[1]):
            came, seen = True, time.monotonic()
        elif time.monotonic() - seen > work.deadline_s:
            raise LostPeerError(
                f"{member.task} has waited {work.deadline_s:g} seconds for {peers.format_tasks([chief])}, which "
                f"{'does not answer any more' if came else 'never came'}.",
                "Start every task of the cluster.",
                argument="cluster",
                value=chief[1],
            )


def _has_ended(work: Work, member: Member, came: bool) -> bool:
    model_dir = work.model.model_dir
    mark = mark_of_job(model_dir, member)
    if mark is None or mark.finished_step is None or mark.started <= _served.get(model_dir, 0.0):
        return False
    # A short training of a script with several may be over before this one is waited for.
    if not (came or began_here(mark)):
        return False
    _served[model_dir] = mark.started
    return True
