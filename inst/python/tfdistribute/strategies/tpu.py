"""TPU strategy: a copy of the model on each core of a TPU."""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tfdistribute import engine, versions
from tfdistribute.descriptions.constraints import Count, Fact, Pattern, Text
from tfdistribute.errors import StrategyError
from tfdistribute.rules import Finding
from tfdistribute.strategies.description import ReplicaDevices, Strategy
from tfdistribute.strategies.device_names import group_devices

AUTO = "auto"

# The first device of a TPU VM, by the generation of its TPU.
DEVICE_FILES = ("/dev/accel0", "/dev/vfio/0")
# Where TensorFlow's loader finds the driver, unless TPU_LIBRARY_PATH names it.
LIBRARIES = ("/lib/libtpu.so", "/usr/lib/libtpu.so", "/usr/local/lib/libtpu.so")
# Steps of one run, if checkpoints need none at other steps.
_MOST_STEPS = 100


@dataclass(frozen=True)
class Tpu(Strategy, kind="tpu"):
    """Train on a TPU.

    Args:
        address: `"local"`, the TPU of this machine. The TPU of another machine is not supported, so run R on the
            machine with the TPU.
        steps_per_run: Steps on the TPU before control returns to the host, a count. `"auto"` uses the count of
            [run_config()], or at most 100, so that checkpoints occur at their steps.
    """

    address: Annotated[
        Text,
        Pattern(
            "local",
            "`{argument}` is {value}, a TPU behind another machine, which would have to read the data of this one.",
            'Run R on the TPU VM itself, with `address = "local"`.',
            "unsupported",
        ),
        Fact.NAME,
    ] = "local"
    # "auto": at most 100, so that checkpoints fall on their steps.
    steps_per_run: Count | Literal["auto"] = "auto"

    def missing_parts(self) -> list[str]:
        missing: list[str] = []
        if not any(map(os.path.exists, DEVICE_FILES)):
            missing.append(f"a device file ({' or '.join(DEVICE_FILES)})")
        if not _has_library():
            missing.append("the driver libtpu.so")
        if engine.is_started() and not engine.tpu.has_kernels():
            missing.append(f"TPU kernels in TensorFlow {versions.tensorflow()}")
        return missing

    def problem(self) -> Finding | None:
        missing = self.missing_parts()
        if not missing:
            return None
        return Finding(
            "strategy",
            f"strategy_tpu() trains on the TPU of this machine, which lacks {_listed(missing)}.",
            "Run R on a TPU VM, with the Python of its image (tpu-vm-tf-2.15.1-pjrt or -se) as RETICULATE_PYTHON. "
            "On other machines, use strategy_mirrored().",
        )

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        # Imported now, so that TensorFlow's kernels are known.
        _ = engine.tf
        problem = self.problem()
        if problem is not None:
            raise StrategyError(
                problem.message, problem.fix, argument=problem.field, value="strategy_tpu()"
            )
        return engine.tpu.cores()

    def replica_devices(self, devices: tuple[str, ...]) -> ReplicaDevices:
        return group_devices(devices, 1)

    def described_replicas(self) -> ReplicaDevices | None:
        return None

    def in_run(self, steps_per_run: int | str, save_checkpoints_steps: int | None) -> "Tpu":
        """Choose the steps of a run by the run configuration, if the strategy leaves them open."""
        steps = steps_per_run if self.steps_per_run == AUTO else self.steps_per_run
        if isinstance(steps, str):
            saved = save_checkpoints_steps or _MOST_STEPS
            steps = next(n for n in range(min(saved, _MOST_STEPS), 0, -1) if saved % n == 0)
        return Tpu(self.address, steps)

    def build(self, devices: tuple[str, ...]) -> Any:
        return engine.tpu.strategy(int(self.steps_per_run))

    def session_hooks(self, devices: tuple[str, ...]) -> list[Any]:
        return [engine.repairs.KeepOneOfEachVariable()] if len(devices) > 1 else []


def _has_library() -> bool:
    named = os.environ.get("TPU_LIBRARY_PATH", "")
    if named:
        return Path(named).exists()
    return any(map(os.path.exists, LIBRARIES)) or importlib.util.find_spec("libtpu") is not None


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
