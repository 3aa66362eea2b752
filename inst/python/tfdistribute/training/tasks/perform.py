"""A task's part of a training: gradients, variables or evaluations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tfdistribute import engine, task_events
from tfdistribute.checkpoints.leftovers import tidy
from tfdistribute.interrupts import finish_step_on_interrupt
from tfdistribute.training.checks import check_specs, check_training
from tfdistribute.training.history import History
from tfdistribute.training.hooks import suppress_nan_error
from tfdistribute.training.preparation import Prepared, prepare_training
from tfdistribute.training.tasks.assignment import TaskAssignment
from tfdistribute.training.tasks.evaluator import evaluate_checkpoints
from tfdistribute.training.tasks.history import TaskHistory
from tfdistribute.training.tasks.inputs import NOT_SHARDED, for_task, is_sharded, skip_steps
from tfdistribute.training.tasks.parameter_server import serve_variables, start_server
from tfdistribute.training.tasks.peer_watch import watch_peers
from tfdistribute.training.tasks.progress_file import ProgressFile
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
    try:
        _check(assignment)
        if member.serves:
            history = serve_variables(assignment)
        elif member.evaluates:
            history = evaluate_checkpoints(assignment)
        else:
            history = _train(assignment)
    except Exception as error:
        task_events.emit_failure(error)
        raise
    step = _last_step(assignment, history)
    task_events.emit("finished", step=step, stopped_by=history.stopped_by)
    return history


def _check(assignment: TaskAssignment) -> None:
    model, spec = assignment.model, assignment.train
    if assignment.evaluation is None:
        check_training(model, spec.input, assignment.steps, spec.max_steps, spec.hooks)
    else:
        check_specs(model, spec, assignment.evaluation)


def _last_step(assignment: TaskAssignment, history: History) -> int:
    steps = [entry.get("global_step", 0) for entry in history.evaluations] or history.steps
    if assignment.member.is_chief:
        # With parameter servers, other tasks may have continued after this task's last step.
        steps = [*steps, global_step(assignment.model.model_dir)]
    return int(max(steps, default=0))


def _train(assignment: TaskAssignment) -> History:
    member, spec = assignment.member, assignment.train
    prepared = prepare_training(
        assignment.verb, assignment.model, assignment.settings, spec.input, member
    )
    task_events.emit("tensorflow")
    model_dir = prepared.model.model_dir
    progress = ProgressFile(model_dir, member)
    step = global_step(model_dir)
    first_step = progress.first_step(step)
    recorded: Any = contextlib.nullcontext()
    if member.is_chief:
        tidy(model_dir)
        recorded = progress.recorded(first_step)
    history = _history(assignment, prepared, first_step)
    with (
        history.saved(),
        recorded,
        translate_errors(assignment.verb),
        finish_step_on_interrupt() as stop,
        watch_peers(member, model_dir, assignment.peer_timeout_s, stop, history.last_step) as watch,
        spec.input.serving(),
        suppress_nan_error(spec.hooks),
    ):
        start_server(member, prepared.estimator.config)
        session = engine.tasks.TaskSession(
            prepared.estimator, member, watch, history, prepared.settings.steps_per_run
        )
        with session.in_place():
            prepared.estimator.train(
                _input_fn(assignment, prepared, step - first_step),
                max_steps=history.last_step,
                hooks=prepared.training_hooks(assignment.verb, history, stop, spec.hooks),
                saving_listeners=list(assignment.saving_listeners) or None,
            )
        if not stop() and history.stopped_by is None:
            watch.check_that_chief_has_ended()
    return history


def _history(assignment: TaskAssignment, prepared: Prepared, first_step: int) -> TaskHistory:
    member, spec = assignment.member, assignment.train
    max_steps = spec.max_steps if assignment.steps is None else first_step + assignment.steps
    ends = (max_steps, _last_step_of_data(assignment, prepared, first_step))
    last_step = min((step for step in ends if step is not None), default=None)
    batch = spec.input.facts().global_batch_size
    sharers = len(member.training_tasks) if member.in_step else 1
    own = None if batch is None else batch // sharers
    saved_in = assignment.model.model_dir if member.is_chief else None
    history = TaskHistory(
        batch, assignment.listener, last_step, member.is_chief, own, model_dir=saved_in
    )
    if not is_sharded(spec.input) and len(member.training_tasks) > 1:
        history.note(NOT_SHARDED)
    return history


def _last_step_of_data(
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


def _input_fn(assignment: TaskAssignment, prepared: Prepared, done: int) -> Callable[..., Any]:
    member = assignment.member
    input_fn = prepared.input_fn(assignment.train.input, "train", member.job_name)
    if prepared.estimator.config.train_distribute is None and member.servers:
        input_fn = for_task(input_fn, member)
    # Tasks out of step have shared the steps about evenly; how many each task took is not known.
    own_steps = done if member.in_step else done // len(member.training_tasks)
    return skip_steps(input_fn, own_steps, max(len(prepared.devices.train), 1))
