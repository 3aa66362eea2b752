"""The strategies of one machine, and run settings that use them."""

from __future__ import annotations

from typing import Any

from support.sampling import sampled
from tfdistribute.descriptions import read
from tfdistribute.run_config import RunSettings

STRATEGIES: dict[str, dict[str, Any] | None] = {
    "none": None,
    "one device": {"kind": "one_device", "device": "CPU:1"},
    "mirrored": {"kind": "mirrored", "devices": 2},
    "mirrored over 3": {"kind": "mirrored", "devices": 3},
    "central storage": {"kind": "central_storage", "devices": 2},
    "model parallel": {"kind": "model_parallel", "devices": 2},
    "model parallel over 3": {"kind": "model_parallel", "devices": 3},
    "mirrored in parts": {"kind": "mirrored", "devices": 4, "devices_per_replica": 2},
}
# One per kind.
KINDS = (
    "none",
    "one device",
    "mirrored",
    "central storage",
    "model parallel",
    "mirrored in parts",
)

every_strategy = sampled("strategy", KINDS, check=["none", "mirrored"])


def settings(strategy: str = "none", **fields: Any) -> RunSettings:
    """Make run settings that train under a strategy."""
    return read(RunSettings, {"strategy": STRATEGIES[strategy], **fields})
