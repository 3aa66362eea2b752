"""Speed of a training by its number of workers, predicted from measured costs of steps and of the network.

A step of workers takes as long as the slowest of three things: a worker that computes and exchanges, the cores that
workers share, and the network, which begins with the backward pass. The messages of the last gradients follow.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from tfdistribute import storage
from tfdistribute.descriptions import Description, read
from tfdistribute.descriptions.constraints import AnyFloat

# File in the model directory of a measured training.
STEP_COST = "step-cost.json"
WORKERS = tuple(2**exponent for exponent in range(10))
# More workers pay as long as twice as many take this many times as many examples.
_LEAST_GAIN = 1.1

# Processor time of one more message through gRPC.
_MESSAGE_S = 1e-4
# Bytes of gradients that go through a ring at a time.
_PACK_BYTES = 2**20
# The most workers of one machine that share memory.
_MOST_SHARED = 8
# Part of a step before its first gradients.
_FORWARD = 1 / 3


@dataclass(frozen=True)
class Cost(Description):
    """Measured cost of a step of some examples: seconds, a worker's processor time, and the size of its gradients."""

    examples: int
    step_s: float
    processor_s: float
    gradient_bytes: int


def read_cost(model_dir: str, examples: int) -> Cost:
    written = storage.read_object(os.path.join(model_dir, STEP_COST))
    return read(Cost, {"examples": examples, **(written or {})})


@dataclass(frozen=True)
class Network(Description):
    round_trip_s: float
    bytes_per_s: AnyFloat


@dataclass(frozen=True)
class Machines:
    """The machines of a cluster: the cores of one, and by rank the machine of each worker.

    Further workers are on further machines like these; if ``are_all``, on the same ones.
    """

    cores: int
    of_workers: tuple[str, ...]
    are_all: bool = False

    def tasks(self, workers: int) -> int:
        """Return the number of workers on the machine that has most of them."""
        if self.are_all:
            return math.ceil(workers / len(set(self.of_workers)))
        ranks = self.of_workers[:workers]
        return max(ranks.count(machine) for machine in set(ranks))


@dataclass(frozen=True)
class Speed:
    workers: int
    examples_per_second: float
    step_s: float
    computation_s: float  # The part of a step that a worker would take without the others.
    limit: str  # "computation", "cores", "bandwidth", "latency" or "servers".


@dataclass(frozen=True)
class Prediction:
    """Predicts speeds. ``costs`` are of one worker with the whole batch and with a part of it, and of two workers.

    Without a ``network``, workers share memory. With parameter servers, each worker takes whole batches.
    """

    costs: tuple[Cost, Cost, Cost]
    machines: Machines
    network: Network | None
    servers: int = 0

    def speeds(self, own_workers: int) -> list[Speed]:
        """Return the speeds of ``WORKERS``, and of the workers of the cluster, as far as each has an example."""
        most = math.inf if self.servers else self.costs[0].examples
        return [self.speed(each) for each in sorted({*WORKERS, own_workers}) if each <= most]

    def speed(self, workers: int) -> Speed:
        batch, size = self.costs[0].examples, self.costs[0].gradient_bytes
        if not self.servers:
            pair = self.costs[2]
            step = self._step(workers, batch / workers)
            if workers == 1:
                return Speed(1, batch / step.seconds, step.seconds, step.computation_s, step.limit)
            # What costs do not explain, such as waiting for the slower of two workers, remains with more of them.
            seconds = step.seconds * pair.step_s / self._step(2, pair.examples / 2).seconds
            return Speed(
                workers, batch / seconds, seconds, min(step.computation_s, seconds), step.limit
            )
        step = self._step(workers, batch)
        seconds, limit = step.seconds, step.limit
        if self.network is not None:
            # Each server sends its share of the variables to all workers.
            sending_s = workers * size / self.servers / self.network.bytes_per_s
            seconds, limit = max((seconds, limit), (sending_s, "servers"))
        return Speed(workers, workers * batch / seconds, seconds, step.computation_s, limit)

    def _step(self, workers: int, examples: float) -> "_Step":
        alone_s, processor_s = self._alone(examples)
        cores = self.machines.cores / self.machines.tasks(workers)
        computation_s = max(alone_s, processor_s / cores)
        if workers == 1 and not self.servers:
            return _Step(computation_s, computation_s, "computation")
        size, pair = self.costs[0].gradient_bytes, self.costs[2]
        # A worker of a ring sends ``sent`` times its gradients, and two workers send theirs once.
        sent, rounds = 2 * (workers - 1) / workers, 2 * (workers - 1)
        if self.servers:
            sent, rounds = 1.0, 2
        exchange_s = max(pair.processor_s - self._alone(pair.examples / 2)[1], 0.0)
        if self.network is None and not self.servers and workers <= _MOST_SHARED:
            # Each reads the gradients of all.
            exchange_s, network_s, latency_s = exchange_s * workers / 2, 0.0, 0.0
        else:
            more_messages = (rounds - 2) * math.ceil(size / _PACK_BYTES)
            exchange_s = exchange_s * sent + more_messages * _MESSAGE_S
            network = self.network or Network(0.0, math.inf)
            network_s = sent * size / network.bytes_per_s
            latency_s = rounds * (network.round_trip_s / 2 + _MESSAGE_S)
        parts = {
            "computation": alone_s + exchange_s,
            "cores": (processor_s + exchange_s) / cores,
            "bandwidth": _FORWARD * alone_s + network_s,
        }
        limit = max(parts, key=parts.__getitem__)
        seconds = parts[limit] + latency_s
        return _Step(seconds, computation_s, "latency" if 2 * latency_s > seconds else limit)

    def _alone(self, examples: float) -> tuple[float, float]:
        """Return seconds and processor time of a step, which grow with the examples from a part that does not."""
        whole, part, _ = self.costs
        share = (examples - part.examples) / max(whole.examples - part.examples, 1)
        pairs = ((part.step_s, whole.step_s), (part.processor_s, whole.processor_s))
        seconds, processor_s = (small + share * (large - small) for small, large in pairs)
        return max(seconds, 1e-9), max(processor_s, 1e-9)


@dataclass(frozen=True)
class _Step:
    seconds: float
    computation_s: float
    limit: str


def best(speeds: Sequence[Speed]) -> Speed:
    """Return the speed from which twice as many workers take less than ``_LEAST_GAIN`` times as many examples."""
    by_workers = {each.workers: each for each in speeds}
    for speed in speeds:
        twice = by_workers.get(2 * speed.workers)
        if twice and twice.examples_per_second < _LEAST_GAIN * speed.examples_per_second:
            return speed
    return speeds[-1]
