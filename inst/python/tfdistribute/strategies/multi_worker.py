"""Multi-worker strategy: a copy of the model on each worker of a cluster."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from tfdistribute import engine
from tfdistribute.descriptions.constraints import Count, Gt, MayDiffer, Never
from tfdistribute.errors import StrategyError
from tfdistribute.strategies.description import ReplicaDevices, Strategy
from tfdistribute.strategies.device_names import (
    check_per_replica,
    choose_devices,
    group_devices,
    short_names,
)

_IMPLEMENTATIONS = {"ring": "RING", "nccl": "NCCL"}

# Lets CPUs send gradients while others are computed. GPUs keep the default, which collects all of them first.
_BYTES_PER_PACK = 2**20


@dataclass(frozen=True)
class MultiWorker(Strategy, kind="multi_worker"):
    """Train synchronously on several workers, with a copy of the model on each.

    Args:
        communication: How workers sum their gradients: `"ring"` (through the network, CPUs or GPUs), `"nccl"` (GPUs),
            `"shared_memory"` (CPUs of one machine with Linux), or `"auto"` (default) for shared memory if at most eight
            workers can use it, and otherwise TensorFlow's choice.
        timeout_s: Seconds to wait for a worker that does not answer, a positive number. NULL (default) uses the
            cluster's timeout.
        devices_per_replica: Devices of a worker that share one copy of the model, a count. The worker's GPUs are
            divided into groups of this size. A worker without GPUs has one replica of as many logical CPUs. See
            [strategy_mirrored()].
        compression: `"bfloat16"` sends gradients through the network in 16 bits, which halves the bytes. Gradients then
            have two to three significant digits, so results match a single process only to that precision. `"none"`
            (default) sends gradients without compression. Gradients in shared memory and sums of fewer than 16,384
            numbers are never compressed.
    """

    rules: ClassVar[tuple[Never, ...]] = (
        Never(
            {
                "compression": Literal["bfloat16"],
                "communication": Literal["nccl", "shared_memory"],
            },
            "`compression = {compression}` is not supported with `communication = {communication}`.",
            'Use `communication = "ring"`, or `compression = "none"`.',
        ),
    )

    communication: Literal["auto", "ring", "nccl", "shared_memory"] = "auto"
    # For an unresponsive task; None for the timeout of the cluster.
    timeout_s: Annotated[
        Annotated[float, Gt(0)] | None, MayDiffer("It decides how long a task waits.")
    ] = None
    devices_per_replica: Count = (
        1  # A worker without GPUs has one replica, of as many logical CPUs.
    )
    compression: Literal["none", "bfloat16"] = "none"

    def resolve(self, cpus: int, gpus: int) -> tuple[str, ...]:
        if self.communication == "nccl" and not gpus:
            raise StrategyError(
                '`communication = "nccl"` sums over GPUs only, and TensorFlow sees no GPU on this machine.',
                'Use `communication = "auto"`.',
                argument="communication",
                value=self.communication,
            )
        if self.communication == "shared_memory" and gpus:
            raise StrategyError(
                f'`communication = "shared_memory"` sums over CPUs only, and this process sees {gpus} GPUs.',
                'Use `communication = "auto"`.',
                argument="communication",
                value=self.communication,
            )
        devices = choose_devices(None, cpus, gpus, self.devices_per_replica)
        check_per_replica(devices, self.devices_per_replica)
        return devices

    def replica_devices(self, devices: tuple[str, ...]) -> ReplicaDevices:
        return group_devices(devices, self.devices_per_replica)

    def described_replicas(self) -> ReplicaDevices:
        return self.replica_devices(short_names(self.devices_per_replica))

    def build(self, devices: tuple[str, ...]) -> Any:
        on_gpus = any("GPU" in name for name in devices)
        distribute = engine.tf.distribute
        options = distribute.experimental.CommunicationOptions(
            bytes_per_pack=0 if on_gpus else _BYTES_PER_PACK,
            implementation=getattr(
                distribute.experimental.CommunicationImplementation,
                # Memory is shared once all workers have agreed to do so.
                _IMPLEMENTATIONS.get(self.communication, "AUTO"),
            ),
            timeout_seconds=self.timeout_s,
        )
        return engine.multi_worker.MultiWorkerMirroredStrategy(options)
