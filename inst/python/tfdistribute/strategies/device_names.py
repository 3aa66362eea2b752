"""Names and numbers of devices, as users write them and as TensorFlow takes them. Plain Python."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tfdistribute.errors import StrategyError

_NAME = re.compile(
    r"(?:/job:localhost)?(?:/replica:0)?(?:/task:0)?/?(?:device:)?(CPU|GPU):(\d{1,4})",
    re.IGNORECASE,
)


def canonical(name: str, argument: str) -> str:
    """Write a device's name as TensorFlow does.

    Args:
        name: Such as "GPU:0", "/gpu:1", "cpu:0" or "/device:CPU:1".
        argument: Name of the user's argument, for the error.

    Returns:
        Such as "/device:GPU:0".

    Raises:
        StrategyError: the name is none of a CPU or GPU of this machine.

    Source:
        https://www.tensorflow.org/guide/gpu, "Overview".
    """
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise StrategyError(
            f'`{argument}` names no CPU or GPU of this machine: "{name}".',
            'Write a type and a number, such as "CPU:0" or "GPU:1".',
            argument=argument,
            value=name,
        )
    return f"/device:{match[1].upper()}:{int(match[2])}"


def device_type(device: str) -> str:
    """Say what a canonical name is a name of: "CPU" or "GPU"."""
    return device.split(":")[1]


def device_index(device: str) -> int:
    """Say which device of its kind a canonical name means, counted from 0."""
    return int(device.split(":")[2])


def cpus_named(devices: Iterable[str]) -> int:
    """Count the logical CPUs that must exist for these devices to exist.

    Args:
        devices: Canonical names.

    Returns:
        The highest CPU number plus 1; 0 where no CPU is named.
    """
    return max(
        (device_index(device) + 1 for device in devices if device_type(device) == "CPU"), default=0
    )


def checked_devices(devices: int | tuple[str, ...] | None) -> int | tuple[str, ...] | None:
    """Check what a user gave as ``devices``, as far as this can be known without a machine.

    Args:
        devices: None, a count or names.

    Returns:
        None, the count, or canonical names.

    Raises:
        StrategyError: a count below 1, no name at all, a name of no device, or one named twice.
    """
    if devices is None:
        return None
    if isinstance(devices, int):
        if devices < 1:
            raise StrategyError(
                f"`devices` must be at least 1, not {devices}.",
                "Give the number of devices, their names, or NULL for all GPUs.",
                argument="devices",
                value=str(devices),
            )
        return devices
    names = tuple(canonical(name, "devices") for name in devices)
    twice = next((name for name in names if names.count(name) > 1), None)
    if not names or twice is not None:
        problem = f"names {short(twice)} twice" if twice else "names no device"
        raise StrategyError(
            f"`devices` {problem}: {', '.join(devices) or 'it is empty'}.",
            "Name each device once.",
            argument="devices",
            value=", ".join(devices),
        )
    return names


def chosen_devices(devices: int | tuple[str, ...] | None, cpus: int, gpus: int) -> tuple[str, ...]:
    """Name the devices that a count, names or nothing mean on this machine.

    Args:
        devices: What ``checked_devices`` returned: None takes all GPUs, or one CPU where there is none.
        cpus: Logical CPUs that can be had.
        gpus: GPUs of this machine.

    Returns:
        Canonical names; a count takes GPUs where there is one, else logical CPUs.

    Raises:
        StrategyError: more devices than there are.
    """
    if devices is None:
        devices = max(gpus, 1)
    if isinstance(devices, int):
        kind = "GPU" if gpus else "CPU"
        names = tuple(f"/device:{kind}:{index}" for index in range(devices))
    else:
        names = devices
    require(
        names, cpus, gpus, f"`devices = {devices}`" if isinstance(devices, int) else "`devices`"
    )
    return names


def require(devices: tuple[str, ...], cpus: int, gpus: int, asked: str) -> None:
    """See that devices exist.

    Args:
        devices: Canonical names.
        cpus: Logical CPUs that can be had.
        gpus: GPUs of this machine.
        asked: What asks for them, as the user wrote it, for the error.

    Raises:
        StrategyError: a GPU that this machine does not have, or a CPU that cannot be had.
    """
    argument = asked.strip("`").split(" ")[0]
    wanted_gpus = max((device_index(d) + 1 for d in devices if device_type(d) == "GPU"), default=0)
    if wanted_gpus > gpus:
        there = "no GPU" if gpus == 0 else "1 GPU" if gpus == 1 else f"{gpus} GPUs"
        last = f"GPU:{wanted_gpus - 1}"
        raise StrategyError(
            f"{asked} asks for {last}, but TensorFlow sees {there} on this machine.",
            f'Use at most {gpus}, or name CPU devices, such as "CPU:0".'
            if gpus
            else 'Use CPU devices, such as "CPU:0", or install a TensorFlow that supports the GPU.',
            argument=argument,
            value=last,
        )
    wanted_cpus = cpus_named(devices)
    if wanted_cpus > cpus:
        raise StrategyError(
            f"{asked} asks for {wanted_cpus} CPU devices, but a session can have {cpus} at most.",
            "Use as many as this machine has cores, or fewer.",
            argument=argument,
            value=str(wanted_cpus),
        )


def short(device: str) -> str:
    """Write a canonical name as users do: "CPU:0"."""
    return device.removeprefix("/device:")
