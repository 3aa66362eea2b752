"""The pass `compile`: the loop of steps over rows in memory, compiled by XLA as one program.

XLA joins operations, whose start takes most of the time of a small step. It rounds otherwise, so a compiled step
equals TensorFlow's to the last digits. "auto" decides by the graph and the number of steps, never by time.
"""

import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.engine.graph import rebuild
from tfdistribute.engine.repairs import replicated_variables
from tfdistribute.engine.step import loop, passes
from tfdistribute.engine.step.compiled import supported
from tfdistribute.engine.step.compiled.lookups import NotCompilableError
from tfdistribute.engine.step.compiled.operations import Replacements
from tfdistribute.engine.step.compiled.rows import Rows, make_places
from tfdistribute.engine.step.program import StepProgram
from tfdistribute.environment import changed_variable
from tfdistribute.errors import UnsupportedError, said_by_tensorflow

v1 = tf.compat.v1
raw = tf.raw_ops

# A training of fewer steps ends sooner if nothing is compiled.
WORTH_STEPS = 20_000
# Of a small step. Above, TensorFlow's products are faster than those of XLA, and several at a time.
MOST_MULTIPLICATIONS = 5_000_000
# XLA takes a millisecond or more to compile an operation.
_MOST_OPERATIONS = 2_000
# By which the steps of a run are chosen, so that a run takes about 0.05 s.
_RUN_S, _STEP_S, _MULTIPLICATIONS_PER_S = 0.05, 1e-5, 5e10
# Row numbers of a run at most.
_MOST_ROW_NUMBERS = 2**20
# With several threads, the order of a sum would depend on their number.
_XLA_FLAGS, _ONE_THREAD = "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false"


@dataclass(frozen=True)
class Compilation:
    """Whether the steps of a training are compiled.

    ``steps`` is None if that is not known. ``report`` is called once steps are compiled.
    """

    wanted: bool | str = False
    steps: int | None = None
    report: Callable[[], Any] = lambda: None

    def refuse(self, reason: str) -> None:
        if self.wanted is True:
            raise UnsupportedError(
                f"`compile` is TRUE, and this training cannot be compiled: {reason}.",
                'Use `compile = "auto"`, which compiles the trainings that can be.',
                value="TRUE",
            )

    def reason_against(self, program: StepProgram) -> str | None:
        """Return why a training is not compiled, as far as that is known without XLA; None to compile it."""
        if not passes.is_on("compile"):
            return "the pass `compile` is switched off"
        if self.wanted is not True and (self.steps or 0) < WORTH_STEPS:
            return f"it is not known to have {WORTH_STEPS} steps"
        reason = next(_obstacles(program), None)
        if reason is None and self.wanted is not True:
            if len(program.operations()) > _MOST_OPERATIONS:
                return "its steps have many operations"
            if not is_small(program):
                return "its products are large"
        return reason


def build(
    compilation: Compilation, program: StepProgram, global_step: Any, steps: int | str, session: Any
) -> "CompiledLoop | None":
    """Compile the loop of a training; return None if it is not compiled.

    ``steps`` counts the steps of a run with the one outside the loop, or is "auto". UnsupportedError if the training
    must be compiled, and cannot be.
    """
    reason = None if compilation.wanted else "it need not be"
    reason = reason or compilation.reason_against(program)
    if reason is None:
        try:
            compiled = CompiledLoop(program, global_step, _steps_of_run(program, steps))
            compiled.prepare(session)
        except (NotCompilableError, ValueError, TypeError, tf.errors.OpError) as error:
            reason = _in_words(error)
        else:
            compilation.report()
            return compiled
    compilation.refuse(reason)
    return None


class CompiledLoop:
    """A loop around a step, and the losses of its steps, as ``loop.StepLoop``.

    A run takes at most ``steps``, and a run that fails has taken none.
    """

    def __init__(self, program: StepProgram, global_step: Any, steps: int) -> None:
        graph, reader = program.graph, program.reader
        assert reader is not None
        self.steps = steps
        self._reader = reader
        self._program = program
        self._has_failed = False
        self._counter = replicated_variables.components(global_step)[0].handle
        with (
            graph.as_default(),
            loop.unfinalize(graph),
            tf.device("/cpu:0"),
            tf.name_scope("compiled_steps"),
        ):
            shape = [steps, reader.rows.batch_size]
            self._wanted = v1.placeholder(tf.int32, [], "wanted")
            self._numbers = v1.placeholder(reader.rows.numbers_dtype, shape, "numbers")
            compiled = tf.function(self._loop, autograph=False, jit_compile=True)
            self._after = compiled(self._wanted, self._numbers)
            self._now = raw.ReadVariableOp(resource=self._counter, dtype=tf.int64)

    def _loop(self, wanted: Any, numbers: Any) -> dict[str, Any]:
        operations = self._program.operations()

        def condition(done: Any, goes_on: Any, _losses: Any, _places: Any) -> Any:
            return tf.logical_and(done < wanted, goes_on)

        def body(done: Any, _goes_on: Any, losses: Any, places: Any) -> Any:
            batch = self._reader.gather([numbers], done)
            rows = Rows(places)
            replacements = Replacements(rows)
            made = rebuild.rebuild(operations, batch, replacements.replace, supported.check_results)
            loss = tf.cast(tf.reshape(made[self._program.loss.name], []), tf.float64)
            # A step that fails a check is not counted: TensorFlow takes it again, and raises the error.
            passed = replacements.passed()
            goes_on = tf.logical_and(passed, tf.logical_not(tf.math.is_nan(loss)))
            done, losses = done + tf.cast(passed, tf.int32), losses.write(done, loss)
            return done, goes_on, losses, rows.places

        losses = tf.TensorArray(tf.float64, self.steps, element_shape=[])
        places = make_places(operations)
        begin = (tf.constant(0), tf.constant(True), losses, places)
        done, _, losses, _ = tf.while_loop(condition, body, begin, parallel_iterations=1)
        step = raw.ReadVariableOp(resource=self._counter, dtype=tf.int64)
        return {"done": done, "losses": losses.stack(), "step": step}

    def prepare(self, session: Any) -> None:
        """Compile the program for a session, with a run of no steps."""
        flags = os.environ.get(_XLA_FLAGS, "")
        if _ONE_THREAD.partition("=")[0] not in flags:
            flags = f"{flags} {_ONE_THREAD}".strip()
        with changed_variable(_XLA_FLAGS, flags):
            self._run(session, 0)

    def run(self, session: Any, steps: int) -> tuple[int, Any]:
        """Take steps until a loss is NaN or a check fails; return the global step and the losses."""
        if self._has_failed:
            # TensorFlow has taken the step again, without an error.
            raise UnsupportedError(
                "A check of the model has failed, but only in a compiled step.",
                "Train again with `compile = FALSE`, from the newest checkpoint.",
                argument="compile",
            )
        values = self._run(session, steps, self._reader.cursor.show(steps)[0])
        losses = values["losses"][: int(values["done"])]
        self._has_failed = len(losses) < steps and not np.isnan(losses[-1:]).any()
        self._reader.cursor.advance(len(losses))
        return int(values["step"]), losses

    def _run(self, session: Any, steps: int, numbers: Any = 0) -> Any:
        # XLA compiles a program for each shape, so a run always gets row numbers of the same. TensorFlow may share the
        # memory of what is fed and keep it, so each run gets its own.
        fed = np.zeros(self._numbers.shape, self._numbers.dtype.as_numpy_dtype)
        fed[:steps] = numbers
        return session.run(self._after, {self._wanted: steps, self._numbers: fed})

    def read_losses(self, session: Any, begun_at: int) -> tuple[int, Any]:
        """Return the global step and the losses of a run that failed: none."""
        return int(session.run(self._now)), np.zeros(0)


def _obstacles(program: StepProgram) -> Iterator[str]:
    if program.reader is None:
        yield "a tf.data pipeline feeds its rows, and not the memory of this process"
    elif program.reader.rows.replicas > 1:
        yield "several devices train it"
    has_gpu = bool(tf.config.list_physical_devices("GPU"))
    for operation in program.operations():
        device = tf.DeviceSpec.from_string(operation.device)
        if device.device_type not in (None, "CPU") or device.device_index not in (None, 0):
            yield f"{operation.type} {operation.name!r} is placed on {operation.device}"
        elif has_gpu and device.device_type is None and operation.type != "ReadVariableOp":
            yield "it may use the GPU of this machine, and compiled steps are for CPUs"


def is_small(program: StepProgram) -> bool:
    return multiplications(program) <= MOST_MULTIPLICATIONS


def multiplications(program: StepProgram) -> float:
    """Count the multiplications of a step's matrix products; infinite if it has convolutions."""
    assert program.reader is not None
    batch_size = program.reader.rows.batch_size
    return sum(_multiplications(each, batch_size) for each in program.operations())


def _multiplications(operation: Any, batch_size: int) -> float:
    if "Conv" in operation.type:
        return math.inf
    if "MatMul" not in operation.type:
        return 0
    result, first = (
        _sizes(each, batch_size) for each in (operation.outputs[0], operation.inputs[0])
    )
    if not first:
        return math.inf
    transposed = any(operation.node_def.attr[name].b for name in ("transpose_a", "adj_x"))
    return math.prod(result) * first[-2 if transposed else -1]


def _sizes(tensor: Any, batch_size: int) -> list[int]:
    # Only the number of rows is not known before the step is built for full batches.
    return [size or batch_size for size in tensor.shape] if tensor.shape.rank else []


def _steps_of_run(program: StepProgram, steps: int | str) -> int:
    assert program.reader is not None
    step_s = _STEP_S + multiplications(program) / _MULTIPLICATIONS_PER_S
    wanted = int(_RUN_S / step_s) if isinstance(steps, str) else steps - 1
    most = max(1, min(loop.MAX_STEPS, _MOST_ROW_NUMBERS // program.reader.rows.batch_size))
    return min(wanted, most)


def _in_words(error: Exception) -> str:
    missing = re.findall(r"(\w+) \(No registered", str(error))
    if missing:
        return f"XLA does not have {', '.join(dict.fromkeys(missing))}"
    return said_by_tensorflow(str(error)).rstrip(".")
