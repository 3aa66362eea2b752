"""Run settings, with the names of tf.estimator.RunConfig, and the run that they are for."""

import dataclasses
import os
import secrets
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from tfdistribute.cluster.spec import Cluster, LocalCluster
from tfdistribute.cluster.tf_config import TfConfig, read_tf_config
from tfdistribute.columns import InputFacts
from tfdistribute.descriptions import Description, check_directory, fields_of
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
    """Settings of a run, as R's ``run_config()`` documents them; None switches off optional features.

    Args:
        strategy: Strategy for training, such as [strategy_mirrored()]. With NULL (default), the cluster chooses:
            [strategy_parameter_server()] if it has parameter servers, [strategy_multi_worker()] if it has several
            workers or several devices per worker, and otherwise one device without a strategy.
        eval_distribute: Strategy for evaluation. NULL (default) evaluates on one device and counts every row exactly
            once. With a strategy, the number of rows must be a multiple of `batch_size`.
        model_dir: Directory of checkpoints, events and histories, a string. NULL leaves it to the estimator. It may be
            in the cloud: `"gs://bucket/model"`, `"s3://bucket/model"` or `"az://container/model"`. See
            `vignette("model-dir-in-the-cloud")` for credentials and for the differences there.
        seed: Seed of initial values and dropout, a whole number. NULL for a different one in each run.
        save_summary_steps: Steps between summaries for TensorBoard, a count. NULL for none. `"auto"` (default) goes by
            time: at the first step, then once a second, or after each hundredth of the elapsed time if that is longer.
            In a cluster, where tasks write summaries together, and for tfestimators, `"auto"` is 100.
        save_checkpoints_steps: Steps between checkpoints, a count. Not together with `save_checkpoints_secs`.
        save_checkpoints_secs: Seconds between checkpoints, a number, 600 unless `save_checkpoints_steps` is set. If
            both are NULL, no checkpoints are written, and there is nothing to evaluate or predict with.
        session_config: Settings of the session, a named list with the fields of `tf.compat.v1.ConfigProto`, such as
            `list(gpu_options = list(allow_growth = TRUE), intra_op_parallelism_threads = 2)`. They are added to
            TensorFlow's defaults. A process has one set of threads for `intra_op_parallelism_threads`. Its first
            training determines the number, and a later training that requests another number gets a note. In a cluster,
            `use_per_session_threads` is an error, and with [strategy_multi_worker()] also `inter_op_parallelism_threads
            = 1`, because its tasks would wait for each other forever.
        keep_checkpoint_max: Number of newest checkpoints to keep, a count. 0 or NULL keeps all.
        keep_checkpoint_every_n_hours: Hours between checkpoints that are kept permanently, a number.
        log_step_count_steps: Steps between records of the training speed for TensorBoard, a count. NULL for none,
            `"auto"` as for `save_summary_steps`.
        device_fn: Function of one argument, an operation, that returns its device as a string. Only without a strategy.
        protocol: Protocol of a cluster's servers: `"grpc"` (also NULL) or `"grpc+verbs"`.
        session_creation_timeout_secs: Seconds to wait for a session, a number.
        experimental_distribute: Not supported: use `strategy` and `eval_distribute`.
        experimental_max_worker_delay_secs: Longest delay with which workers of a cluster start, in seconds, a count;
            NULL for TensorFlow's default.
        checkpoint_save_graph_def: Whether the graph is saved with each checkpoint, TRUE or FALSE.
        cluster: The processes that train together: a [local_cluster()] or [address_cluster()]. NULL (default) uses the
            cluster in `TF_CONFIG` if that is set, and otherwise only this process. [check_cluster()] lists mistakes,
            [plan_training()] shows what each process would do.
        steps_per_run: Training steps that TensorFlow takes in one call from Python, a count. `"auto"` (default) chooses
            it by time. See "Steps per run".
        precision: Number format of matrix products and convolutions, a string: `"float32"` (default),
            `"mixed_bfloat16"` or `"mixed_float16"`. See "Precision".
        micro_batches: Parts of a batch that each device computes one after another, a count. 1 (default) computes the
            batch as a whole. See "Micro-batches".
        compile: Whether XLA compiles the training steps: `"auto"` (default) for long trainings of small models, TRUE or
            FALSE. See "Compiled steps".
        track: A tracker that logs losses and metrics: [track_mlflow()], [track_wandb()], or NULL (default) for none.
    """

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
    precision: Annotated[Literal["float32", "mixed_bfloat16", "mixed_float16"], Fact.STEP] = (
        FLOAT_32
    )
    micro_batches: Annotated[Count, Fact.STEP] = 1
    compile: Annotated[bool | Literal["auto"], Fact.STEP] = "auto"
    # A server that the history is sent to.
    track: Annotated[Tracker | None, Fact.CODE, MayDiffer("Only the chief logs to it.")] = None

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
    def changed_steps(self) -> dict[str, Any]:
        """The fields that change how a step is computed."""
        usual, fields = RunSettings(), fields_of(RunSettings)
        given = {name: getattr(self, name) for name in fields if Fact.STEP in fields[name].facts}
        return {
            name: each for name, each in given.items() if each not in (getattr(usual, name), False)
        }

    @property
    def memory_limit_mb(self) -> float | None:
        return self.cluster.memory_limit_mb if isinstance(self.cluster, LocalCluster) else None

    def for_verb(self, verb: str) -> "RunSettings":
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

    def input_seed(self, job: str | None = None) -> int:
        """Choose the seed of inputs without one of their own. A job's name makes it the same in all of its tasks."""
        if self.seed is not None:
            return self.seed
        return secrets.randbelow(2**31) if job is None else zlib.crc32(job.encode())

    @property
    def scales_loss(self) -> bool:
        return self.precision == FLOAT_16

    @property
    def compiled(self) -> bool | str:
        """Whether steps are compiled. XLA would leave out the precision of a rewritten session."""
        return self.compile if self.precision == FLOAT_32 else False

    def with_precision(self) -> "RunSettings":
        """Let sessions compute in the precision, unless the user's session configuration decides."""
        if self.precision == FLOAT_32:
            return self
        rewrite = {"rewrite_options": {_REWRITES[self.precision]: "ON"}}
        session = _merge({"graph_options": rewrite}, self.session_config or {})
        return dataclasses.replace(self, session_config=session)

    def with_memory_limit(self, gpus: int) -> "RunSettings":
        """Limit the memory of each GPU for sessions, too, because the first start of a GPU sets its memory."""
        if self.memory_limit_mb is None:
            return self
        limits = [{"memory_limit_mb": [self.memory_limit_mb]}] * gpus
        session = {"gpu_options": {"experimental": {"virtual_devices": limits}}}
        return dataclasses.replace(self, session_config=_merge(session, self.session_config or {}))

    def with_cpu_devices(self, cpus: int) -> "RunSettings":
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
                value=repr(devices),
            )
        count = max(int(devices.get("CPU", 0)), cpus)
        session["device_count"] = {**devices, "CPU": count}
        return dataclasses.replace(self, session_config=session)


@dataclass(frozen=True)
class RunContext:
    """Facts at the start of a verb; the defaults mean "unknown" or "no".

    ``train_and_evaluate`` is checked twice, as itself and as "evaluate", with the input of each.
    """

    settings: RunSettings
    verb: str
    tf_config: TfConfig | None = None
    # Whether this process plans or starts the tasks of ``settings.cluster``.
    starts_tasks: bool = False
    v1_canned: bool = False
    rows: int | None = None  # Of this verb's input.
    epochs: int | None = None  # None also if the input repeats without end.
    strings: tuple[str, ...] = ()  # Features and label that are strings in the model.
    global_batch_size: int | None = None  # Summed over replicas.
    replicas: int = 1
    devices: tuple[str, ...] = ()  # Canonical names.

    @classmethod
    def of(
        cls,
        verb: str,
        settings: RunSettings,
        facts: InputFacts | None,
        v1_canned: bool = False,
    ) -> "RunContext":
        """Describe a run in this process before its devices are known; ``facts`` are of its input, if it has one."""
        facts = facts or InputFacts()
        columns = [*(facts.features or {}).values(), *([facts.label] if facts.label else [])]
        return cls(
            settings,
            verb,
            tf_config=read_tf_config(os.environ) if verb in TRAINING else None,
            v1_canned=v1_canned,
            rows=facts.rows,
            epochs=facts.epochs,
            strings=tuple(column.name for column in columns if column.type == "string"),
            global_batch_size=facts.global_batch_size,
        )

    @property
    def strategy(self) -> Strategy | None:
        """The strategy of the settings, or else of the cluster. It is never stored, because the cluster may change."""
        if self.settings.strategy is None and self.trains and self._is_distributed:
            return self.strategy_of_cluster
        return self.settings.strategy

    @property
    def strategy_of_cluster(self) -> Strategy:
        return ParameterServer() if self.servers else MultiWorker()

    @property
    def concerns_cluster(self) -> bool:
        """Whether there is a cluster, or a strategy that needs one."""
        has_cluster = self.tf_config is not None or self.settings.cluster is not None
        return has_cluster or isinstance(self.strategy, (MultiWorker, ParameterServer))

    @property
    def _is_distributed(self) -> bool:
        cluster = self.settings.cluster
        # A cluster that has lost its other workers keeps its strategy.
        workers = 1 if cluster is None else cluster.training_processes
        devices = getattr(cluster, "devices_per_worker", 1)
        return max(self.training_tasks, workers, devices) > 1 or self.servers > 0

    @property
    def trains(self) -> bool:
        return self.verb in TRAINING

    @property
    def tasks(self) -> int:
        if self.tf_config is not None:
            return self.tf_config.tasks
        return len(self._started.tasks) if self._started is not None else 1

    @property
    def training_tasks(self) -> int:
        if self.tf_config is not None:
            return self._count_tasks("chief") + self._count_tasks("worker")
        return self._started.training_processes if self._started is not None else 1

    @property
    def servers(self) -> int:
        if self.tf_config is not None:
            return self._count_tasks("ps")
        return len(self._started.addresses.get("ps", ())) if self._started is not None else 0

    @property
    def cluster_in_words(self) -> str:
        if self.tf_config is None:
            return "`cluster`"
        return f"the cluster of TF_CONFIG (this process is {self.tf_config.task})"

    def _count_tasks(self, role: str) -> int:
        return 0 if self.tf_config is None else len(self.tf_config.cluster.get(role, ()))

    @property
    def _started(self) -> Cluster | None:
        return self.settings.cluster if self.starts_tasks else None


def _merge(defaults: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        name: _merge(value, overrides[name])
        for name, value in defaults.items()
        if isinstance(value, Mapping) and isinstance(overrides.get(name), Mapping)
    }
    return {**defaults, **overrides, **both}
