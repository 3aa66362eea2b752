"""From descriptions to an Estimator: what can be checked before TensorFlow starts is checked before."""

from __future__ import annotations

import os
import secrets
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tfdistribute import checkpoints, engine, task_events
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import LocalCluster
from tfdistribute.cluster.tf_config import read_tf_config
from tfdistribute.columns import InputFacts
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import (
    TRAINING,
    Devices,
    RunContext,
    RunSettings,
    build,
    preflight,
    resolve_devices,
    session_hooks,
)
from tfdistribute.training.hooks import ModelHooks
from tfdistribute.training.model_directory import (
    check_owner,
    check_writable,
    latest_checkpoint,
    read_signature,
    require_checkpoint,
    sign,
)


@dataclass(frozen=True)
class Prepared:
    """What a verb works with.

    Args:
        model: The model's description, completed by what the input and the model_dir say.
        estimator: The tf.estimator.Estimator.
        settings: The settings that the verb uses.
        devices: The devices of the strategies.
        model_hooks: Makes the hooks that the model itself describes.
    """

    model: Model
    estimator: Any
    settings: RunSettings
    devices: Devices
    model_hooks: ModelHooks

    def many_steps(self, note: Callable[[str], Any]) -> Any:
        """Make the context in which the Estimator takes many steps at once; note is told why it does not."""
        settings = self.settings
        return engine.many_steps.many_steps_per_run(
            self.estimator,
            settings.steps_per_run,
            settings.save_summary_steps,
            settings.log_step_count_steps,
            note,
        )

    def session_hooks(self, verb: str) -> list[Any]:
        """Make the hooks without which a session of this run fails; verb is "train" or "evaluate"."""
        return session_hooks(self.settings, self.devices, verb)


def prepare_training(
    verb: str,
    model: Model,
    settings: RunSettings,
    source: Input,
    member: Member | None = None,
) -> Prepared:
    """Check a training and make its Estimator.

    Args:
        verb: "train" or "train_and_evaluate".
        model: What is trained.
        settings: The run configuration.
        source: What it is trained on.
        member: The task of a cluster as which this process trains; None where it trains alone.

    Returns:
        The Estimator; its model_dir is signed as this model's, by the chief.

    Raises:
        InputError: data and model do not fit.
        ModelDirectoryError: model_dir cannot be written, or holds another model.
        RunConfigError: a rule of the preflight table refuses the settings.
        StrategyError: the devices are not there.
    """
    facts = source.facts()
    model = _completed(model, facts)
    model.check(facts)
    writes = member is None or member.is_chief
    if writes:
        check_writable(model.model_dir)
        for text in checkpoints.repair(model.model_dir):
            warnings.warn(text, stacklevel=2)
            task_events.emit("note", text=text)
    check_owner(model.model_dir, model.structure(), for_training=True)
    _check_beginning(model)
    prepared = _build(verb, model, settings, facts, member)
    if writes:
        sign(model.model_dir, model.structure(), facts.features)
    return prepared


def prepare_estimator(verb: str, model: Model, settings: RunSettings) -> Any:
    """Make an Estimator that others will use, and check what can be known before its data is.

    Args:
        verb: The most that it will be used for.
        model: The model.
        settings: The run configuration.

    Returns:
        A ``tf.estimator.Estimator``.

    Raises:
        RunConfigError: a rule of the preflight table refuses the settings.
        StrategyError: the devices are not there.
    """
    return _build(verb, model, settings, None, alone=False).estimator


def _check_beginning(model: Model) -> None:
    # A model that was trained before goes on from its own checkpoint, whatever became of the other.
    warm_start = getattr(model, "warm_start_from", None)
    if warm_start is not None and latest_checkpoint(model.model_dir) is None:
        warm_start.check()


def prepare_use(
    verb: str,
    model: Model,
    settings: RunSettings,
    source: Input | None,
    checkpoint_path: str | None,
) -> tuple[Prepared, str]:
    """Check an evaluation, a prediction or an export and make its Estimator.

    Args:
        verb: "evaluate", "predict" or "export".
        model: A trained model.
        settings: The run configuration.
        source: The data, where the verb takes any.
        checkpoint_path: A checkpoint's prefix, or None for the newest.

    Returns:
        The Estimator and the checkpoint's prefix.

    Raises:
        ModelDirectoryError: there is no checkpoint, or it is another model's.
        InputError: data and model do not fit.
    """
    checkpoint = require_checkpoint(model.model_dir, checkpoint_path, verb)
    facts = source.facts() if source is not None else None
    model = _completed(model, facts)
    if facts is not None:
        model.check(facts, needs_label=verb == "evaluate")
    check_owner(model.model_dir, model.structure(), for_training=False)
    return _build(verb, model, settings, facts), checkpoint


def _completed(model: Model, facts: InputFacts | None) -> Model:
    # Classes are numbered as they were when the model was trained, whatever levels this input has.
    model = model.with_signature(read_signature(model.model_dir))
    return model if facts is None else model.with_facts(facts)


def run_seed(settings: RunSettings, job: str | None = None) -> int:
    """Choose the seed of the order of rows, for inputs without one of their own.

    Args:
        settings: The run configuration.
        job: Name of the job, which all of its tasks know; None in a process that trains alone.

    Returns:
        ``tf_random_seed``; without one, a seed made from the job's name, or another in each run.
    """
    if settings.tf_random_seed is not None:
        return settings.tf_random_seed
    return secrets.randbelow(2**31) if job is None else zlib.crc32(job.encode())


def check_evaluation(prepared: Prepared, facts: InputFacts) -> None:
    """Check the evaluation of a train_and_evaluate, whose input is another one.

    Args:
        prepared: The training.
        facts: What is known about the evaluation's input.

    Raises:
        InputError: data and model do not fit.
        RunConfigError: a rule of the preflight table refuses the evaluation.
    """
    prepared.model.check(facts)
    context = _run_context("evaluate", prepared.model, prepared.settings, facts)
    replicas = prepared.devices.replicas("evaluate")
    preflight(replace(context, replicas=replicas, devices=prepared.devices.evaluate))


def _build(
    verb: str,
    model: Model,
    settings: RunSettings,
    facts: InputFacts | None,
    member: Member | None = None,
    alone: bool = True,
) -> Prepared:
    settings = settings.for_verb(verb)
    context = _run_context(verb, model, settings, facts)
    # Once before TensorFlow starts, and once when its devices are known.
    preflight(context)
    devices = resolve_devices(settings)
    workers = len(member.training_tasks) if member is not None and member.in_step else 1
    replicas = devices.replicas(verb) * workers
    preflight(replace(context, replicas=replicas, devices=devices.all))
    limit_mb = _memory_limit_mb(settings)
    if limit_mb is not None:
        engine.devices.limit_gpu_memory(limit_mb)
    config = build(settings, devices, model.model_dir, member, alone)
    if limit_mb is not None:
        engine.devices.limit_gpu_memory_of_sessions(config.session_config, limit_mb)
    if model.has_callbacks():
        # Functions of R are called on R's own thread, or R aborts.
        engine.r_thread.adopt(config.train_distribute)
        engine.r_thread.adopt(config.eval_distribute)
    model_hooks = ModelHooks(model.model_dir)
    estimator = model.with_session_hooks(model_hooks).build(config)
    return Prepared(model, estimator, settings, devices, model_hooks)


def _memory_limit_mb(settings: RunSettings) -> float | None:
    cluster = settings.cluster
    return cluster.memory_limit_mb if isinstance(cluster, LocalCluster) else None


def _run_context(
    verb: str, model: Model, settings: RunSettings, facts: InputFacts | None
) -> RunContext:
    return RunContext(
        settings,
        verb,
        tf_config=read_tf_config(os.environ) if verb in TRAINING else None,
        v1_canned=model.is_v1_canned(),
        rows=facts.rows if facts else None,
        global_batch_size=facts.global_batch_size if facts else None,
    )
