"""Preparation of a verb: checks, devices and the Estimator."""

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfdistribute import engine, task_events
from tfdistribute.checkpoints import mirror
from tfdistribute.checkpoints.newest import repair
from tfdistribute.cluster.member import Member
from tfdistribute.columns import InputFacts
from tfdistribute.files import is_remote
from tfdistribute.inputs import Input, Purpose
from tfdistribute.inputs.position import first_row
from tfdistribute.interrupts import StopRequest, finish_step_on_interrupt
from tfdistribute.models import FactorCodes, Model, check_kinds, row_weights
from tfdistribute.run_config import (
    TRAINING,
    Devices,
    RunContext,
    RunSettings,
    configure,
    session_hooks,
)
from tfdistribute.sharding import BatchPlan, Shard, replica_batch_size
from tfdistribute.training.history import REPORT_EVERY_S, History
from tfdistribute.training.hooks import (
    RECORD_EVERY_N_STEPS,
    HookContext,
    ModelHooks,
    as_hooks,
    record_interval,
    suppress_nan_error,
)
from tfdistribute.training.model_directory import (
    ModelDirectory,
    exclusive,
    global_step,
    require_checkpoint,
)
from tfdistribute.training.remote.lease import uploads
from tfdistribute.training.specs import Training
from tfdistribute.training.tensorflow_errors import translate_errors
from tfdistribute.training.tracking import tracked
from tfdistribute.training.warm_start import compare_warm_start


@dataclass(frozen=True)
class Prepared:
    """The Estimator of a verb, with its settings and hooks.

    Args:
        model: The model's description, completed from the input and the model directory.
        notes: Consequences of the data for the model, one sentence each.
    """

    model: Model
    directory: ModelDirectory
    estimator: Any
    settings: RunSettings
    devices: Devices
    model_hooks: ModelHooks
    codes: FactorCodes
    notes: tuple[str, ...] = ()

    def input_fn(
        self, source: Input, purpose: Purpose, job: str | None = None
    ) -> Callable[..., Any]:
        seed = self.settings.input_seed(job)
        if purpose != "train":
            source = self.codes.accepting(source, self.model, purpose != "predict")
            return source.input_fn(purpose, seed, packed=True)
        source = self._learning(source)
        if not self.on_tpu:
            return source.input_fn(purpose, seed, packed=True)
        size = source.facts().global_batch_size
        own_size = None if size is None else replica_batch_size(size, len(self.devices.train))
        return engine.tpu.of_fixed_size(source.input_fn(purpose, seed), own_size)

    def _learning(self, source: Input) -> Input:
        codes = functools.partial(engine.estimator.codes_of_rows, self.estimator)
        return self.codes.accepting(source, self.model, needs_label=True).with_codes(codes)

    def _rows_learned(self, source: Input) -> Any:
        """Return all rows of an input in memory, in their order, as the rows that train are read."""
        return self._learning(source).resident_rows("evaluate")

    def continued(self, source: Input, step: int, writes: bool = True, done: int = 0) -> Input:
        row = first_row(self.model.model_dir, source.facts(), step, writes)
        return source.starting_at(row, done)

    def rows(self, source: Input, purpose: Purpose, job: str | None = None) -> Any:
        """Return the rows of an input in memory; None for other inputs, or if replicas evaluate them."""
        # An existing Estimator may have a configuration of its own.
        if purpose == "evaluate" and self.estimator.config.eval_distribute is not None:
            return None
        return source.resident_rows(purpose, self.settings.input_seed(job))

    @property
    def graph_key(self) -> Any:
        """All that the graph of a canned model is built from, compared by equality; None if it is not known."""
        if self.settings.device_fn is not None or self.model.has_functions():
            return None
        return self.model, self.settings, self.codes

    @property
    def on_tpu(self) -> bool:
        return engine.tpu.is_tpu(self.estimator.config.train_distribute)

    @functools.cached_property
    def first_step(self) -> int:
        return global_step(self.model.model_dir)

    def new_history(self, training: Training) -> History:
        source, max_steps = training.train.input, training.train.max_steps
        of_data = self.steps_of(source)
        asked = training.steps if max_steps is None else max(0, max_steps - self.first_step)
        known = [each for each in (of_data, asked) if each is not None]
        last_step = self.first_step + min(known) if known else None
        size, model_dir = source.facts().global_batch_size, self.model.model_dir
        history = History(size, training.listener, last_step, model_dir)
        history.note_end_of_data(of_data, asked)
        for text in training.notes:
            history.note(text)
        return history

    def many_steps(self, history: History) -> Any:
        settings, last = self.settings, history.last_step
        steps = None if last is None else last - self.first_step
        return engine.step.runs.many_steps_per_run(
            self.estimator,
            settings.steps_per_run,
            settings.save_summary_steps,
            settings.log_step_count_steps,
            history.note,
            engine.step.compiled.Compilation(settings.compiled, steps, history.note_compilation),
        )

    def steps_of(self, source: Input, pipelines: int = 1) -> int | None:
        """Return the training steps of an input that these many tasks read; None if it is endless or not known."""
        facts = source.facts()
        if facts.rows is None or facts.epochs is None or facts.global_batch_size is None:
            return None
        shard = Shard(pipelines, 0, pipelines * max(len(self.devices.train), 1))
        return BatchPlan(facts.rows, facts.epochs, facts.global_batch_size, shard).steps

    def session_hooks(self, verb: str) -> list[Any]:
        return session_hooks(self.settings, self.devices, verb)

    def training_hooks(
        self, verb: str, history: History, stop: StopRequest, hooks: Sequence[Any]
    ) -> list[Any]:
        self.model_hooks.history = history
        if history.listener is not None:
            history.listener = stop.on_interrupt_of(history.listener)
        for text in (
            *self.notes,
            engine.devices.note_on_precision(self.settings.precision),
            engine.session_config.note_on_threads(self.settings.session_config or {}),
            engine.tpu.note_on_hooks(self.estimator.config.train_distribute) if hooks else None,
        ):
            if text is not None:
                history.note(text)
        rows = self.devices.train
        has_parts = len(rows) > 0 and len(rows[0]) > 1
        every_n_steps, own = RECORD_EVERY_N_STEPS, list[Any]()
        if hooks:
            every_n_steps = record_interval(hooks)
            model_dir = self.model.model_dir
            own = as_hooks(hooks, HookContext.here(verb, model_dir, history, self._rows_learned))
        return [
            *self.session_hooks("train"),
            engine.hooks.RecordTraining(history, every_n_steps, REPORT_EVERY_S),
            engine.hooks.StopOnRequest(stop),
            engine.hooks.NoteMissingDevices(history.note, self.estimator.config),
            *([engine.model_parts.NoteUnusedDevices(rows, history.note)] if has_parts else ()),
            *own,
        ]


@dataclass(frozen=True)
class TrainingHere:
    prepared: Prepared
    history: History
    stop: Callable[[], bool]
    arguments: dict[str, Any]  # Of ``tf.estimator.TrainSpec``.


@contextlib.contextmanager
def training_here(
    training: Training, check: Callable[[Prepared], None] = lambda prepared: None
) -> Iterator[TrainingHere]:
    """Prepare a training in this process, which takes place inside the block; raises as ``prepare_training``.

    ``check`` may raise before the training begins. Only the parts that a training has are entered.
    """
    verb, model, settings, spec = training.verb, training.model, training.settings, training.train
    source, model_dir, listeners = spec.input, model.model_dir, list(training.saving_listeners)
    with exclusive(model_dir), contextlib.ExitStack() as stack:
        with translate_errors(verb, model_dir):
            prepared = prepare_training(verb, model, settings, source)
        check(prepared)
        history = prepared.new_history(training)
        source = prepared.continued(source, prepared.first_step)
        if settings.track is not None:
            stack.enter_context(tracked(model, settings, history))
        stack.enter_context(history.save())
        stack.enter_context(translate_errors(verb, model_dir))
        stop = stack.enter_context(finish_step_on_interrupt())
        stack.enter_context(source.serving())
        if spec.hooks:
            stack.enter_context(suppress_nan_error(spec.hooks))
        stack.enter_context(prepared.many_steps(history))
        if is_remote(model_dir):
            stack.enter_context(uploads(model_dir))
            # The losses are saved with checkpoints.
            config = prepared.estimator.config
            if config.save_checkpoints_steps or config.save_checkpoints_secs:
                listeners.insert(0, engine.multi_worker.ReportSaves(history.checkpoint_saved))
        arguments = {
            "input_fn": prepared.input_fn(source, "train"),
            # TensorFlow's loop on a TPU takes one step per run if it does not know the last.
            "max_steps": history.last_step
            if prepared.on_tpu and training.steps is None
            else spec.max_steps,
            "hooks": prepared.training_hooks(verb, history, stop, spec.hooks),
            "saving_listeners": listeners or None,
        }
        yield TrainingHere(prepared, history, stop, arguments)


def prepare_training(
    verb: str,
    model: Model,
    settings: RunSettings,
    source: Input,
    member: Member | None = None,
) -> Prepared:
    """Check a training and make its Estimator; the chief repairs and signs the model directory.

    Raises InputError if data and model do not fit, ModelDirectoryError if model_dir cannot be written, or holds another
    model, RunConfigError if a preflight rule rejects the settings, and StrategyError if a device does not exist.
    """
    engine.check_process()
    facts, directory = source.facts(), ModelDirectory(model.model_dir)
    model, codes = _complete_model(model, directory, facts)
    check_data(source, model, codes)
    writes = member is None or member.is_chief
    if writes:
        directory.check_writable()
        for text in repair(model.model_dir):
            warnings.warn(text, stacklevel=2)
            task_events.emit("note", text=text)
    directory.check_owner(model.structure(), for_training=True)
    notes = tuple(codes.notes(facts, directory.codes)) if writes else ()
    mirror.continue_here(model.model_dir)
    vocabularies = (
        compare_warm_start(model, codes) if getattr(model, "warm_start_from", None) else {}
    )
    prepared = _build(verb, model, directory, settings, facts, codes, member)
    engine.estimator.set_options(
        prepared.estimator,
        warm_vocabularies=vocabularies,
        note_unread=directory.note_unread if writes else None,
    )
    if writes:
        directory.sign(model.structure(), facts, codes)
    return replace(prepared, notes=notes)


def prepare_estimator(verb: str, model: Model, settings: RunSettings) -> Any:
    engine.check_process()
    directory = ModelDirectory(model.model_dir)
    return _build(verb, model, directory, settings, None, directory.codes, alone=False).estimator


def prepare_use(
    verb: str,
    model: Model,
    settings: RunSettings,
    source: Input | None,
    checkpoint_path: str | None,
) -> tuple[Prepared, str]:
    """Check an evaluation, a prediction or an export; return its Estimator and the prefix of a checkpoint here.

    Raises ModelDirectoryError without a checkpoint of this model, and InputError if data and model do not fit.
    """
    engine.check_process()
    checkpoint = require_checkpoint(model.model_dir, checkpoint_path, verb)
    facts = source.facts() if source is not None else None
    directory = ModelDirectory(model.model_dir)
    model, codes = _complete_model(model, directory, facts)
    if source is not None:
        check_data(source, model, codes, needs_label=verb == "evaluate")
    directory.check_owner(model.structure(), for_training=False)
    checkpoint = mirror.local_checkpoint(checkpoint)
    return _build(verb, model, directory, settings, facts, codes), checkpoint


def _complete_model(
    model: Model, directory: ModelDirectory, facts: InputFacts | None
) -> tuple[Model, FactorCodes]:
    # Classes keep the numbers that they had when the model was trained, whatever levels this input has.
    model = model.complete_from_signature(directory.structure)
    if facts is None:
        return model, directory.codes
    check_kinds(model, facts, directory.kinds)
    codes = FactorCodes.of(model, facts, directory.codes)
    facts = directory.with_known_classes(codes.applied(facts))
    return model.complete_from_input(facts), codes


def check_data(source: Input, model: Model, codes: FactorCodes, needs_label: bool = True) -> None:
    facts = source.facts()
    model.check(codes.applied(facts), needs_label)
    if needs_label:
        row_weights(facts, model.weights_of(facts))
    codes.accepting(source, model, needs_label)


def _build(
    verb: str,
    model: Model,
    directory: ModelDirectory,
    settings: RunSettings,
    facts: InputFacts | None,
    codes: FactorCodes,
    member: Member | None = None,
    alone: bool = True,
) -> Prepared:
    model.check_verb(verb)
    if verb in TRAINING and settings.micro_batches > 1:
        model.check_micro_batches()
    settings = replace(settings.for_verb(verb), **model.own_settings())
    facts = facts and codes.applied(facts)
    run = RunContext.of(verb, settings, facts, model.is_v1_canned())
    local = mirror.local_directory(model.model_dir)
    settings, devices, config = configure(run, local, member, alone)
    if model.has_callbacks():
        # R functions must be called on R's own thread, or R aborts.
        engine.r_thread.adopt(config.train_distribute)
        engine.r_thread.adopt(config.eval_distribute)
    model_hooks = ModelHooks(model.model_dir)
    built = model if local == model.model_dir else replace(model, model_dir=local)
    estimator = built.with_session_hooks(model_hooks).build(config)
    if verb in TRAINING:
        engine.estimator.set_options(estimator, step=engine.estimator.StepOptions.of(settings))
    # Without factors, a copy keeps its own.
    if codes.features or codes.label is not None:
        engine.estimator.set_options(
            estimator, factor_levels=codes.features, label_levels=codes.label
        )
    return Prepared(model, directory, estimator, settings, devices, model_hooks, codes)
