"""The verb that trains a model, its ways of training, and copies of an Estimator under another run configuration."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from tfdistribute import engine, task_events
from tfdistribute.cluster.member import Member, enter_cluster
from tfdistribute.cluster.peers import format_tasks
from tfdistribute.environment import changed_variable
from tfdistribute.errors import UnsupportedError
from tfdistribute.files import is_remote
from tfdistribute.inputs import Input
from tfdistribute.models import Model, Tabular, TabularRegressor, Wrapped
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import History, Listener
from tfdistribute.training.model_directory import as_trained
from tfdistribute.training.multi_worker.assignment import TaskAssignment
from tfdistribute.training.multi_worker.perform import TaskRun, perform
from tfdistribute.training.predict import concatenate, predict
from tfdistribute.training.preparation import TrainingHere, prepare_estimator, training_here
from tfdistribute.training.specs import Start, Training, TrainSpec
from tfdistribute.training.tabular import (
    Team,
    await_readers,
    check_trains,
    choose_end,
    chosen_by_chief,
    forget_choice,
    training_note,
    write_start,
)
from tfdistribute.training.trees import GrowingTask, begin_growth, grow_here


def train(
    model: Model,
    settings: RunSettings,
    source: Input,
    *,
    steps: int | None = None,
    max_steps: int | None = None,
    hooks: Sequence[Any] = (),
    saving_listeners: Sequence[Any] = (),
    listener: Listener | None = None,
    validation: Input | None = None,
) -> History:
    """Train until the steps are done or the input ends.

    Training continues from the newest checkpoint in the model's model_dir. A process that is a task of a cluster
    performs its part of the training. An evaluator returns immediately.

    Args:
        steps: Steps to take from here; None for no limit.
        max_steps: Global step to stop at; None for no limit. Not together with steps.
        saving_listeners: tf.estimator.CheckpointSaverListener objects.
        listener: Called with the progress, at most ten times a second.
        validation: Rows by which a model chooses its end; None for a share of its own rows.

    Returns:
        Losses by step and the speed, as this process saw them.

    Raises:
        ArgumentError: if both steps and max_steps are given.
        InputError: if the input never ends and no step count ends the training.
        KeyboardInterrupt: if interrupted. The checkpoint of the last step is written.
        TfdistributeError: see ``prepare_training``, ``translate_errors`` and ``perform``.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#train
    """
    member, trainer = enter_cluster(settings.cluster, settings.protocol), trainer_of(model)
    spec = TrainSpec(source, max_steps, tuple(hooks))
    asked = Training(
        *("train", model, settings, spec, None, steps, saving_listeners, listener),
        validation=validation,
    )
    training = trainer.begin(asked, member)
    if member is None:
        return train_here(training)
    if training.start is None:
        history = perform(TaskAssignment(**vars(training), member=member), trainer.task)
    else:
        history = _write_alone(training, member)
    # The other tasks of a job read a choice that trains nothing when they come to it.
    is_read = training.start is None or not task_events.is_in_job()
    if isinstance(model, Tabular) and member.is_chief and is_read:
        forget_choice(model.model_dir)
    return history


class Trainer(Protocol):
    """One way of training a model, after its rows and settings are checked.

    Args:
        task: Makes the run of one task of a cluster from its assignment and its peers.
    """

    task: Callable[..., Any]

    def begin(self, training: Training, member: Member | None) -> Training:
        """Complete a training as a user asked for it, with what the model learns from its rows before."""
        ...

    def train(self, here: TrainingHere, training: Training) -> None:
        """Train in this process, and write the last checkpoint."""
        ...


class Steps:
    """Steps of TensorFlow, with evaluations between them if the training has a specification of them."""

    task = TaskRun

    def begin(self, training: Training, member: Member | None) -> Training:
        source = as_trained(training.model).reading(training.train.input)
        return replace(training, train=replace(training.train, input=source))

    def train(self, here: TrainingHere, training: Training) -> None:
        estimator, spec, tf = here.prepared.estimator, training.evaluation, engine.tf
        if spec is None:
            estimator.train(steps=training.steps, **here.arguments)
            return
        tf.estimator.train_and_evaluate(
            estimator,
            tf.estimator.TrainSpec(**here.arguments),
            tf.estimator.EvalSpec(
                # The evaluation has its own.
                input_fn=lambda: None,
                exporters=list(spec.exporters),
                start_delay_secs=spec.start_delay_secs,
                throttle_secs=spec.throttle_secs,
            ),
        )


class ChosenSteps(Steps):
    """Steps of a tabular model, which chooses its parts and their number first."""

    def begin(self, training: Training, member: Member | None) -> Training:
        spec = training.train
        check_trains(training.verb, training.model, training.steps, spec.max_steps)
        if member is not None and member.evaluates:
            return super().begin(training, member)
        model, source, start = _with_end(training, member)
        assert model.table is not None
        notes = (training_note(model, start is not None),)
        if start is not None and (spec.hooks or training.saving_listeners):
            notes += (
                "Hooks do not act on parts that are chosen. They act on a model with `epochs`.",
            )
        spec = replace(spec, input=source, max_steps=model.table.end)
        completed = replace(training, model=model, train=spec, notes=notes, start=start)
        return super().begin(completed, member)

    def train(self, here: TrainingHere, training: Training) -> None:
        if training.start is not None:
            write_start(here.prepared, training.start, here.history)
        super().train(here, training)


class Trees:
    """Growth of trees by ydf."""

    task = GrowingTask
    begin = staticmethod(begin_growth)
    train = staticmethod(grow_here)


TRAINERS: dict[str, Trainer] = {"steps": Steps(), "chosen_steps": ChosenSteps(), "trees": Trees()}


def trainer_of(model: Model) -> Trainer:
    return TRAINERS[model.trainer]


def train_here(training: Training) -> History:
    training.check()
    with training_here(training) as here:
        trainer_of(training.model).train(here, training)
    return here.history


def _write_alone(training: Training, member: Member) -> History:
    """Let the chief write the model that it has chosen and trained, for which the other tasks are not needed."""
    history, settings = History(), replace(training.settings, strategy=None, cluster=None)
    # A chief that was restarted has written the variables before.
    if member.is_chief and training.start is not None and training.start.variables:
        with changed_variable("TF_CONFIG", None):
            history = train_here(replace(training, settings=settings))
        for text in history.notes:
            task_events.emit("note", text=text)
        if not task_events.is_in_job() and (missing := await_readers(training, member)):
            history.note(f"The model is trained, but {format_tasks(missing)} did not come for it.")
    task_events.emit("finished", step=training.train.max_steps, stopped_by=None)
    return history


def _with_end(training: Training, member: Member | None) -> tuple[Tabular, Input, Start | None]:
    """Return a tabular model with the end of its training, its rows in batches without end, and where it begins."""
    model, source = training.model, training.train.input
    assert isinstance(model, Tabular)

    def choose(
        settings: RunSettings, listener: Listener | None, team: Team | None = None
    ) -> tuple[Tabular, Start | None]:
        known = listener, training.validation, team
        return choose_end(model, settings, source, train_here, _logits, *known)

    if member is None:
        # Files are read once.
        source = as_trained(model).learning(source)
        chosen, start = choose(training.settings, training.listener)
    else:
        # Each task reads its own part.
        chosen, start = chosen_by_chief(training, member, choose)
        source = as_trained(chosen).learning(source, in_memory=False)
    assert chosen.table is not None
    return chosen, source.repeated(chosen.table.batch_size), start


def _logits(model: Any, settings: RunSettings, source: Input) -> Any:
    """Return the logits of layers alone."""
    is_number = isinstance(model, TabularRegressor)
    # Bounds of predictions are none of their parts.
    model, key = (replace(model, clip=False), "predictions") if is_number else (model, "logits")
    batches = predict(model, settings, source, predict_keys=[key], in_large_batches=True)
    found = concatenate(batches)[key].astype(np.float64)
    found = model.standardized(found)
    return np.log(found) if model.row_loss[0] == "poisson" else found


def distribute(estimator: Any, settings: RunSettings, *, calls_r: bool = False) -> Any:
    """Copy an Estimator under a run configuration, with this package's repairs.

    The copy is a ``tf.estimator.Estimator`` for any code that uses one. It continues from the checkpoints of the
    original, and without a ``model_dir`` in the settings keeps its directory. If the model may call R functions
    (``calls_r``), replicas run on the calling thread. Raises ArgumentError if estimator is not an Estimator,
    RunConfigError if a rule of the preflight table rejects the settings, StrategyError if a device does not exist, and
    UnsupportedError if the model cannot be distributed.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/RunConfig
    """
    model_dir = settings.model_dir or getattr(estimator, "model_dir", "")
    if is_remote(model_dir):
        raise UnsupportedError(
            f'`model_dir` "{model_dir}" is in a bucket, to which the methods of an Estimator cannot write.',
            "Use a directory on this machine, or train() of this package.",
            argument="model_dir",
            value=model_dir,
        )
    model = Wrapped(model_dir, estimator, keeps_config=False, calls_r=calls_r)
    return prepare_estimator("train_and_evaluate", model, settings)
