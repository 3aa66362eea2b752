"""Sums over the workers of a cluster, made in another way than TensorFlow makes them."""

from tfdistribute.engine.collectives.connections import BROKEN, BrokenExchangeError
from tfdistribute.engine.collectives.worker_sums import WorkerSums

__all__ = ["BROKEN", "BrokenExchangeError", "WorkerSums"]
