"""Construction of tf.estimator.RunConfig from settings."""

import contextlib
import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.cluster.member import Member
from tfdistribute.environment import changed_variable
from tfdistribute.errors import RunConfigError
from tfdistribute.run_config.rules import preflight
from tfdistribute.run_config.settings import AUTO, AUTO_STEPS, RunContext, RunSettings
from tfdistribute.strategies import Strategy, Tpu
from tfdistribute.strategies.description import ReplicaDevices
from tfdistribute.strategies.device_names import cpus_named


@dataclass(frozen=True)
class Devices:
    train: ReplicaDevices = ()  # For each replica of strategy, the canonical names of its devices.
    evaluate: ReplicaDevices = ()

    @property
    def all(self) -> tuple[str, ...]:
        return flatten(self.train + self.evaluate)

    def replicas(self, verb: str) -> int:
        return max(len(self.evaluate if verb == "evaluate" else self.train), 1)


def flatten(rows: ReplicaDevices) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in rows for name in row))


def resolve_devices(settings: RunSettings) -> Devices:
    """Choose this machine's devices for the strategies, without starting them; StrategyError if it lacks them."""
    if settings.strategy is None and settings.eval_distribute is None:
        return Devices()
    cpus, gpus = engine.devices.MOST_CPUS, engine.devices.gpu_count()

    def resolve(strategy: Strategy | None) -> ReplicaDevices:
        return () if strategy is None else strategy.replica_devices(strategy.resolve(cpus, gpus))

    return Devices(resolve(settings.strategy), resolve(settings.eval_distribute))


def configure(
    run: RunContext, model_dir: str | None = None, member: Member | None = None, alone: bool = True
) -> tuple[RunSettings, Devices, Any]:
    """Check a run, choose its devices, and make its configuration; raises as ``preflight`` and ``resolve_devices``."""
    settings = dataclasses.replace(run.settings, strategy=run.strategy)
    run = dataclasses.replace(run, settings=settings)
    # Once before TensorFlow starts, and once when its devices are known.
    preflight(run)
    devices = resolve_devices(settings)
    workers = len(member.training_tasks) if member is not None and member.in_step else 1
    replicas = devices.replicas(run.verb) * workers
    preflight(dataclasses.replace(run, replicas=replicas, devices=devices.all))
    if settings.memory_limit_mb is not None:
        engine.devices.limit_gpu_memory(settings.memory_limit_mb)
    if not alone and settings.strategy is not None and (task := Member.here()) is not None:
        # TensorFlow's own coordinator trains.
        task.begin_training()
    return settings, devices, build(settings, devices, model_dir, member, alone)


def build(
    settings: RunSettings,
    devices: Devices,
    model_dir: str | None = None,
    member: Member | None = None,
    alone: bool = True,
) -> Any:
    """Make TensorFlow's run configuration.

    Sessions get as many CPU devices as the strategies name. ``model_dir`` overrides the settings' directory, and
    ``alone``, only without a member, ignores TF_CONFIG. An unknown field of session_config raises RunConfigError.
    """
    settings = _with_steps_of_tpu(settings).with_memory_limit(engine.devices.gpu_count())
    settings = settings.with_cpu_devices(cpus_named(devices.all)).with_precision()
    known = inspect.signature(engine.tf.estimator.RunConfig).parameters
    fields = {name: each for name, each in vars(settings).items() if name in known}
    session_config = fields.pop("session_config")
    engine.session_config.start_threads(session_config or {})
    fields["tf_random_seed"] = settings.seed
    for name in ("save_summary_steps", "log_step_count_steps"):
        if fields[name] == AUTO:
            fields[name] = AUTO_STEPS
    fields["model_dir"] = model_dir or settings.model_dir
    fields["device_fn"] = _device_fn(settings.device_fn)
    if member is not None and member.is_alone:
        member = None
    # TensorFlow would look for the other tasks of a cluster in TF_CONFIG.
    is_alone = alone and member is None
    with changed_variable("TF_CONFIG", None) if is_alone else contextlib.nullcontext():
        fields["train_distribute"] = train = _build_strategy(settings.strategy, devices.train)
        same = settings.eval_distribute == settings.strategy
        fields["eval_distribute"] = (
            train if same else _build_strategy(settings.eval_distribute, devices.evaluate)
        )
        config = engine.tf.estimator.RunConfig(**fields)
    if session_config:
        # RunConfig drops its defaults, device filters included, if its constructor gets a session configuration.
        proto = engine.session_config.make(
            session_config, config.session_config, member is not None
        )
        config = config.replace(session_config=proto)
    if member is not None and train is not None:
        engine.multi_worker.assign_task(config, member)
    return config


def build_run_config(settings: RunSettings) -> Any:
    """Check settings for any verb, and make a ``tf.estimator.RunConfig`` for the constructor of any Estimator."""
    _check_for_others(settings)
    return configure(RunContext.of("train_and_evaluate", settings, None), alone=False)[-1]


def _check_for_others(settings: RunSettings) -> None:
    given = settings.changed_steps
    if not settings.scales_loss:
        # The session's configuration can have it.
        given.pop("precision", None)
    if settings.track is not None:
        given["track"] = settings.track.name
    for field, value in given.items():
        raise RunConfigError(
            f"`{field}` is {value!r}, which TensorFlow's own RunConfig does not have.",
            "Train with the estimators and verbs of this package, or leave it out.",
            value=str(value),
        )


def session_hooks(settings: RunSettings, devices: Devices, verb: str) -> list[Any]:
    strategy, rows = {
        "train": (settings.strategy, devices.train),
        "evaluate": (settings.eval_distribute, devices.evaluate),
    }.get(verb, (None, ()))
    return [] if strategy is None else strategy.session_hooks(_first_of_each(rows))


def _with_steps_of_tpu(settings: RunSettings) -> RunSettings:
    strategy = settings.strategy
    if not isinstance(strategy, Tpu):
        return settings
    chosen = strategy.in_run(settings.steps_per_run, settings.save_checkpoints_steps)
    return dataclasses.replace(settings, strategy=chosen)


def _build_strategy(strategy: Strategy | None, rows: ReplicaDevices) -> Any:
    if strategy is None:
        return None
    return engine.model_parts.adopt(strategy.build(_first_of_each(rows)), rows)


def _first_of_each(rows: ReplicaDevices) -> tuple[str, ...]:
    return tuple(row[0] for row in rows)


def _device_fn(function: Callable[..., Any] | None) -> Callable[[Any], Any] | None:
    if function is None:
        return None
    # TensorFlow requires this exact parameter name.
    return lambda op: function(op)
