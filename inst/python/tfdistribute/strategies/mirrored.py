"""Mirrored strategy: a copy of the model on each device of one machine."""

from dataclasses import dataclass
from typing import Any, Literal

from tfdistribute import engine
from tfdistribute.descriptions.constraints import Count
from tfdistribute.errors import StrategyError
from tfdistribute.strategies.description import DeviceStrategy, ReplicaDevices
from tfdistribute.strategies.device_names import (
    check_per_replica,
    choose_devices,
    device_type,
    group_devices,
    short_device,
)


@dataclass(frozen=True)
class Mirrored(DeviceStrategy, kind="mirrored"):
    """Train on several devices of one machine, with a copy of the model on each.

    Args:
        cross_device: How gradients are summed: `"auto"` (NCCL between GPUs, on one device if a CPU takes part),
            `"nccl"` (GPUs only), `"hierarchical_copy"` (in groups of neighbors) or `"one_device"` (all on the first
            device).
        devices_per_replica: Devices that share one copy of the model, a count. `devices` is divided into groups of this
            size. The model function places its parts with [pipeline()] or [logical_device()]. See
            `vignette("models-in-parts")`. Without GPUs, `devices = NULL` then means one replica of as many logical
            CPUs.
    """

    # "auto": NCCL between GPUs; on one device if any is a CPU.
    cross_device: Literal["auto", "nccl", "hierarchical_copy", "one_device"] = "auto"
    # That share one copy of a model in parts; ``devices`` is a multiple of it.
    devices_per_replica: Count = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_per_replica(self.devices, self.devices_per_replica)
        if isinstance(self.devices, tuple):
            self._check_nccl(self.devices)

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        devices = choose_devices(self.devices, cpus, gpus, self.devices_per_replica)
        check_per_replica(devices, self.devices_per_replica)
        self._check_nccl(devices)
        return devices

    def replica_devices(self, devices: tuple[str, ...]) -> ReplicaDevices:
        return group_devices(devices, self.devices_per_replica)

    def build(self, devices: tuple[str, ...]) -> Any:
        distribute = engine.tf.distribute
        operations = {
            "auto": lambda: None,
            "nccl": distribute.NcclAllReduce,
            "hierarchical_copy": distribute.HierarchicalCopyAllReduce,
            "one_device": distribute.ReductionToOneDevice,
        }
        # Outside a graph, the strategy reads TensorFlow's eager context, which may have only one CPU, and sums over
        # CPUs with collectives. Those fail if the number of rows of a sparse gradient changes.
        with engine.tf.Graph().as_default():
            return distribute.MirroredStrategy(
                devices=list(devices), cross_device_ops=operations[self.cross_device]()
            )

    def _check_nccl(self, devices: tuple[str, ...]) -> None:
        on_cpu = [device for device in devices if device_type(device) == "CPU"]
        if self.cross_device == "nccl" and on_cpu:
            raise StrategyError(
                f'`cross_device = "nccl"` sums over GPUs only, and {short_device(on_cpu[0])} is a CPU.',
                'Use `cross_device = "auto"`.',
                argument="cross_device",
                value=self.cross_device,
            )

    def session_hooks(self, devices: tuple[str, ...]) -> list[Any]:
        return [engine.repairs.KeepOneOfEachVariable()] if len(devices) > 1 else []
