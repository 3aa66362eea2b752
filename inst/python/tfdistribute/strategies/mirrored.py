"""A copy of the model on each device of one machine; gradients are summed after every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfdistribute import engine
from tfdistribute.errors import ArgumentError, StrategyError
from tfdistribute.strategies.description import Strategy
from tfdistribute.strategies.device_names import checked_devices, chosen_devices, kind_of

CROSS_DEVICE = ("auto", "nccl", "hierarchical_copy", "one_device")


@dataclass(frozen=True)
class Mirrored(Strategy, kind="mirrored"):
    """Train in step on several devices of one machine.

    Args:
        devices: None for all GPUs (or one CPU), a count, or names. A count on a machine without GPUs
            means logical CPUs.
        cross_device: How gradients are summed: "auto" (TensorFlow's collectives), "nccl" (GPUs only),
            "hierarchical_copy" (GPUs only) or "one_device" (all on the first device).

    Raises:
        ArgumentError: an unknown cross_device.
        StrategyError: devices cannot be used, or not with this cross_device.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/distribute/MirroredStrategy
    """

    devices: int | tuple[str, ...] | None = None
    cross_device: str = "auto"

    def __post_init__(self) -> None:
        """Check what can be known without a machine."""
        object.__setattr__(self, "devices", checked_devices(self.devices))
        if self.cross_device not in CROSS_DEVICE:
            raise ArgumentError(
                f'`cross_device` must be one of {", ".join(CROSS_DEVICE)}, not "{self.cross_device}".',
                'Use "auto".',
                argument="cross_device",
                value=self.cross_device,
            )
        if isinstance(self.devices, tuple):
            self._check_kinds(self.devices)

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        """Name the devices, and see that they can be summed over as asked."""
        devices = chosen_devices(self.devices, cpus, gpus)
        self._check_kinds(devices)
        return devices

    def build(self, devices: tuple[str, ...]) -> Any:
        """Make a ``tf.distribute.MirroredStrategy``."""
        distribute = engine.tf.distribute
        operations = {
            "auto": lambda: None,
            "nccl": distribute.NcclAllReduce,
            "hierarchical_copy": distribute.HierarchicalCopyAllReduce,
            "one_device": distribute.ReductionToOneDevice,
        }
        return distribute.MirroredStrategy(
            devices=list(devices), cross_device_ops=operations[self.cross_device]()
        )

    def _check_kinds(self, devices: tuple[str, ...]) -> None:
        kinds = {kind_of(device) for device in devices}
        if self.cross_device in ("nccl", "hierarchical_copy") and "CPU" in kinds:
            raise StrategyError(
                f'`cross_device = "{self.cross_device}"` sums over GPUs only, and a device is a CPU.',
                'Use `cross_device = "auto"`.',
                argument="cross_device",
                value=self.cross_device,
            )
        # TensorFlow's collectives wait for ever for members of another kind.
        if self.cross_device == "auto" and len(kinds) > 1:
            raise StrategyError(
                "`devices` mixes CPUs and GPUs, over which gradients cannot be summed collectively.",
                'Use devices of one kind, or `cross_device = "one_device"`.',
                argument="devices",
                value=", ".join(devices),
            )
