"""A task's part of a training: gradients, variables or evaluations."""

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from tfdistribute import engine, task_events
from tfdistribute.cluster.addresses import without_proxy
from tfdistribute.cluster.task_facts import SHARED_MEMORY
from tfdistribute.interrupts import StopRequest, finish_step_on_interrupt
from tfdistribute.run_config import flatten
from tfdistribute.training.history import History
from tfdistribute.training.hooks import suppress_nan_error
from tfdistribute.training.model_directory import global_step, hold_model_dir
from tfdistribute.training.multi_worker.assignment import TaskAssignment, holder_of
from tfdistribute.training.multi_worker.evaluator import evaluate_checkpoints
from tfdistribute.training.multi_worker.handshake import Handshake
from tfdistribute.training.multi_worker.history import TaskHistory
from tfdistribute.training.multi_worker.inputs import training_input_fn
from tfdistribute.training.multi_worker.parameter_server import serve_variables, start_server
from tfdistribute.training.multi_worker.peer_watch import PeerWatch, translate_losses
from tfdistribute.training.multi_worker.peers import Peers
from tfdistribute.training.multi_worker.resume import (
    ProgressFile,
    learn_from_chief,
    record_training,
)
from tfdistribute.training.preparation import prepare_training
from tfdistribute.training.remote.lease import Lease, uploads
from tfdistribute.training.tensorflow_errors import translate_errors
from tfdistribute.training.tracking import tracked

# How long the chief may take to save a checkpoint for a task that must end.
_SAVE_S = 15.0


def perform(
    assignment: TaskAssignment, make_run: Callable[..., Any], is_last: bool = True
) -> History:
    """Perform a task's part of a training, and return what the task saw of it.

    ``make_run`` makes the ``TaskRun`` of a task that trains from its assignment and its peers. A training that
    ``is_last`` finishes the task.

    Raises:
        KeyboardInterrupt: if interrupted. The chief has written the checkpoint of its last step.
        LostPeerError: if another task never started, or is gone.
        PortError: if another program listens at the task's address.
        TfdistributeError: as raised by the verbs.
    """
    member = assignment.member
    task_events.dump_stacks_on_signal()
    peers = Peers(member)
    with (
        without_proxy(itertools.chain.from_iterable(member.cluster.values())),
        # The others find out that this task is gone only after it has told them why.
        contextlib.closing(make_run(assignment, peers)) as run,
        peers.report_failure(),
    ):
        assignment.check()
        if member.serves:
            history = serve_variables(assignment, peers)
        elif member.evaluates:
            history = evaluate_checkpoints(assignment, peers)
        else:
            with run.open():
                run.meet()
                history = run.train()
    if is_last:
        step = _last_step(assignment, history)
        task_events.emit("finished", step=step, stopped_by=history.stopped_by)
    return history


class TaskRun:
    """The run of one task that trains, once.

    1. ``open``: the chief holds model_dir and records the training. The Estimator is made, and the server started.
    2. ``meet``: the others learn from the chief where the training begins. Each announces what it is about to do.
    3. ``train``: once the variables are known, the announcements are compared; then all train and watch each other.
    4. ``close``: the others find out that this task is gone.
    """

    def __init__(self, assignment: TaskAssignment, peers: Peers) -> None:
        self._assignment = assignment
        self._member = assignment.member
        self._peers = peers
        self._all_reduce: Any = None

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        assignment, source = self._assignment, self._assignment.train.input
        model_dir = assignment.model.model_dir
        with contextlib.ExitStack() as stack:
            self._lease = stack.enter_context(_lease(assignment))
            self._history = TaskHistory.of(assignment)
            # Saved last, with the error as the user gets it.
            stack.enter_context(self._history.save())
            stack.enter_context(translate_errors(assignment.verb, model_dir))
            self._prepared = self._prepare()
            task_events.emit("tensorflow")
            if self._member.is_chief:
                stack.enter_context(tracked(assignment.model, assignment.settings, self._history))
            for text in assignment.notes if self._member.is_chief else ():
                self._history.note(text)
            if ProgressFile(model_dir, self._member).has_other_workers:
                self._history.note_other_shards(source)
            self._start = stack.enter_context(record_training(self._peers, model_dir))
            self._stop = stack.enter_context(finish_step_on_interrupt(self._request_of_task()))
            stack.enter_context(source.serving())
            stack.enter_context(suppress_nan_error(assignment.train.hooks))
            self._serve()
            yield

    def _request_of_task(self) -> StopRequest:
        member = self._member
        # A supervisor decides what follows from the end of a task.
        if not member.in_step or member.is_chief or task_events.is_supervised():
            return StopRequest()
        return StopRequest(before=self._peers.ask_chief_to_stop, patience_s=_SAVE_S)

    def _prepare(self) -> Any:
        assignment = self._assignment
        source = assignment.train.input
        return prepare_training(
            assignment.verb, assignment.model, assignment.settings, source, self._member
        )

    def _serve(self) -> None:
        start_server(self._member, self._prepared.estimator.config)
        self._all_reduce = self._new_all_reduce()

    def meet(self) -> None:
        assignment, prepared, history = self._assignment, self._prepared, self._history
        handshake = Handshake(
            self._peers, prepared.model.model_dir, assignment.start_timeout_s, self._stop
        )
        start = self._start or learn_from_chief(handshake)
        first_step = start.first_step or 0
        self._first_step = first_step
        self._steps_done = (start.step or 0) - first_step
        history.last_step = self._end(first_step)
        if not self._member.is_alone:
            facts = dataclasses.replace(
                start,
                last_step=history.last_step,
                communication=self._communication,
                machine=self._all_reduce.domain,
                socket=self._all_reduce.socket,
            )
            handshake.announce(facts, assignment.entries(prepared.model))
        self._watch = PeerWatch(
            handshake, assignment.stall_timeout_s, history.last_step, self._lease
        )

    def train(self) -> History:
        assignment, prepared, history = self._assignment, self._prepared, self._history
        spec = assignment.train
        writes = contextlib.nullcontext()
        if self._member.is_chief:
            writes = uploads(assignment.model.model_dir)
        with translate_losses(self._watch), writes:
            trainer = engine.multi_worker.TaskTrainer(
                prepared.estimator,
                self._member,
                self._watch,
                history,
                prepared.settings.steps_per_run,
                self._all_reduce,
            )
            with trainer.in_place():
                prepared.estimator.train(
                    training_input_fn(
                        prepared, spec.input, self._member, self._first_step, self._steps_done
                    ),
                    max_steps=history.last_step,
                    hooks=prepared.training_hooks(assignment.verb, history, self._stop, spec.hooks),
                    saving_listeners=list(assignment.saving_listeners) or None,
                )
            if not self._stop.requested and history.stopped_by is None:
                self._watch.check_that_chief_has_ended()
        return history

    def close(self) -> None:
        if self._all_reduce is not None:
            self._all_reduce.close()

    @property
    def _communication(self) -> str | None:
        if not engine.step.passes.is_on("all_reduce"):
            return None
        return getattr(self._prepared.settings.strategy, "communication", None)

    def _new_all_reduce(self) -> Any:
        member, strategy = self._member, self._prepared.settings.strategy
        on_cpus = not any("GPU" in device for device in flatten(self._prepared.devices.train))
        return engine.step.all_reduce.AllReduce(
            member.rank,
            len(member.training_tasks),
            member.in_step and on_cpus and self._communication in ("auto", SHARED_MEMORY),
            member.in_step and getattr(strategy, "compression", "none") == "bfloat16",
        )

    def _end(self, first_step: int) -> int | None:
        assignment, member = self._assignment, self._member
        steps = assignment.steps
        ends = [assignment.train.max_steps if steps is None else first_step + steps]
        if member.in_step:
            # A task that runs out of data mid-step aborts collectives its peers have started, and the next checkpoint
            # may need one of them. Tasks out of step read different numbers of batches.
            steps = self._prepared.steps_of(assignment.train.input, len(member.training_tasks))
            ends.append(None if steps is None else first_step + steps)
        return min((end for end in ends if end is not None), default=None)


def _lease(assignment: TaskAssignment) -> AbstractContextManager[Lease | None]:
    """Hold model_dir inside the block, as the chief; None if it is not remote, and for others."""
    member = assignment.member
    if not member.is_chief:
        return contextlib.nullcontext()
    return hold_model_dir(assignment.model.model_dir, holder_of(member))


def _last_step(assignment: TaskAssignment, history: History) -> int:
    steps = [entry.get("global_step", 0) for entry in history.evaluations] or history.steps
    if assignment.member.is_chief:
        # With parameter servers, other tasks may have continued after this task's last step.
        steps = [*steps, global_step(assignment.model.model_dir)]
    return int(max(steps, default=0))
