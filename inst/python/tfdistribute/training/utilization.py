"""How busy a training keeps this process's GPUs, and how long its steps wait for their input."""

import importlib
import os
import time
from dataclasses import dataclass, field
from typing import Any

from tfdistribute import gpus
from tfdistribute.task_events import UTILIZATION

_SAMPLE_EVERY_S = 1.0
# Share of the time from which waiting is worth a note at the end of a training that lasted this long.
_NOTED_FROM, _NOTED_AFTER_S = 0.5, 10.0


@dataclass
class Utilization:
    """Samples of a training, at most one a second.

    ``values`` belong to the last one: ``input_wait`` is the share of the time since the first one in which steps
    waited for rows. ``gpu_utilization`` is the mean share of the time in which a GPU was busy, ``gpu_memory_mb`` and
    ``gpu_power_w`` are sums, and all are missing without a GPU, its driver or nvidia-ml-py.

    Source:
        https://docs.nvidia.com/deploy/nvml-api
    """

    values: dict[str, float] = field(default_factory=dict[str, float])
    _sampled_at: float = 0.0
    _first: tuple[float, float] | None = None
    _last: float = 0.0
    _seconds: float = 0.0
    _devices: list[Any] | None = None

    def sample(self, waited_s: float | None) -> None:
        now = time.monotonic()
        if now - self._sampled_at < _SAMPLE_EVERY_S:
            return
        self._sampled_at = now
        if waited_s is not None:
            self._note_wait(now, waited_s)
        self.values |= self._gpus()

    def _note_wait(self, now: float, waited_s: float) -> None:
        if self._first is None or waited_s < self._last:
            # A session that was opened again counts from 0.
            self._first = (now, waited_s)
        else:
            self._seconds = now - self._first[0]
            share = (waited_s - self._first[1]) / self._seconds
            self.values["input_wait"] = min(share, 1.0)
        self._last = waited_s

    def note(self) -> str | None:
        share = self.values.get("input_wait", 0.0)
        if share < _NOTED_FROM or self._seconds < _NOTED_AFTER_S:
            return None
        return (
            f"Steps waited for their input {share:.0%} of the time. Rows in memory, or in files of write_arrow(), "
            "are read faster."
        )

    def _gpus(self) -> dict[str, float]:
        if self._devices == []:
            return {}
        try:
            nvml = importlib.import_module("pynvml")
            if self._devices is None:
                self._devices = []
                nvml.nvmlInit()
                self._devices = _visible(nvml)
            rates = [nvml.nvmlDeviceGetUtilizationRates(each).gpu for each in self._devices]
            memory = [nvml.nvmlDeviceGetMemoryInfo(each).used for each in self._devices]
            power = [nvml.nvmlDeviceGetPowerUsage(each) for each in self._devices]
        # Without the package, a driver or the right, or with a GPU that does not tell.
        except Exception:  # noqa: BLE001
            self._devices = []
            return {}
        if not rates:
            return {}
        numbers = (sum(rates) / len(rates) / 100, sum(memory) / 2**20, sum(power) / 1000)
        return dict(zip(UTILIZATION[1:], numbers, strict=True))


def _visible(nvml: Any) -> list[Any]:
    if gpus.are_hidden():
        return []
    chosen = [each.strip() for each in os.environ.get(gpus.VISIBLE, "").split(",") if each.strip()]
    if not chosen:
        chosen = [str(index) for index in range(nvml.nvmlDeviceGetCount())]
    return [
        nvml.nvmlDeviceGetHandleByIndex(int(each))
        if each.isdecimal()
        else nvml.nvmlDeviceGetHandleByUUID(each)
        for each in chosen
    ]
