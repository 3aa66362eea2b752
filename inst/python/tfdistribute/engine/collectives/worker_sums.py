"""Sums over all workers in each training step, as one worker computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistribute.engine.collectives import shared_sums, step_sums
from tfdistribute.engine.collectives.connections import Connections, Listener, machine
from tfdistribute.engine.collectives.shared_memory import SharedSums

# Time in which another worker, which has just agreed to share memory, must connect.
_CONNECT_S = 30.0


class WorkerSums:
    """The sums of one worker, made in another way than TensorFlow makes them.

    Args:
        rank: Number of this worker.
        tasks: Number of workers.
        shares: Whether this worker may share memory with the others.
        compresses: Whether sums that are sent through a network are compressed.
        cores: Number of cores of this worker.
    """

    def __init__(self, rank: int, tasks: int, shares: bool, compresses: bool, cores: int) -> None:
        self._rank = rank
        self._tasks = tasks
        self._compresses = compresses
        self._one_core = cores == 1
        self.machine = machine() if shares else None
        self._listener = None if self.machine is None else Listener()
        self._connections: Connections | None = None
        self._is_prepared = False

    @property
    def socket(self) -> str | None:
        """Name of the socket at which the others find this worker; None if it does not share memory."""
        return None if self._listener is None else self._listener.name

    def prepare(self, targets: Sequence[Any], sockets: Sequence[str]) -> None:
        """Replace the sums in the graph of a step, before its first session.

        Args:
            targets: What a step computes: its training operation and its loss.
            sockets: Names of all workers' sockets, by rank; empty if they do not share memory.

        Raises:
            BrokenExchangeError: another worker has ended or does not come.
            ClusterError: another worker sums other tensors.
        """
        if self._is_prepared or not (sockets or self._compresses):
            return
        self._is_prepared = True
        sums = step_sums.sums_of_step(targets, self._tasks)
        if not sockets:
            step_sums.compress(sums)
        elif sums:
            assert self._listener is not None
            self._connections = Connections(self._listener, self._rank, sockets, _CONNECT_S)
            sums = step_sums.joined(sums)
            shared = SharedSums(self._connections, self._rank, [each.layout for each in sums])
            shared_sums.share(sums, shared.write, shared.read, self._one_core)

    def close(self) -> None:
        """End all waits of this worker and of the others. Idempotent."""
        if self._listener is not None:
            self._listener.close()
        if self._connections is not None:
            self._connections.close()
