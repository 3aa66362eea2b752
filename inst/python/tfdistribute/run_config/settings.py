"""Run settings, with the names of tf.estimator.RunConfig."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from tfdistribute.cluster.spec import Cluster, LocalCluster
from tfdistribute.descriptions import Description, check_directory
from tfdistribute.descriptions.constraints import (
    Count,
    Fact,
    Ge,
    Given,
    Gt,
    MayDiffer,
    Never,
    Takes,
    Text,
    excludes,
)
from tfdistribute.errors import RunConfigError
from tfdistribute.strategies import MultiWorker, ParameterServer, Strategy
from tfdistribute.trackers import Tracker

TRAINING = ("train", "train_and_evaluate")
FLOAT_32, BFLOAT_16, FLOAT_16 = "float32", "mixed_bfloat16", "mixed_float16"
_REWRITES = {BFLOAT_16: "auto_mixed_precision_onednn_bfloat16", FLOAT_16: "auto_mixed_precision"}
AUTO = "auto"
# In a cluster, and in TensorFlow's own object, "auto" cannot depend on time.
AUTO_STEPS = 100

_Whole = Annotated[int, Ge(0)]
_Positive = Annotated[float, Gt(0)]
_RECORDS = MayDiffer("It decides what is logged or saved, and not what is trained.")
_WAITS = MayDiffer("It decides how long a task waits.")


class _UnlessSteps(float):
    """Default seconds between checkpoints; ignored if a number of steps is given."""


@dataclass(frozen=True)
class RunSettings(Description):
    """Settings of a run, as R's ``run_config()`` documents them; None switches off optional features."""

    rules: ClassVar[tuple[Never, ...]] = (
        excludes("save_checkpoints_steps", "save_checkpoints_secs", "run_config"),
        Never(
            {"experimental_distribute": Given},
            "`experimental_distribute` is not supported: it sets the strategies a second time.",
            "Use `strategy` and `eval_distribute`.",
            error="run_config",
        ),
        Never(
            {"device_fn": Given, "strategy": Given},
            "`device_fn` places operations, and so does `strategy`.",
            "Give one of them.",
            error="strategy",
        ),
        Never(
            {"track": Given, "cluster": {"kind": Literal["kubernetes", "vertex"]}},
            "`track` does not support a cluster of containers: nothing of this package follows its jobs.",
            "Leave `track` out, and log in the containers.",
            error="run_config",
        ),
    )

    strategy: Strategy | None = None
    eval_distribute: Annotated[
        Strategy | None, MayDiffer("Evaluations do not change what is trained.")
    ] = None
    model_dir: Annotated[
        Text | None, Fact.PATH, Fact.CODE, MayDiffer("Tasks compare what the chief writes there.")
    ] = None
    seed: int | None = 1
    save_summary_steps: Annotated[_Whole | Literal["auto"] | None, _RECORDS] = "auto"
    save_checkpoints_steps: _Whole | None = None
    save_checkpoints_secs: Annotated[float, Ge(0)] | None = _UnlessSteps(600)
    session_config: Annotated[
        dict[str, Any] | None,
        Fact.NAME,  # TensorFlow's ConfigProto has no field for a command or a file.
        MayDiffer("Threads and memory are each machine's; `graph_options` is compared."),
    ] = None
    keep_checkpoint_max: Annotated[_Whole | None, _RECORDS] = 5
    keep_checkpoint_every_n_hours: Annotated[_Positive, _RECORDS] = 10000.0
    log_step_count_steps: Annotated[Count | Literal["auto"] | None, _RECORDS] = "auto"
    device_fn: Annotated[
        Annotated[
            Callable[..., Any], Takes(("op",), "Write function(op) and return a device's name.")
        ]
        | None,
        Fact.CODE,
    ] = None
    protocol: Literal["grpc", "grpc+verbs"] | None = None
    session_creation_timeout_secs: Annotated[_Positive, _WAITS] = 7200.0
    experimental_distribute: Annotated[Any, Fact.CODE] = None
    experimental_max_worker_delay_secs: Annotated[_Whole | None, _WAITS] = None
    checkpoint_save_graph_def: Annotated[bool, _RECORDS] = True
    cluster: Annotated[
        Cluster | None,
        Fact.CODE,  # Hosts, programs with their options, lines of shell, images, variables, open ports.
        MayDiffer("The addresses are compared, see ``TaskFacts``; the rest is about processes."),
    ] = None
    steps_per_run: Annotated[
        Count | Literal["auto"], MayDiffer("All tasks use the smallest number.")
    ] = "auto"
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16"] = FLOAT_32
    micro_batches: Count = 1
    compile: bool | Literal["auto"] = "auto"
    # A server that the history is sent to.
    track: Annotated[Tracker | None, Fact.CODE, MayDiffer("No task logs to it.")] = None

    def __post_init__(self) -> None:
        if self.save_checkpoints_steps is not None and isinstance(
            self.save_checkpoints_secs, _UnlessSteps
        ):
            object.__setattr__(self, "save_checkpoints_secs", None)
        super().__post_init__()
        if self.model_dir is not None:
            check_directory("model_dir", self.model_dir)

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
