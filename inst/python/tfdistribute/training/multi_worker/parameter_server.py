"""Servers of tasks, and the work of a parameter server."""

import time
from typing import Any

from tfdistribute import engine, task_events
from tfdistribute.cluster.addresses import parse_address
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.peers import format_tasks
from tfdistribute.cluster.ports import listener
from tfdistribute.cluster.spec import Task, silence_s
from tfdistribute.cluster.task_facts import TaskFacts
from tfdistribute.errors import ClusterError, LostPeerError, PortError
from tfdistribute.training.history import History
from tfdistribute.training.multi_worker.assignment import TaskAssignment
from tfdistribute.training.multi_worker.handshake import Handshake
from tfdistribute.training.multi_worker.peers import Peers
from tfdistribute.training.multi_worker.resume import ProgressFile

_POLL_S = 1.0
# Other tasks may still be closing their sessions when the chief has finished.
_LINGER_S = 3.0

# Start times of the trainings that this process has served to their end, by model_dir.
_served: dict[str, float] = {}


def start_server(member: Member, config: Any = None) -> None:
    """Start the server of a task, unless it trains alone. A parameter server has no ``tf.estimator.RunConfig``."""
    if member.is_alone:
        return
    strategy = None if config is None else config.train_distribute
    session_config = None if config is None else config.session_config
    address = member.address
    try:
        engine.multi_worker.start_server(member, strategy, session_config)
    except engine.tf.errors.OpError as error:
        check_port(member)
        raise ClusterError(
            f"{member.task} cannot listen at {address}: {error.message}",
            "Give an address of this machine and a port above 1023.",
            argument="cluster",
            value=address,
        ) from error


def check_port(member: Member) -> None:
    """Raise PortError if another program listens at the port of a task."""
    parsed = parse_address(member.address)
    taken_by = None if parsed is None or parsed.port is None else listener(parsed.port)
    if taken_by is not None:
        raise PortError(
            f"{member.task} cannot listen at {member.address}: the port is taken by {taken_by}.",
            "Give the task another port, or end the other program.",
            argument="cluster",
            value=member.address,
        )


def serve_variables(assignment: TaskAssignment, peers: Peers) -> History:
    """Serve variables to the other tasks until their training has ended.

    Under a supervisor this never returns, because the supervisor ends the process. Otherwise the chief's progress file
    in model_dir shows the end. Raises LostPeerError if the chief never came, or no longer answers, and
    TfdistributeError if the chief is about to do something else, or has another model_dir.
    """
    member, model_dir = assignment.member, assignment.model.model_dir
    start_server(member)
    task_events.emit("serving")
    handshake = Handshake(peers, model_dir, assignment.start_timeout_s)
    handshake.announce(handshake.own)
    chief = member.chief
    if task_events.is_supervised() or chief is None:
        while True:
            time.sleep(_POLL_S)
    facts: TaskFacts | None = None
    while not has_ended(assignment, facts is not None):
        time.sleep(_POLL_S)
        _check_chief(assignment, peers, chief, facts is not None)
        if facts is None:
            facts = peers.facts_of(*chief)
            if facts is not None:
                handshake.compare(facts)
                handshake.check_directory(facts, ProgressFile(model_dir, member).mark)
    time.sleep(_LINGER_S)
    return History()


def _check_chief(
    assignment: TaskAssignment, peers: Peers, chief: tuple[Task, str], came: bool
) -> None:
    report = peers.report()
    if report is not None:
        raise report
    seconds = peers.silent([chief])[chief[0]]
    limit_s = silence_s(assignment.stall_timeout_s) if came else assignment.start_timeout_s
    if seconds > limit_s:
        raise LostPeerError(
            f"{assignment.member.task} has waited {seconds:.0f} seconds for {format_tasks([chief])}, which "
            f"{'no longer answers' if came else 'never came'}.",
            "Start every task of the cluster.",
            argument="cluster",
            value=chief[1],
        )


def has_ended(assignment: TaskAssignment, came: bool) -> bool:
    model_dir = assignment.model.model_dir
    record = ProgressFile(model_dir, assignment.member).read()
    if record is None or not record.is_finished or record.started <= _served.get(model_dir, 0.0):
        return False
    # In a script with several trainings, a short one may be over before this process waits for it.
    if not (came or record.is_recent):
        return False
    _served[model_dir] = record.started
    return True
