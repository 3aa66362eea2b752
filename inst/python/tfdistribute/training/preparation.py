"""Preparation of a verb: checks, devices and the Estimator."""

from __future__ import annotations

import functools
import os
import secrets
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfdistribute import engine, task_events
from tfdistribute.checkpoints import mirror
from tfdistribute.checkpoints.newest import repair
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.tf_config import read_tf_config
from tfdistribute.columns import InputFacts
from tfdistribute.inputs import Input, Purpose
from tfdistribute.inputs.position import first_row
from tfdistribute.interrupts import StopRequest
from tfdistribute.models import FactorCodes, Model, check_kinds
from tfdistribute.run_config import (
    TRAINING,
    Devices,
    RunContext,
    RunSettings,
    build,
    flatten,
    preflight,
    resolve_devices,
    session_hooks,
)
from tfdistribute.sharding import BatchPlan, Shard, replica_batch_size
from tfdistribute.training.history import REPORT_EVERY_S, History, Listener
from tfdistribute.training.hooks import HookContext, ModelHooks, as_hooks, record_interval
from tfdistribute.training.model_directory import ModelDirectory, require_checkpoint
from tfdistribute.training.specs import accepting
from tfdistribute.training.variables import global_step
from tfdistribute.training.warm_start import compare_warm_start

RECORD_EVERY_N_STEPS = 10


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
        seed = run_seed(self.settings, job)
        source = accepting(source, self.model, self.codes, purpose != "predict")
        if purpose != "train":
            return source.input_fn(purpose, seed, packed=True)
        source = source.with_codes(
            functools.partial(engine.estimator.codes_of_rows, self.estimator)
        )
        if not self.on_tpu:
            return source.input_fn(purpose, seed, packed=True)
        size = source.facts().global_batch_size
        own_size = None if size is None else replica_batch_size(size, len(self.devices.train))
        return engine.tpu.of_fixed_size(source.input_fn(purpose, seed), own_size)

    def continued(self, source: Input, step: int, writes: bool = True, done: int = 0) -> Input:
        row = first_row(self.model.model_dir, source.facts(), step, writes)
        return source.starting_at(row, done)

    def rows(self, source: Input, purpose: Purpose, job: str | None = None) -> Any:
        """Return the rows of an input in memory; None for other inputs, or if replicas evaluate them."""
        # An existing Estimator may have a configuration of its own.
        if purpose == "evaluate" and self.estimator.config.eval_distribute is not None:
            return None
        return source.resident_rows(purpose, run_seed(self.settings, job))

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

    def stop_step(self, max_steps: int | None, last_step: int | None) -> int | None:
        """Return the global step to stop at; on a TPU also the step where the input ends.

        TensorFlow's loop on a TPU takes one step per run if it does not know the last.
        """
        return last_step if self.on_tpu else max_steps

    def new_history(
        self,
        source: Input,
        listener: Listener | None,
        max_steps: int | None,
        steps: int | None = None,
    ) -> History:
        of_data = self.steps_of(source)
        asked = steps if max_steps is None else max(0, max_steps - self.first_step)
        known = [each for each in (of_data, asked) if each is not None]
        last_step = self.first_step + min(known) if known else None
        size, model_dir = source.facts().global_batch_size, self.model.model_dir
        history = History(size, listener, last_step, model_dir)
        history.note_end_of_data(of_data, asked)
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
        for text in self.notes:
            history.note(text)
        if history.listener is not None:
            history.listener = stop.on_interrupt_of(history.listener)
        for text in (
            engine.devices.note_on_precision(self.settings.precision),
            engine.session_config.note_on_threads(self.settings.session_config or {}),
        ):
            if text is not None:
                history.note(text)
        self._note_steps_of_tpu(hooks, history)
        every_n_steps = record_interval(hooks, RECORD_EVERY_N_STEPS)
        return [
            *self.session_hooks("train"),
            engine.hooks.RecordTraining(history, every_n_steps, REPORT_EVERY_S),
            engine.hooks.StopOnRequest(stop),
            engine.hooks.NoteMissingDevices(history.note, self.estimator.config),
            *self._note_unused_devices(history),
            *as_hooks(hooks, HookContext.here(verb, self.model.model_dir, history)),
        ]

    def saving_listeners(self, history: History) -> list[Any]:
        config = self.estimator.config
        saves = config.save_checkpoints_steps or config.save_checkpoints_secs
        report = engine.multi_worker.ReportSaves(history.checkpoint_saved)
        return [report] if history.saves_rarely and saves else []

    def _note_unused_devices(self, history: History) -> list[Any]:
        rows = self.devices.train
        note = engine.model_parts.NoteUnusedDevices(rows, history.note)
        return [note] if rows and len(rows[0]) > 1 else []

    def _note_steps_of_tpu(self, hooks: Sequence[Any], history: History) -> None:
        steps = engine.tpu.steps_per_run(self.estimator.config.train_distribute)
        if steps > 1 and hooks:
            history.note(
                f"Hooks are called after {steps} steps at a time, when the TPU returns to the host (`steps_per_run`)."
            )


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
    model.check(codes.applied(facts))
    accepting(source, model, codes, needs_label=True)
    writes = member is None or member.is_chief
    if writes:
        directory.check_writable()
        for text in repair(model.model_dir):
            warnings.warn(text, stacklevel=2)
            task_events.emit("note", text=text)
    directory.check_owner(model.structure(), for_training=True)
    vocabularies = compare_warm_start(model, codes)
    notes = tuple(codes.notes(facts, directory.codes)) if writes else ()
    mirror.continue_here(model.model_dir)
    prepared = _build(verb, model, directory, settings, facts, codes, member)
    note_unread = directory.note_unread if writes else None
    engine.estimator.set_training(prepared.estimator, vocabularies, note_unread)
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
    if facts is not None and source is not None:
        model.check(codes.applied(facts), needs_label=verb == "evaluate")
        accepting(source, model, codes, needs_label=verb == "evaluate")
    directory.check_owner(model.structure(), for_training=False)
    checkpoint = mirror.local_checkpoint(checkpoint)
    return _build(verb, model, directory, settings, facts, codes), checkpoint


def check_evaluation(prepared: Prepared, source: Input) -> None:
    facts = source.facts()
    check_kinds(prepared.model, facts, prepared.directory.kinds)
    accepting(source, prepared.model, prepared.codes, needs_label=True)
    prepared.model.check(prepared.codes.applied(facts))
    context = _run_context("evaluate", prepared.model, prepared.settings, facts)
    replicas = prepared.devices.replicas("evaluate")
    preflight(replace(context, replicas=replicas, devices=flatten(prepared.devices.evaluate)))


def run_seed(settings: RunSettings, job: str | None = None) -> int:
    """Choose the seed of inputs without one of their own. A job's name makes it the same in all of its tasks."""
    if settings.seed is not None:
        return settings.seed
    return secrets.randbelow(2**31) if job is None else zlib.crc32(job.encode())


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
    context = _run_context(verb, model, settings, facts and codes.applied(facts))
    settings = replace(settings, strategy=context.strategy)
    context = replace(context, settings=settings)
    # Once before TensorFlow starts, and once when its devices are known.
    preflight(context)
    devices = resolve_devices(settings)
    workers = len(member.training_tasks) if member is not None and member.in_step else 1
    replicas = devices.replicas(verb) * workers
    preflight(replace(context, replicas=replicas, devices=devices.all))
    if settings.memory_limit_mb is not None:
        engine.devices.limit_gpu_memory(settings.memory_limit_mb)
    config = build(settings, devices, mirror.local_directory(model.model_dir), member, alone)
    if model.has_callbacks():
        # R functions must be called on R's own thread, or R aborts.
        engine.r_thread.adopt(config.train_distribute)
        engine.r_thread.adopt(config.eval_distribute)
    model_hooks = ModelHooks(model.model_dir)
    local = str(config.model_dir)
    built = model if local == model.model_dir else replace(model, model_dir=local)
    estimator = built.with_session_hooks(model_hooks).build(config)
    if verb in TRAINING:
        engine.estimator.set_gradient_accumulation(
            estimator, settings.micro_batches, settings.scales_loss
        )
    engine.estimator.set_factor_levels(estimator, codes.features, codes.label)
    return Prepared(model, directory, estimator, settings, devices, model_hooks, codes)


def _run_context(
    verb: str, model: Model, settings: RunSettings, facts: InputFacts | None
) -> RunContext:
    return RunContext(
        settings,
        verb,
        tf_config=read_tf_config(os.environ) if verb in TRAINING else None,
        v1_canned=model.is_v1_canned(),
        rows=facts.rows if facts else None,
        epochs=facts.epochs if facts else None,
        strings=_strings(facts) if facts else (),
        global_batch_size=facts.global_batch_size if facts else None,
    )


def _strings(facts: InputFacts) -> tuple[str, ...]:
    columns = [*(facts.features or {}).values(), *([facts.label] if facts.label else [])]
    return tuple(column.name for column in columns if column.type == "string")
