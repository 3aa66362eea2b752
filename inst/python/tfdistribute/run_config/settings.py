"""Run settings, with the names of tf.estimator.RunConfig."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tfdistribute.cluster.managed import ManagedCluster
from tfdistribute.cluster.spec import Cluster, LocalCluster
from tfdistribute.descriptions import Description, check_choice, check_directory
from tfdistribute.errors import ArgumentError, RunConfigError, StrategyError
from tfdistribute.strategies import MultiWorker, ParameterServer, Strategy
from tfdistribute.trackers import Tracker

TRAINING = ("train", "train_and_evaluate")
PROTOCOLS = ("grpc", "grpc+verbs")
FLOAT_32, BFLOAT_16, FLOAT_16 = PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
_REWRITES = {BFLOAT_16: "auto_mixed_precision_onednn_bfloat16", FLOAT_16: "auto_mixed_precision"}
AUTO = "auto"
# In a cluster, and in TensorFlow's own object, "auto" cannot depend on time.
AUTO_STEPS = 100

# Lower limits, and whether each is itself allowed.
_LIMITS: dict[str, tuple[float, bool]] = {
    "steps_per_run": (1, True),
    "micro_batches": (1, True),
    "save_summary_steps": (0, True),
    "save_checkpoints_steps": (0, True),
    "save_checkpoints_secs": (0, True),
    "keep_checkpoint_max": (0, True),
    "keep_checkpoint_every_n_hours": (0, False),
    "log_step_count_steps": (0, False),
    "session_creation_timeout_secs": (0, False),
    "experimental_max_worker_delay_secs": (0, True),
}


class _UnlessSteps(float):
    """Default seconds between checkpoints; ignored if a number of steps is given."""


@dataclass(frozen=True)
class RunSettings(Description):
    """Settings of a run, as R's ``run_config()`` documents them; None switches off optional features."""

    strategy: Strategy | None = None
    eval_distribute: Strategy | None = None
    model_dir: str | None = None
    seed: int | None = 1
    save_summary_steps: int | str | None = AUTO
    save_checkpoints_steps: int | None = None
    save_checkpoints_secs: float | None = _UnlessSteps(600)
    session_config: dict[str, Any] | None = None
    keep_checkpoint_max: int | None = 5
    keep_checkpoint_every_n_hours: float = 10000.0
    log_step_count_steps: int | str | None = AUTO
    device_fn: Callable[..., Any] | None = None
    protocol: str | None = None
    session_creation_timeout_secs: float = 7200.0
    experimental_distribute: Any = None
    experimental_max_worker_delay_secs: int | None = None
    checkpoint_save_graph_def: bool = True
    cluster: Cluster | None = None
    steps_per_run: int | str = AUTO
    precision: str = FLOAT_32
    micro_batches: int = 1
    compile: bool | str = AUTO
    track: Tracker | None = None

    def __post_init__(self) -> None:
        if self.save_checkpoints_steps is not None and isinstance(
            self.save_checkpoints_secs, _UnlessSteps
        ):
            object.__setattr__(self, "save_checkpoints_secs", None)
        for name, (limit, allowed) in _LIMITS.items():
            _check_limit(name, getattr(self, name), limit, allowed)
        _check_together(self)

    def content(self) -> Mapping[str, Any]:
        return {"graph_options": (self.session_config or {}).get("graph_options")}

    @property
    def memory_limit_mb(self) -> float | None:
        return self.cluster.memory_limit_mb if isinstance(self.cluster, LocalCluster) else None

    def for_verb(self, verb: str) -> RunSettings:
        """Remove the strategies and the cluster that a verb does not use; only training needs a cluster."""
        trains = verb in TRAINING
        evaluates = verb in ("evaluate", "train_and_evaluate")
        here = isinstance(self.eval_distribute, (MultiWorker, ParameterServer))
        return dataclasses.replace(
            self,
            strategy=self.strategy if trains else None,
            eval_distribute=self.eval_distribute if evaluates and not here else None,
            cluster=self.cluster if trains else None,
        )

    @property
    def scales_loss(self) -> bool:
        return self.precision == FLOAT_16

    @property
    def compiled(self) -> bool | str:
        """Whether steps are compiled. XLA would leave out the precision of a rewritten session."""
        return self.compile if self.precision == FLOAT_32 else False

    def with_precision(self) -> RunSettings:
        """Let sessions compute in the precision, unless the user's session configuration decides."""
        if self.precision == FLOAT_32:
            return self
        rewrite = {"rewrite_options": {_REWRITES[self.precision]: "ON"}}
        session = _merge({"graph_options": rewrite}, self.session_config or {})
        return dataclasses.replace(self, session_config=session)

    def with_memory_limit(self, gpus: int) -> RunSettings:
        """Limit the memory of each GPU for sessions, too, because the first start of a GPU sets its memory."""
        if self.memory_limit_mb is None:
            return self
        limits = [{"memory_limit_mb": [self.memory_limit_mb]}] * gpus
        session = {"gpu_options": {"experimental": {"virtual_devices": limits}}}
        return dataclasses.replace(self, session_config=_merge(session, self.session_config or {}))

    def with_cpu_devices(self, cpus: int) -> RunSettings:
        """Give sessions as many logical CPUs as the strategies name.

        Otherwise TensorFlow silently moves operations to CPU:0, where a collective sum waits forever.
        """
        if cpus <= 1:
            return self
        session = dict(self.session_config or {})
        devices = session.get("device_count") or {}
        if not isinstance(devices, Mapping) or not isinstance(devices.get("CPU", 0), (int, float)):
            raise RunConfigError(
                f"`session_config$device_count` must be a named list of counts, not {devices!r}.",
                f"Write device_count = list(CPU = {cpus}), or leave it out.",
                argument="session_config$device_count",
                value=repr(devices),
            )
        count = max(int(devices.get("CPU", 0)), cpus)
        session["device_count"] = {**devices, "CPU": count}
        return dataclasses.replace(self, session_config=session)


def _merge(defaults: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        name: _merge(value, overrides[name])
        for name, value in defaults.items()
        if isinstance(value, Mapping) and isinstance(overrides.get(name), Mapping)
    }
    return {**defaults, **overrides, **both}


def _check_limit(name: str, value: float | str | None, limit: float, allowed: bool) -> None:
    if value is None or value == AUTO:
        return
    if isinstance(value, str):
        raise ArgumentError(
            f'`{name}` must be a count or "{AUTO}", not "{value}".',
            argument=name,
            value=value,
        )
    if value > limit or (allowed and value == limit):
        return
    raise ArgumentError(
        f"`{name}` must be {'at least' if allowed else 'more than'} {limit:g}, not {value:g}.",
        argument=name,
        value=f"{value:g}",
    )


def _check_together(settings: RunSettings) -> None:
    steps, secs = settings.save_checkpoints_steps, settings.save_checkpoints_secs
    if steps is not None and secs is not None:
        raise RunConfigError(
            f"`save_checkpoints_steps` ({steps}) and `save_checkpoints_secs` ({secs:g}) cannot both "
            "be set.",
            "Set one of them; this switches the other off.",
            argument="save_checkpoints_steps",
            value=str(steps),
        )
    if settings.track is not None and isinstance(settings.cluster, ManagedCluster):
        raise RunConfigError(
            f"`track` does not support a {settings.cluster.kind}_cluster(): nothing of this package follows its jobs.",
            "Leave `track` out, and log in the containers.",
            argument="track",
            value=settings.track.name,
        )
    if settings.model_dir == "":
        raise ArgumentError(
            "`model_dir` is empty.", "Name a directory, or leave it out.", argument="model_dir"
        )
    if settings.model_dir is not None:
        check_directory("model_dir", settings.model_dir)
    check_choice("precision", settings.precision, PRECISIONS)
    if not isinstance(settings.compile, bool):
        check_choice("compile", settings.compile, (AUTO,))
    if settings.protocol is not None:
        check_choice("protocol", settings.protocol, PROTOCOLS)
    if settings.experimental_distribute is not None:
        raise RunConfigError(
            "`experimental_distribute` is not supported: it sets the strategies a second time.",
            "Use `strategy` and `eval_distribute`.",
            argument="experimental_distribute",
        )
    if settings.device_fn is not None and settings.strategy is not None:
        raise StrategyError(
            "`device_fn` places operations, and so does `strategy`.",
            "Give one of them.",
            argument="device_fn",
        )
