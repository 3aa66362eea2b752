"""Device names and counts, in users' and TensorFlow's notation."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated

from tfdistribute.descriptions.constraints import Fact, Pattern, Text
from tfdistribute.errors import StrategyError

Device = Annotated[
    Text,
    Pattern(
        " *(/job:localhost)?(/replica:0)?(/task:0)?/?([Dd][Ee][Vv][Ii][Cc][Ee]:)?[CcGg][Pp][Uu]:[0-9]{1,4} *",
        "`{argument}` does not name a CPU or GPU of this machine: {value}.",
        'Write a type and a number, such as "CPU:0" or "GPU:1".',
        "strategy",
    ),
    Fact.NAME,
]


def canonical_device(name: str) -> str:
    kind, index = name.split(":")[-2:]
    return f"/device:{kind[-3:].upper()}:{int(index)}"


def device_type(device: str) -> str:
    return device.split(":")[1]


def device_index(device: str) -> int:
    return int(device.split(":")[2])


def cpus_named(devices: Iterable[str]) -> int:
    """Return the number of logical CPUs needed: the highest CPU index plus 1, or 0 if no CPU is named."""
    return max(
        (device_index(device) + 1 for device in devices if device_type(device) == "CPU"), default=0
    )


def canonical_devices(devices: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(map(canonical_device, devices))
    counts = Counter(names)
    twice = next((name for name in names if counts[name] > 1), None)
    if twice is not None:
        raise StrategyError(
            f"`devices` names {short_device(twice)} twice: {', '.join(devices)}.",
            "Name each device once.",
            value=", ".join(devices),
        )
    return names


def check_per_replica(devices: int | tuple[str, ...] | None, per_replica: int) -> None:
    """Check that replicas of equal size use all devices; None for devices that are not known yet."""
    count = len(devices) if isinstance(devices, tuple) else devices
    if count is not None and count % per_replica:
        raise StrategyError(
            f"{count} device{'' if count == 1 else 's'} cannot be divided into replicas of {per_replica} "
            f"(`devices_per_replica = {per_replica}`).",
            f"Use a multiple of {per_replica} devices.",
            argument="devices_per_replica",
            value=str(per_replica),
        )


def group_devices(devices: tuple[str, ...], per_replica: int) -> tuple[tuple[str, ...], ...]:
    return tuple(
        devices[begin : begin + per_replica] for begin in range(0, len(devices), per_replica)
    )


def short_names(devices: int | tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(devices, int):
        return tuple(f"CPU:{index}" for index in range(devices))
    return tuple(short_device(name) for name in devices)


def choose_devices(
    devices: int | tuple[str, ...] | None, cpus: int, gpus: int, per_replica: int = 1
) -> tuple[str, ...]:
    if devices is None:
        devices = gpus or per_replica
    if isinstance(devices, int):
        kind = "GPU" if gpus else "CPU"
        names = tuple(f"/device:{kind}:{index}" for index in range(devices))
    else:
        names = devices
    require_devices(
        names, cpus, gpus, f"`devices = {devices}`" if isinstance(devices, int) else "`devices`"
    )
    return names


def require_devices(devices: tuple[str, ...], cpus: int, gpus: int, asked: str) -> None:
    argument = asked.strip("`").split(" ")[0]
    wanted_gpus = max((device_index(d) + 1 for d in devices if device_type(d) == "GPU"), default=0)
    if wanted_gpus > gpus:
        found = "no GPU" if gpus == 0 else "1 GPU" if gpus == 1 else f"{gpus} GPUs"
        last = f"GPU:{wanted_gpus - 1}"
        raise StrategyError(
            f"{asked} asks for {last}, but TensorFlow sees {found} on this machine.",
            f'Use at most {gpus}, or name CPU devices, such as "CPU:0".'
            if gpus
            else 'Use CPU devices, such as "CPU:0", or install a TensorFlow that supports the GPU.',
            argument=argument,
            value=last,
        )
    wanted_cpus = cpus_named(devices)
    if wanted_cpus > cpus:
        raise StrategyError(
            f"{asked} asks for {wanted_cpus} CPU devices, but a session can have at most {cpus}.",
            "Use as many as this machine has cores, or fewer.",
            argument=argument,
            value=str(wanted_cpus),
        )


def short_device(device: str) -> str:
    return device.removeprefix("/device:")
