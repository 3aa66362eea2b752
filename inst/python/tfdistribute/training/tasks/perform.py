"""A training in a process that is a task of a cluster: some train, parameter servers serve, one evaluates."""

from __future__ import annotations

from typing import Any

from tfdistribute import checkpoints, engine, task_events
from tfdistribute.cluster.member import Member
from tfdistribute.sharding import BatchPlan, Shard
from tfdistribute.training.history import History
from tfdistribute.training.hooks import nan_may_end
from tfdistribute.training.interrupts import StopRequest, finish_step_on_interrupt
from tfdistribute.training.preparation import Prepared, prepare_training
from tfdistribute.training.tasks import progress_file
from tfdistribute.training.tasks.assignment import Work
from tfdistribute.training.tasks.evaluator import evaluate_checkpoints
from tfdistribute.training.tasks.history import TaskHistory
from tfdistribute.training.tasks.inputs import (
    READS_EVERYTHING,
    from_step,
    of_task,
    reads_everything,
)
from tfdistribute.training.tasks.parameter_server import listen, serve
from tfdistribute.training.tasks.peer_watch import Reach, reaching
from tfdistribute.training.tensorflow_errors import explained
from tfdistribute.training.train import check_training, training_hooks
from tfdistribute.training.train_and_evaluate import check_specs
from tfdistribute.training.variables import global_step


def perform(work: Work, member: Member) -> History:
    """Do a task's part of a training.

    Args:
        work: The training.
        member: The task that this process is.

    Returns:
        What this task saw: losses and its speed where it trains, evaluations where it evaluates.

    Raises:
        KeyboardInterrupt: interrupted; the chief has written the checkpoint of its last step.
        LostPeerError: another task never came, or is gone.
        PortError: another program listens at the task's address.
        TfdistributeError: as the verbs raise them.
    """
    task_events.dump_stacks_on_signal()
    try:
        _check(work)
        history = _part(work, member)
    except Exception as error:
        task_events.emit_failure(error)
        raise
    step = _last_step(work, member, history)
    task_events.emit("finished", step=step, stopped_by=history.stopped_by)
    return history


def _last_step(work: Work, member: Member, history: History) -> int:
    steps = [entry.get("global_step", 0) for entry in history.evaluations] or history.steps
    if member.is_chief:
        # Beside parameter servers others may have gone on after this task's last step.
        steps = [*steps, global_step(work.model.model_dir)]
    return int(max(steps, default=0))


def _check(work: Work) -> None:
    spec = work.train
    if work.evaluation is None:
        check_training(work.model, spec.source, work.steps, spec.max_steps, spec.hooks)
    else:
        check_specs(work.model, spec, work.evaluation)


def _part(work: Work, member: Member) -> History:
    if member.serves:
        return serve(work, member)
    if member.evaluates:
        return evaluate_checkpoints(work, member)
    return _train(work, member)


def _train(work: Work, member: Member) -> History:
    source, settings = work.train.source, work.settings
    prepared = prepare_training(work.verb, work.model, settings, source, member)
    task_events.emit("tensorflow")
    model_dir = prepared.model.model_dir
    step = global_step(model_dir)
    began = progress_file.first_step(model_dir, member, step)
    mark = None
    if member.is_chief:
        checkpoints.tidy(model_dir)
        mark = progress_file.begin(model_dir, member, step)
    max_steps = work.train.max_steps if work.steps is None else began + work.steps
    history = _history(
        work, member, _earlier(max_steps, _end_of_data(work, member, prepared, began))
    )
    if reads_everything(source) and len(member.training_tasks) > 1:
        history.note(READS_EVERYTHING)
    try:
        _in_session(work, member, prepared, history, step - began)
    except KeyboardInterrupt:
        # The last step's checkpoint is written.
        _finish(model_dir, mark, interrupted=True)
        raise
    _finish(model_dir, mark)
    return history


def _end_of_data(work: Work, member: Member, prepared: Prepared, began: int) -> int | None:
    """Count at which step the data ends, where that is known and the same for all.

    Who finds the end inside a step breaks off sums that the others have begun, and what is saved next may be such a
    sum as well.
    """
    facts = work.train.source.facts()
    if not member.in_step or facts.rows is None or facts.global_batch_size is None:
        return None
    pipelines = len(member.training_tasks)
    shard = Shard(pipelines, 0, pipelines * max(len(prepared.devices.train), 1))
    steps = BatchPlan(facts.rows, facts.epochs, facts.global_batch_size, shard).steps
    return None if steps is None else began + steps


def _earlier(first: int | None, second: int | None) -> int | None:
    return min((step for step in (first, second) if step is not None), default=None)


def _in_session(
    work: Work, member: Member, prepared: Prepared, history: TaskHistory, done: int
) -> None:
    source, model_dir = work.train.source, prepared.model.model_dir
    with (
        explained(work.verb),
        finish_step_on_interrupt() as stop,
        reaching(
            member, model_dir, member.in_step, work.deadline_s, stop, history.last_step
        ) as reach,
        source.serving(),
        nan_may_end(work.train.hooks),
    ):
        listen(member, prepared.estimator.config)
        engine.tasks.train(
            prepared.estimator,
            member,
            _calls(model_dir, history, reach, stop),
            _input_fn(work, member, prepared, done),
            history.last_step,
            training_hooks(work.verb, prepared, history, stop, work.train.hooks),
            work.saving_listeners,
            prepared.settings.steps_per_run,
        )
        if not stop() and history.stopped_by is None:
            reach.check_that_all_have_ended()


def _history(work: Work, member: Member, max_steps: int | None) -> TaskHistory:
    batch = work.train.source.facts().global_batch_size
    sharers = len(member.training_tasks) if member.in_step else 1
    own = None if batch is None else batch // sharers
    return TaskHistory(batch, work.listener, max_steps, member.is_chief, own)


def _calls(model_dir: str, history: TaskHistory, reach: Reach, stop: StopRequest) -> Any:
    def after_step(step: int, taken: int) -> None:
        reach.note_step(step)
        history.note_own_steps(step, taken)

    def at_session(step: int) -> None:
        task_events.emit("session", step=step)

    def after_save(prefix: str, step: int) -> None:
        checkpoints.note(model_dir, prefix)
        task_events.emit("checkpoint", step=step)

    return engine.tasks.Calls(
        before_session=reach.before_session,
        before_close=reach.before_close,
        at_session=at_session,
        before_run=reach.note_run,
        after_step=after_step,
        after_save=after_save,
        has_given_up=reach.has_given_up,
        # Who was asked to stop does not wait for the others.
        others_train=lambda: set() if stop() else reach.others_train(),
        note=history.note,
    )


def _input_fn(work: Work, member: Member, prepared: Prepared, done: int) -> Any:
    input_fn = work.train.source.input_fn("train", work.run_seed(member), packed=True)
    replicas = max(len(prepared.devices.train), 1)
    if prepared.estimator.config.train_distribute is None and member.servers:
        input_fn = of_task(input_fn, member)
    # Out of step, nobody knows which steps were whose: the tasks have shared them evenly, as far as that goes.
    own_steps = done if member.in_step else done // len(member.training_tasks)
    return from_step(input_fn, own_steps, replicas)


def _finish(model_dir: str, mark: progress_file.Mark | None, interrupted: bool = False) -> None:
    if mark is not None:
        progress_file.finish(model_dir, mark, global_step(model_dir), interrupted)
