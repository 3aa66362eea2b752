"""A task's part of a training: gradients, variables or evaluations."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from tfdistribute import engine, task_events
from tfdistribute.cluster.addresses import without_proxy
from tfdistribute.cluster.agreement import SHARED_MEMORY
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.files import canonical_path
from tfdistribute.interrupts import finish_step_on_interrupt
from tfdistribute.run_config import flattened
from tfdistribute.training.checks import check_specs, check_training
from tfdistribute.training.history import History
from tfdistribute.training.hooks import suppress_nan_error
from tfdistribute.training.preparation import Prepared, prepare_training
from tfdistribute.training.remote.lease import Lease, leased
from tfdistribute.training.tasks.agreement import Agreement, Waiting
from tfdistribute.training.tasks.assignment import TaskAssignment
from tfdistribute.training.tasks.begin import last_step_of_data, learn_from_chief, recorded
from tfdistribute.training.tasks.evaluator import evaluate_checkpoints
from tfdistribute.training.tasks.history import TaskHistory
from tfdistribute.training.tasks.inputs import NOT_SHARDED, for_task, skip_steps
from tfdistribute.training.tasks.parameter_server import serve_variables, start_server
from tfdistribute.training.tasks.peer_watch import PeerWatch, translate_losses
from tfdistribute.training.tasks.peers import Peers
from tfdistribute.training.tasks.work import work_of
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
                # The others find out that this task is gone only after it has told them why.
                run = ending.enter_context(contextlib.closing(TaskRun(assignment, peers)))
                with _lease(assignment) as lease, run.open():
                    run.meet(lease)
                    history = run.train()
        except BaseException as error:
            if isinstance(error, Exception):
                task_events.emit_failure(error)
            peers.tell(error)
            raise
        finally:
            peers.close()
    task_events.emit(
        "finished", step=_last_step(assignment, history), stopped_by=history.stopped_by
    )
    return history


def _check(assignment: TaskAssignment) -> None:
    model, spec = assignment.model, assignment.train
    _check_lock(model.model_dir)
    if assignment.evaluation is None:
        check_training(model, spec.input, assignment.steps, spec.max_steps, spec.hooks)
    else:
        check_specs(model, spec, assignment.evaluation)


def _check_lock(model_dir: str) -> None:
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


class TaskRun:
    """The run of one task, once.

    Args:
        assignment: What the task does.
        peers: The other tasks.
    """

    def __init__(self, assignment: TaskAssignment, peers: Peers) -> None:
        self._assignment = assignment
        self._member = assignment.member
        self._peers = peers
        self._sums: Any = None

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Hold what a training needs inside the block.

        That is the Estimator, the record of the training (by the chief), the input and TensorFlow's server.
        """
        assignment, member, spec = self._assignment, self._member, self._assignment.train
        with contextlib.ExitStack() as saving, contextlib.ExitStack() as opened:
            # The history is saved last, with the error as the user gets it.
            self._saving = saving
            opened.enter_context(translate_errors(assignment.verb, assignment.model.model_dir))
            self._prepared = prepared = prepare_training(
                assignment.verb, assignment.model, assignment.settings, spec.input, member
            )
            task_events.emit("tensorflow")
            self._known = opened.enter_context(recorded(assignment, prepared, self._peers))
            self._stop = opened.enter_context(finish_step_on_interrupt())
            opened.enter_context(spec.input.serving())
            opened.enter_context(suppress_nan_error(spec.hooks))
            start_server(member, prepared.estimator.config)
            self._sums = _worker_sums(assignment, prepared)
            yield

    def meet(self, lease: Lease | None) -> None:
        """Find out where the training begins, and let the others know; they agree when the session is created.

        ``lease`` is the chief's on a remote model_dir.
        """
        assignment, prepared, sums = self._assignment, self._prepared, self._sums
        model_dir, start_timeout_s = prepared.model.model_dir, assignment.start_timeout_s
        agreement = Agreement(self._peers, Waiting(start_timeout_s, self._stop), model_dir)
        begin = self._known or learn_from_chief(assignment, prepared, agreement)
        self._history = history = _new_history(assignment, prepared, begin.first_step or 0)
        if not self._member.is_alone:
            facts = dataclasses.replace(
                begin,
                last_step=history.last_step,
                communication=_communication(prepared),
                machine=sums.machine,
                socket=sums.socket,
            )
            agreement.announce(facts, work_of(assignment, prepared))
        self._watch = PeerWatch(
            self._peers,
            agreement,
            model_dir,
            start_timeout_s,
            assignment.stall_timeout_s,
            self._stop,
            history.last_step,
        )
        if lease is not None:
            self._watch.lease_loss = lease.loss
        self._steps_done = (begin.step or 0) - (begin.first_step or 0)

    def train(self) -> History:
        """Train, and return what this task saw of it."""
        assignment, prepared, history = self._assignment, self._prepared, self._history
        steps_per_run = prepared.settings.steps_per_run
        self._saving.enter_context(history.saved())
        with translate_losses(self._watch):
            session = engine.tasks.TaskSession(
                prepared.estimator, self._member, self._watch, history, steps_per_run, self._sums
            )
            hooks = assignment.train.hooks
            with session.in_place():
                prepared.estimator.train(
                    self._input_fn(),
                    max_steps=history.last_step,
                    hooks=prepared.training_hooks(assignment.verb, history, self._stop, hooks),
                    saving_listeners=list(assignment.saving_listeners) or None,
                )
            if not self._stop() and history.stopped_by is None:
                self._watch.check_that_chief_has_ended()
        return history

    def close(self) -> None:
        """End the sums over the workers, which tells the others that this task is gone."""
        if self._sums is not None:
            self._sums.close()

    def _input_fn(self) -> Callable[..., Any]:
        member, prepared, done = self._member, self._prepared, self._steps_done
        input_fn = prepared.input_fn(self._assignment.train.input, "train", member.job_name)
        if prepared.estimator.config.train_distribute is None and member.servers:
            input_fn = for_task(input_fn, member)
        # Tasks out of step have shared the steps about evenly; how many each task took is not known.
        own_steps = done if member.in_step else done // len(member.training_tasks)
        return skip_steps(input_fn, own_steps, max(len(prepared.devices.train), 1))


def _communication(prepared: Prepared) -> str | None:
    if not engine.step.passes.is_on("all_reduce"):
        return None
    return getattr(prepared.settings.train_distribute, "communication", None)


def _worker_sums(assignment: TaskAssignment, prepared: Prepared) -> Any:
    member, strategy = assignment.member, prepared.settings.train_distribute
    on_cpus = not any("GPU" in device for device in flattened(prepared.devices.train))
    communication = getattr(strategy, "communication", None)
    return engine.step.all_reduce.AllReduce(
        member.rank,
        len(member.training_tasks),
        member.in_step and on_cpus and communication in ("auto", SHARED_MEMORY),
        member.in_step and getattr(strategy, "compression", "none") == "bfloat16",
    )


def _new_history(assignment: TaskAssignment, prepared: Prepared, first_step: int) -> TaskHistory:
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
