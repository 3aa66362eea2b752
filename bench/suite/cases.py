"""Cases, each of which compares several ways to do one thing; ``bench/README.md`` explains them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Way:
    """One way to do what a case measures.

    Args:
        name: Name in tables.
        script: File below ``bench/``, with its arguments.
        amount: Amount of work per run, such as steps: one or two seconds.
        environment: Folder of its Python below ``.environment``: that of the last TensorFlow with Estimators.
        usual: Whether ``make bench`` measures the way, and not only ``tools/bench --all`` or the name of the case.
        without: Pass over a training step that is switched off; see ``TFDISTRIBUTE_PASSES``.
    """

    name: str
    script: tuple[str, ...]
    amount: int
    environment: str = "python-2.15"
    usual: bool = True
    without: str = ""


@dataclass(frozen=True)
class Goal:
    """Smallest ratio of two ways, or smallest number of one.

    Args:
        way: Name of the numerator.
        other: Name of the denominator; None for the number itself.
        at_least: The ratio or the number.
    """

    way: str
    other: str | None
    at_least: float


@dataclass(frozen=True)
class Case:
    """Ways that take turns.

    Args:
        name: Name for ``tools/bench NAME``.
        title: Heading of the table.
        unit: Unit of the numbers.
        ways: Ways to compare; ratios are to the first.
        goals: Goals that the report checks.
        repeats: Turns of each way.
        quick: Turns in ``make bench-quick``; 0 leaves the case out.
        usual: Whether ``make bench`` measures the case, and not only ``tools/bench --all`` or its name.
        lower_is_better: Whether lower numbers are better, as for seconds.
    """

    name: str
    title: str
    unit: str
    ways: tuple[Way, ...]
    goals: tuple[Goal, ...] = ()
    repeats: int = 3
    quick: int = 0
    usual: bool = True
    lower_is_better: bool = False


# PyTorch and JAX, without TensorFlow; made by tools/bench.
PEERS = "bench"
# The default TensorFlow; made by tools/setup.
NEWEST = "python"
# The same with the libraries of CUDA; made by tools/setup gpu.
GPU = "python-gpu"


def _has_bfloat16() -> bool:
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    return "avx512_bf16" in text or "amx_bf16" in text


_HAS_BFLOAT16 = _has_bfloat16()
_SMALL = "small-model/"
_ESTIMATOR, _COLUMNS = "Estimator", "Estimator, 20 columns"
_FROM_R, _FROM_R_COLUMNS = "tfdistribute from R", "tfdistribute from R, data frame of 20 columns"
_FROM_PYTHON, _KERAS = "tfdistribute from Python", "Keras fit(), 100 steps per execution"
_FUNCTION = "tf.function of 100 steps, iterator"
_RESIDENT = "tf.function of 100 steps, data resident"
_COMPILED = "the same loop of 1,500 steps, compiled by XLA"
_JAX = "JAX, lax.scan of 1,500 steps"
_KERAS_COMPILED = "Keras, jit_compile = True"
# Steps of an interval.
_INTERVAL = "1200"
# Keras is fastest with one of these.
_STEPS_PER_EXECUTION = (10, 100, 1000)
_MEASURED, _UNMEASURED = "steps that measure their wait for rows", "steps that do not"
_OLD, _NEW = "TensorFlow 2.15", "TensorFlow 2.21"
_OLD_R, _NEW_R = "TensorFlow 2.15, in R", "TensorFlow 2.21, in R"
_ONE = "one process on one core"
_TWO = "tfdistribute, local_cluster(2)"
_BY_HAND = "two Rscript processes with TF_CONFIG, by hand"
_AFTER, _DURING = "train(), then evaluate() of each checkpoint", "train_and_evaluate()"
_ESTIMATOR_ALONE, _ESTIMATOR_IN_R = "Estimator in Python", "Estimator in Python, run by reticulate"
_PACKAGE_IN_R = "tfdistribute in R"
_TOGETHER, _PIPELINE = "one device", "two devices, 4 micro-batches"
_FLOAT32, _BFLOAT16, _ACCUMULATED = "float32", "mixed_bfloat16", "4 micro-batches"
_MESSAGES = 'tfdistribute, communication = "ring"'
_NOTHING = "two processes that exchange nothing"
_TORCH_TWO = "PyTorch DDP (gloo), 2 processes"
_PACKAGE, _KERAS_2 = "tfdistribute", "Keras"
# Turns, and the steps of each: Estimator, this package, Keras. This package compiles trainings of 20,000 steps or more,
# which last some seconds. Keras reads its batches in a fast or in a slow way, by chance.
_TABLES = {
    "2000": ("2,000 numeric columns", 3, (2, 1500, 1200)),
    "crosses": ("a linear model of a cross of 10^6 buckets", 3, (1000, 24000, 6000)),
    "embedding": ("an embedding of 10^5 levels in 32 numbers", 5, (500, 24000, 3000)),
    "hashed": ("a linear model of strings, hashed", 5, (1000, 24000, 6000)),
    "wide-and-deep": ("a cross, an embedding and 8 numbers, wide and deep", 5, (200, 24000, 3000)),
    "200": ("200 numeric columns", 5, (30, 24000, 3000)),
}


def _of_all_rows(verb: str, *more: Way) -> Case:
    return Case(
        verb,
        f"{verb}() of a million rows of 20 columns",
        "rows per second",
        (
            Way(_ESTIMATOR, ("many-rows/estimator.py", verb), 1000),
            Way(_FROM_R, ("many-rows/package.R", verb), 2),
            Way(_KERAS_2, ("many-rows/keras_model.py", verb), 2),
            *more,
        ),
        (Goal(_FROM_R, _KERAS_2, 1.0), Goal(_FROM_R, _ESTIMATOR, 3)),
    )


def _of_table(kind: str) -> Case:
    title, turns, (estimator, package, keras) = _TABLES[kind]
    name = f"columns-{kind}" if kind.isdigit() else kind
    # XLA does not support the gradients of Keras's embeddings.
    script = ("wide-and-sparse/keras_fit.py", kind, "compiled")
    compiled = (Way(_KERAS_COMPILED, script, keras),) if kind.isdigit() else ()
    return Case(
        name,
        f"Training of {title}, batch of 256",
        "examples per second",
        (
            Way(_ESTIMATOR, ("wide-and-sparse/estimator.py", kind), estimator),
            Way(_PACKAGE, ("wide-and-sparse/package.py", kind), package),
            Way(_KERAS_2, ("wide-and-sparse/keras_fit.py", kind), keras),
            *compiled,
        ),
        (
            Goal(_PACKAGE, _KERAS_2, 1.5),
            *(Goal(_PACKAGE, way.name, 1.5) for way in compiled),
            Goal(_PACKAGE, _ESTIMATOR, 2),
        ),
        repeats=turns,
    )


# Steps of a turn: Estimator, this package, the same on the CPU, from a file and in float16, and Keras.
_GPU_MODELS = {
    "small": ("the small model", (1500, 8000, 60000, 8000, 6000, 4000)),
    "convolution": (
        "two convolutions of images of 28 x 28, batch of 256",
        (1500, 3000, 150, 2000, 3000, 2000),
    ),
    "layers": ("4 layers of 4096, batch of 1024", (500, 800, 10, 800, 800, 500)),
}


def _on_gpu(kind: str) -> Case:
    title, (estimator, package, on_cpu, file, half, keras) = _GPU_MODELS[kind]
    ours, theirs = "gpu/package.py", "gpu/keras_fit.py"
    from_file, float16 = f"{_PACKAGE}, from a Parquet file", f"{_PACKAGE}, mixed_float16"
    return Case(
        f"gpu-{kind}",
        f"On one GPU: {title}",
        "examples per second",
        (
            Way(_ESTIMATOR, ("gpu/estimator.py", kind), estimator, GPU),
            Way(_PACKAGE, (ours, kind, "gpu"), package, GPU),
            Way(f"{_PACKAGE}, on the CPU", (ours, kind, "cpu"), on_cpu, GPU),
            Way(from_file, (ours, kind, "file"), file, GPU),
            Way(float16, (ours, kind, "float16"), half, GPU),
            Way(_KERAS, (theirs, kind, "gpu"), keras, GPU),
            Way(_KERAS_COMPILED, (theirs, kind, "compiled"), keras, GPU),
            Way("Keras, mixed_float16", (theirs, kind, "float16"), keras, GPU),
        ),
        (
            Goal(_PACKAGE, _KERAS, 1.0),
            Goal(from_file, _PACKAGE, 0.95),
            *([Goal(float16, _PACKAGE, 1.5)] if kind == "layers" else []),
        ),
        usual=False,
    )


CASES = (
    Case(
        "small-model",
        "Small model: 20 floats, hidden layers of 64 and 32, batch of 128, 200,000 rows",
        "examples per second",
        (
            Way(_ESTIMATOR, (_SMALL + "estimator.py", "wide"), 1200),
            Way(_COLUMNS, (_SMALL + "estimator.py", "columns"), 300),
            Way(_FROM_R, (_SMALL + "package.R", "wide"), 45000),
            Way(_FROM_R_COLUMNS, (_SMALL + "package.R", "columns"), 45000),
            Way(_KERAS, (_SMALL + "keras_fit.py",), 2000),
            Way(_KERAS_COMPILED, (_SMALL + "keras_fit.py", "100", "compiled"), 2000),
            Way("PyTorch, one thread, fused", (_SMALL + "torch_loop.py",), 2000, environment=PEERS),
            Way(_FUNCTION, (_SMALL + "tf_function.py", "iterator"), 3000),
            Way(_RESIDENT, (_SMALL + "tf_function.py", "resident"), 12000),
            Way(_COMPILED, (_SMALL + "tf_function.py", "compiled"), 30000),
            Way(_JAX, (_SMALL + "jax_loop.py",), 30000, environment=PEERS),
        ),
        (
            Goal(_FROM_R, _ESTIMATOR, 2.5),
            Goal(_FROM_R, _KERAS, 1.5),
            Goal(_FROM_R, _KERAS_COMPILED, 1.5),
            Goal(_FROM_R, _JAX, 1.0),
            Goal(_FROM_R, _FUNCTION, 0.9),
            Goal(_FROM_R, _RESIDENT, 2.2),
            Goal(_FROM_R, _COMPILED, 0.8),
            Goal(_FROM_R_COLUMNS, _FROM_R, 0.97),
            Goal(_FROM_R_COLUMNS, _COLUMNS, 6),
        ),
        repeats=5,
        quick=3,
    ),
    Case(
        "languages",
        "The small model from R and from Python, once started",
        "examples per second",
        (
            Way(_FROM_PYTHON, (_SMALL + "package.py", "wide", _INTERVAL), 8),
            Way(_FROM_R, (_SMALL + "package.R", "wide", _INTERVAL), 8),
            Way(_FROM_R_COLUMNS, (_SMALL + "package.R", "columns", _INTERVAL), 8),
        ),
        (Goal(_FROM_R, _FROM_PYTHON, 0.97), Goal(_FROM_R_COLUMNS, _FROM_R, 0.97)),
        repeats=7,
    ),
    _of_all_rows("predict"),
    _of_all_rows(
        "evaluate",
        Way(
            "Keras, three metrics",
            ("many-rows/keras_model.py", "evaluate-less"),
            2,
            usual=False,
        ),
    ),
    *(_of_table(kind) for kind in _TABLES),
    Case(
        "input-wait",
        "The small model from an Arrow file, and what it costs to measure how long steps wait",
        "examples per second",
        (
            Way(_UNMEASURED, (_SMALL + "package.py", "file-unmeasured"), 6000, NEWEST),
            Way(_MEASURED, (_SMALL + "package.py", "file"), 6000, NEWEST),
        ),
        (Goal(_MEASURED, _UNMEASURED, 0.98),),
        repeats=5,
    ),
    Case(
        "keras-3",
        "The small model in Keras 3, with TensorFlow 2.21",
        "examples per second",
        (
            *(
                Way(
                    f"fit(), {steps} steps per execution",
                    (_SMALL + "keras_fit.py", str(steps)),
                    2000,
                    NEWEST,
                )
                for steps in _STEPS_PER_EXECUTION
            ),
            Way(_FROM_PYTHON, (_SMALL + "package.py", "keras"), 6000, NEWEST),
        ),
        tuple(
            Goal(_FROM_PYTHON, f"fit(), {steps} steps per execution", 1.0)
            for steps in _STEPS_PER_EXECUTION
        ),
    ),
    Case(
        "versions",
        "The small model with the oldest TensorFlow and with the default",
        "examples per second",
        (
            Way(_OLD, (_SMALL + "package.py", "wide"), 6000),
            Way(_NEW, (_SMALL + "package.py", "wide"), 6000, NEWEST),
        ),
        (Goal(_NEW, _OLD, 0.9),),
        usual=False,
    ),
    Case(
        "model-function",
        "A model function of 3 columns and 16 units in R, the same in Python, and as a training loop",
        "examples per second",
        (
            Way("model_fn in Python", ("model-function.R", "python"), 40),
            Way("model_fn in R", ("model-function.R", "r"), 40),
            Way("training_loop() in R", ("model-function.R", "loop"), 40),
        ),
        (
            Goal("model_fn in R", "model_fn in Python", 0.97),
            Goal("training_loop() in R", "model_fn in R", 0.95),
        ),
        repeats=12,
    ),
    Case(
        "two-workers",
        "Two workers, one core each: 256 floats, 3 hidden layers of 1024, global batch of 512",
        "examples per second",
        (
            Way(_ONE, ("two-workers/package.R", "one"), 40),
            Way(_TWO, ("two-workers/package.R", "two"), 160),
            Way(
                "Keras, MultiWorkerMirrored, 2 processes",
                ("two-workers/together.py", "keras_worker.py"),
                40,
                usual=False,
            ),
            Way(_TORCH_TWO, ("two-workers/together.py", "torch_worker.py"), 40, environment=PEERS),
            Way(_MESSAGES, ("two-workers/package.R", "messages"), 40, usual=False),
            Way(_NOTHING, ("two-workers/together.py", "lone_worker.py"), 80),
        ),
        (Goal(_TWO, _ONE, 1.4), Goal(_TWO, _NOTHING, 0.9), Goal(_TWO, _TORCH_TWO, 1.0)),
        repeats=5,
    ),
    Case(
        "evaluation",
        "Evaluation by two workers, one core each: 256 floats, 3 hidden layers of 1024, batches of 512",
        "examples per second",
        (
            Way(_ONE, ("evaluation/package.R", "one"), 20),
            Way(_TWO, ("evaluation/package.R", "two"), 40),
        ),
        (Goal(_TWO, _ONE, 1.5),),
        usual=False,
    ),
    Case(
        "checkpoints",
        "Evaluation of 20 checkpoints of a small model",
        "evaluations per second",
        (
            Way(_AFTER, ("evaluation/checkpoints.R", "after"), 20),
            Way(_DURING, ("evaluation/checkpoints.R", "during"), 20),
        ),
        (Goal(_DURING, _AFTER, 0.8),),
    ),
    Case(
        "model-in-parts",
        "A model in two stages: 4 layers of 768, batch of 512, one thread per device",
        "examples per second",
        (
            Way(_TOGETHER, ("model-in-parts/speed.py", "one"), 30),
            Way(
                "two devices, layers placed", ("model-in-parts/speed.py", "placed"), 30, usual=False
            ),
            Way(_PIPELINE, ("model-in-parts/speed.py", "pipeline"), 40),
            Way(
                "two devices, 8 micro-batches",
                ("model-in-parts/speed.py", "pipeline-8"),
                40,
                usual=False,
            ),
        ),
        (Goal(_PIPELINE, _TOGETHER, 1.3),),
        repeats=5,
    ),
    Case(
        "overlap",
        "The same model: share of a step in which both threads compute",
        "share",
        (
            Way(_PIPELINE, ("model-in-parts/overlap.py", "pipeline"), 12),
            Way(
                "two devices, layers placed",
                ("model-in-parts/overlap.py", "placed"),
                12,
                usual=False,
            ),
            Way(
                "two devices, 8 micro-batches",
                ("model-in-parts/overlap.py", "pipeline-8"),
                12,
                usual=False,
            ),
        ),
        (Goal(_PIPELINE, None, 0.5),),
    ),
    Case(
        "large-layers",
        "Precision and micro-batches: 3 layers of 768, batch of 512, one thread"
        + ("" if _HAS_BFLOAT16 else " (this processor has no bfloat16)"),
        "examples per second",
        (
            Way(_FLOAT32, ("large-layers/speed.py", "float32", "1"), 40),
            Way(_BFLOAT16, ("large-layers/speed.py", "mixed_bfloat16", "1"), 60),
            Way(_ACCUMULATED, ("large-layers/speed.py", "float32", "4"), 40),
        ),
        (
            *([Goal(_BFLOAT16, _FLOAT32, 1.4)] if _HAS_BFLOAT16 else []),
            Goal(_ACCUMULATED, _FLOAT32, 0.8),
        ),
        usual=False,
    ),
    Case(
        "start-up",
        "From nothing to the first step of a small model",
        "seconds",
        (
            Way(_ESTIMATOR_ALONE, ("start-up/start.py", "estimator"), 2),
            Way("tfdistribute in Python", ("start-up/start.py", "package"), 2, usual=False),
            Way(_ESTIMATOR_IN_R, ("start-up/start.py", "reticulate"), 2),
            Way(_PACKAGE_IN_R, ("start-up/start.py", "r"), 2),
            Way("again in a running R session", ("start-up/again.R",), 1),
        ),
        (Goal(_ESTIMATOR_IN_R, _PACKAGE_IN_R, 1.0),),
        lower_is_better=True,
    ),
    Case(
        "start-up-versions",
        "From nothing to the first step of a small model, with two versions of TensorFlow",
        "seconds",
        (
            Way(_OLD, ("start-up/start.py", "package"), 1),
            Way(_NEW, ("start-up/start.py", "package"), 1, NEWEST),
            Way(_OLD_R, ("start-up/start.py", "r"), 1),
            Way(_NEW_R, ("start-up/start.py", "r"), 1, NEWEST),
        ),
        # The default may take 1.1 times as long.
        (Goal(_OLD, _NEW, 0.91), Goal(_OLD_R, _NEW_R, 0.91)),
        lower_is_better=True,
        usual=False,
    ),
    Case(
        "start-workers",
        "From train() in a running R session to the first step of two workers",
        "seconds",
        (
            Way(_BY_HAND, ("start-up/workers.R", "hand"), 1),
            Way(_TWO, ("start-up/workers.R", "job"), 1),
        ),
        lower_is_better=True,
    ),
    Case(
        "restart",
        "To the first step of two workers: from launch(), and from the loss of one of them",
        "seconds",
        (
            Way("start of the job", ("start-up/restart.R", "start"), 1, usual=False),
            Way("restart after a worker was killed", ("start-up/restart.R", "lost"), 1),
        ),
        lower_is_better=True,
        repeats=1,
    ),
    *map(_on_gpu, _GPU_MODELS),
)

# Scripts that take turns and print results themselves; they run by name.
SCRIPTS = (
    ("batches.py",),
    ("input.py", "--quick"),
    ("input.R", "--quick"),
    ("memory.R",),
    ("memory_of_inputs.py",),
    ("scale/curves.py",),
    ("served_calls.py",),
    ("steps_per_run.py",),
)
