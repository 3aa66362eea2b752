"""A task's part of a training: gradients, variables or evaluations."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tfdistribute import engine, task_events
from tfdistribute.cluster.addresses import without_proxy
from tfdistribute.cluster.agreement import SHARED_MEMORY, TaskFacts
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.files import canonical_path
from tfdistribute.interrupts import StopRequest, finish_step_on_interrupt
from tfdistribute.run_config import flattened
from tfdistribute.training.checks import check_specs, check_training
from tfdistribute.training.history import History
from tfdistribute.training.hooks import suppress_nan_error
from tfdistribute.training.preparation import Prepared, prepare_training
from tfdistribute.training.remote.lease import Lease, leased
from tfdistribute.training.tasks.agreement import Agreement, Waiting
from tfdistribute.training.tasks.assignment import TaskAssignment
from tfdistribute.training.tasks.begin import (
    complete,
    last_step_of_data,
    learn_from_chief,
    recorded,
)
from tfdistribute.training.tasks.evaluator import evaluate_checkpoints
from tfdistribute.training.tasks.history import TaskHistory
from tfdistribute.training.tasks.inputs import NOT_SHARDED, for_task, skip_steps
from tfdistribute.training.tasks.parameter_server import serve_variables, start_server
from tfdistribute.training.tasks.peer_watch import PeerWatch, translate_losses
from tfdistribute.training.tasks.peers import Peers
from tfdistribute.training.tensorflow_errors import translate_errors
from tfdistribute.training.variables import global_step


def perform(assignment: TaskAssignment) -> History:
    """Perform a task's part of a training, and return what the task saw of it.

    Raises:
        KeyboardInterrupt: interrupted; the chief has written the checkpoint of its last step.
        LostPeerError: another task never started, or is gone.
        PortError: another program listens at the task's address.
        TfdistributeError: as raised by the verbs.
    """
    member = assignment.member
    task_events.dump_stacks_on_signal()
    with (
        without_proxy(itertools.chain.from_iterable(member.cluster.values())),
        contextlib.ExitStack() as ending,
    ):
        peers = Peers(member)
        try:
            _check(assignment)
            if member.serves:
                history = serve_variables(assignment, peers)
            elif member.evaluates:
                history = evaluate_checkpoints(assignment, peers)
            else:
                with _lease(assignment) as lease:
                    history = _train(assignment, peers, lease, ending)
        except BaseException as error:
            if isinstance(error, Exception):
                task_events.emit_failure(error)
            peers.tell(error)
            raise
        finally:
            peers.close()
    step = _last_step(assignment, history)
    task_events.emit("finished", step=step, stopped_by=history.stopped_by)
    return history


def _check(assignment: TaskAssignment) -> None:
    model, spec = assignment.model, assignment.train
    _check_lock(model.model_dir)
    if assignment.evaluation is None:
        check_training(model, spec.input, assignment.steps, spec.max_steps, spec.hooks)
    else:
        check_specs(model, spec, assignment.evaluation)


def _check_lock(model_dir: str) -> None:
    """Check that the job has locked the directory in which this task trains."""
    locked = os.environ.get(task_events.MODEL_DIR)
    if locked and canonical_path(locked) != canonical_path(model_dir):
        raise ModelDirectoryError(
            f'`model_dir` "{model_dir}" is not the directory of this job, which has locked "{locked}".',
            "Start the job again: its files name two directories.",
            argument="model_dir",
            value=model_dir,
        )


def _last_step(assignment: TaskAssignment, history: History) -> int:
    steps = [entry.get("global_step", 0) for entry in history.evaluations] or history.steps
    if assignment.member.is_chief:
        # With parameter servers, other tasks may have continued after this task's last step.
        steps = [*steps, global_step(assignment.model.model_dir)]
    return int(max(steps, default=0))


def _lease(assignment: TaskAssignment) -> AbstractContextManager[Lease | None]:
    """Hold the lease on a remote model_dir inside the block, as the chief; others get None."""
    member = assignment.member
    if not member.is_chief:
        return contextlib.nullcontext()
    # The tasks of two hosts may have the same loopback addresses.
    job = (
        member.job_name if task_events.is_in_job() else f"{socket.gethostname()} {member.job_name}"
    )
    return leased(assignment.model.model_dir, job)


def _train(
    assignment: TaskAssignment,
    peers: Peers,
    lease: Lease | None,
    ending: contextlib.ExitStack,
) -> History:
    member, spec = assignment.member, assignment.train
    model_dir = assignment.model.model_dir
    with translate_errors(assignment.verb, model_dir):
        prepared = prepare_training(
            assignment.verb, assignment.model, assignment.settings, spec.input, member
        )
    task_events.emit("tensorflow")
    with (
        contextlib.ExitStack() as outermost,
        translate_errors(assignment.verb, model_dir),
        recorded(assignment, prepared, peers) as known,
        finish_step_on_interrupt() as stop,
        spec.input.serving(),
        suppress_nan_error(spec.hooks),
    ):
        start_server(member, prepared.estimator.config)
        sums = _sums(assignment, prepared)
        # The others find out that this task is gone only after it has told them why.
        ending.callback(sums.close)
        begin, history, watch = _agree(assignment, prepared, peers, known, stop, sums)
        if lease is not None:
            watch.lease_loss = lease.loss
        outermost.enter_context(history.saved())
        with translate_losses(watch):
            session = engine.tasks.TaskSession(
                prepared.estimator, member, watch, history, prepared.settings.steps_per_run, sums
            )
            with session.in_place():
                prepared.estimator.train(
                    _input_fn(assignment, prepared, begin),
                    max_steps=history.last_step,
                    hooks=prepared.training_hooks(assignment.verb, history, stop, spec.hooks),
                    saving_listeners=list(assignment.saving_listeners) or None,
                )
            if not stop() and history.stopped_by is None:
                watch.check_that_chief_has_ended()
    return history


def _agree(
    assignment: TaskAssignment,
    prepared: Prepared,
    peers: Peers,
    known: TaskFacts | None,
    stop: StopRequest,
    sums: Any,
) -> tuple[TaskFacts, TaskHistory, PeerWatch]:
    """Find out where the training begins, and let the others know; they agree when the session is created."""
    model_dir, start_timeout_s = prepared.model.model_dir, assignment.start_timeout_s
    agreement = Agreement(peers, Waiting(start_timeout_s, stop), model_dir)
    begin = known or learn_from_chief(assignment, prepared, agreement)
    history = _history(assignment, prepared, begin.first_step or 0)
    if not assignment.member.is_alone:
        facts = complete(begin, assignment, prepared, history.last_step)
        agreement.announce(dataclasses.replace(facts, machine=sums.machine, socket=sums.socket))
    stall_timeout_s, last_step = assignment.stall_timeout_s, history.last_step
    watch = PeerWatch(
        peers, agreement, model_dir, start_timeout_s, stall_timeout_s, stop, last_step
    )
    return begin, history, watch


def _sums(assignment: TaskAssignment, prepared: Prepared) -> Any:
    """Prepare the sums over the workers of a training."""
    member, strategy = assignment.member, prepared.settings.train_distribute
    on_cpus = not any("GPU" in device for device in flattened(prepared.devices.train))
    communication = getattr(strategy, "communication", None)
    return engine.collectives.WorkerSums(
        member.rank,
        len(member.training_tasks),
        member.in_step and on_cpus and communication in ("auto", SHARED_MEMORY),
        member.in_step and getattr(strategy, "compression", "none") == "bfloat16",
        engine.tasks.cores(),
    )


def _history(assignment: TaskAssignment, prepared: Prepared, first_step: int) -> TaskHistory:
    member, spec = assignment.member, assignment.train
    max_steps = spec.max_steps if assignment.steps is None else first_step + assignment.steps
    ends = (max_steps, last_step_of_data(assignment, prepared, first_step))
    last_step = min((step for step in ends if step is not None), default=None)
    batch = spec.input.facts().global_batch_size
    sharers = len(member.training_tasks) if member.in_step else 1
    own = None if batch is None else batch // sharers
    saved_in = assignment.model.model_dir if member.is_chief else None
    history = TaskHistory(
        batch, assignment.listener, last_step, member.is_chief, own, model_dir=saved_in
    )
    if spec.input.shard_order() == "none" and len(member.training_tasks) > 1:
        history.note(NOT_SHARDED)
    return history


def _input_fn(
    assignment: TaskAssignment, prepared: Prepared, begin: TaskFacts
) -> Callable[..., Any]:
    member = assignment.member
    done = (begin.step or 0) - (begin.first_step or 0)
    input_fn = prepared.input_fn(assignment.train.input, "train", member.job_name)
    if prepared.estimator.config.train_distribute is None and member.servers:
        input_fn = for_task(input_fn, member)
    # Tasks out of step have shared the steps about evenly; how many each task took is not known.
    own_steps = done if member.in_step else done // len(member.training_tasks)
    return skip_steps(input_fn, own_steps, max(len(prepared.devices.train), 1))
