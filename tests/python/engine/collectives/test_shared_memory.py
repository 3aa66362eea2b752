"""Sums in memory that workers share, between threads or child processes."""

from __future__ import annotations

import errno
import gc
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.job_fakes import open_files

from tfdistribute.engine.collectives import connections, shared_memory
from tfdistribute.engine.collectives.connections import (
    BrokenExchangeError,
    Connections,
    Listener,
)
from tfdistribute.engine.collectives.shared_memory import (
    Layout,
    NoSharedMemoryError,
    SharedSums,
)
from tfdistribute.errors import ClusterError

TIMEOUT_S = 10.0
LAYOUTS = (Layout("float32", (3, 17)), Layout("int64", (1,)))


def connected(
    layouts: Sequence[Sequence[Layout]], timeout_s: float = TIMEOUT_S
) -> list[tuple[SharedSums, Connections]]:
    """Connect as many workers as there are layouts, each on its own thread."""
    listeners = [Listener() for _ in layouts]
    names = [each.name for each in listeners]

    def connect(rank: int) -> tuple[SharedSums, Connections]:
        made = Connections(listeners[rank], rank, names, timeout_s)
        return SharedSums(made, rank, layouts[rank]), made

    with ThreadPoolExecutor(len(layouts)) as pool:
        return list(pool.map(connect, range(len(layouts))))


def at_once(actions: Sequence[Callable[[], Any]]) -> list[Any]:
    with ThreadPoolExecutor(len(actions)) as pool:
        return [each.result(TIMEOUT_S) for each in [pool.submit(action) for action in actions]]


def parts_of(rank: int, step: int) -> list[list[Any]]:
    random = np.random.default_rng(100 * step + rank)
    floats = [random.normal(size=size).astype("float32") for size in (3, 17)]
    return [[floats[0].reshape(3, 1), floats[1]], [np.array([rank + 1], "int64")]]


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_all_workers_get_the_sums_in_the_order_of_ranks(workers: int) -> None:
    joined = connected([LAYOUTS] * workers)

    def train(rank: int) -> list[Any]:
        sums, _ = joined[rank]
        results: list[Any] = []
        for step in range(5):
            # The sums of a step may be written in any order.
            for number in (1, 0):
                sums.write(number, parts_of(rank, step)[number])
            results.append([sums.read(0), sums.read(1)])
        return results

    results = at_once([lambda rank=rank: train(rank) for rank in range(workers)])
    for step in range(5):
        parts = [parts_of(rank, step) for rank in range(workers)]
        for number, index in ((0, 0), (0, 1), (1, 0)):
            expected = parts[0][number][index].reshape(-1)
            for each in parts[1:]:
                expected = expected + each[number][index].reshape(-1)
            for result in results:
                np.testing.assert_array_equal(result[step][number][index], expected)


def test_a_worker_may_be_one_step_ahead_of_another() -> None:
    (fast, _), (slow, _) = connected([LAYOUTS[1:]] * 2)
    for step in range(2):
        for sums in (fast, slow):
            sums.write(0, [np.array([step + 1], "int64")])
        assert fast.read(0)[0].tolist() == [2 * (step + 1)]
        # The slow worker reads this step only after the fast one has written the next.
        fast.write(0, [np.array([100], "int64")])
        assert slow.read(0)[0].tolist() == [2 * (step + 1)]
        slow.write(0, [np.array([100], "int64")])
        assert fast.read(0)[0].tolist() == slow.read(0)[0].tolist() == [200]


def test_a_sum_that_is_still_in_use_is_not_overwritten() -> None:
    (one, _), (two, _) = connected([LAYOUTS[1:]] * 2)
    kept: list[Any] = []
    for step in range(3):
        for sums in (one, two):
            sums.write(0, [np.array([step], "int64")])
        kept.append(one.read(0))
        two.read(0)
    assert [each[0].tolist() for each in kept] == [[0], [2], [4]]


def test_a_sum_uses_the_same_memory_in_each_step() -> None:
    (one, _), (two, _) = connected([LAYOUTS[:1]] * 2)
    addresses: set[int] = set()
    for step in range(4):
        for rank, sums in enumerate((one, two)):
            sums.write(0, parts_of(rank, step)[0])
        two.read(0)
        first, second = one.read(0)
        addresses |= {first.ctypes.data, second.ctypes.data}
        # Only then does TensorFlow take an array as it is.
        assert first.ctypes.data % 64 == second.ctypes.data % 64 == 0
        del first, second
    assert len(addresses) == 2


def test_a_wait_ends_when_the_connections_are_closed() -> None:
    (one, connection), (two, _) = connected([LAYOUTS] * 2)
    errors: list[BaseException] = []

    def wait(sums: SharedSums) -> None:
        try:
            sums.read(0)
        except BrokenExchangeError as error:
            errors.append(error)

    threads = [threading.Thread(target=wait, args=(each,)) for each in (one, two)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    # In this worker, and so in the other.
    connection.close()
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert sorted(str(error) for error in errors) == [
        f"{connections.BROKEN}: rank 0.",
        f"{connections.BROKEN}: rank 1.",
    ]


def test_workers_that_sum_other_tensors_are_named() -> None:
    with pytest.raises(ClusterError, match=r"rank \d and \d sum different tensors"):
        # The other one waits until the end.
        connected([LAYOUTS, LAYOUTS[:1]], timeout_s=1.0)


@pytest.mark.parametrize("refused", ["memfd_create", "ftruncate", "mmap"])
def test_all_workers_do_without_shared_memory_where_one_may_not_have_it(
    monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    module = shared_memory.mmap if refused == "mmap" else os
    given = getattr(module, refused)
    calls: list[int] = []

    def refuse_one(*arguments: Any, **options: Any) -> Any:
        """The first of three workers that comes."""
        calls.append(len(calls))
        if calls[-1] == 0:
            raise OSError(errno.EFBIG, "File too large")
        return given(*arguments, **options)

    listeners = [Listener() for _ in range(3)]
    names = [each.name for each in listeners]
    made = [Connections(each, rank, names, TIMEOUT_S) for rank, each in enumerate(listeners)]

    def why_not(rank: int) -> str | None:
        with pytest.raises(NoSharedMemoryError) as caught:
            SharedSums(made[rank], rank, LAYOUTS)
        return caught.value.note

    maps, files = shared_maps(), shared_files()
    monkeypatch.setattr(module, refused, refuse_one)
    notes = at_once([lambda rank=rank: why_not(rank) for rank in range(3)])
    monkeypatch.undo()
    (note,) = [each for each in notes if each is not None]
    assert "512 bytes of memory to share cannot be allocated (File too large)" in note
    assert (shared_maps(), shared_files()) == (maps, files)
    for each in made:
        each.close()


def test_a_worker_that_does_not_come_is_named() -> None:
    listeners = [Listener(), Listener()]
    names = [each.name for each in listeners]
    began = time.monotonic()
    with pytest.raises(BrokenExchangeError, match=r"rank 1\."):
        SharedSums(Connections(listeners[0], 0, names, 0.2), 0, LAYOUTS)
    assert time.monotonic() - began < TIMEOUT_S
    for each in listeners:
        each.close()


def test_another_user_cannot_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([False, True])
    monkeypatch.setattr(connections, "_is_own", lambda connection: next(answers))
    listeners = [Listener(), Listener()]
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(f"\0{listeners[0].name}")
        names = [each.name for each in listeners]

        def connect(rank: int) -> SharedSums:
            return SharedSums(Connections(listeners[rank], rank, names, TIMEOUT_S), rank, LAYOUTS)

        at_once([lambda rank=rank: connect(rank) for rank in range(2)])
        stranger.settimeout(TIMEOUT_S)
        assert stranger.recv(1) == b""


CHILD = """
import sys, time
from tfdistribute.engine.collectives.connections import Connections, Listener
from tfdistribute.engine.collectives.shared_memory import Layout, SharedSums

listener = Listener()
print(listener.name, flush=True)
names = [sys.stdin.readline().strip(), listener.name]
sums = SharedSums(Connections(listener, 1, names, 10), 1, [Layout("float32", (1_000_000,))])
print("connected", flush=True)
time.sleep(60)
"""


def shared_maps() -> int:
    gc.collect()
    return Path("/proc/self/maps").read_text().count("memfd:tfdistribute")


def shared_files() -> int:
    return sum("memfd:tfdistribute" in link for link in open_files(os.getpid()))


def test_the_memory_of_a_killed_worker_is_freed() -> None:
    maps, files = shared_maps(), shared_files()
    listener = Listener()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdin is not None
        assert child.stdout is not None
        names = [listener.name, child.stdout.readline().strip()]
        child.stdin.write(f"{listener.name}\n")
        child.stdin.flush()
        made = Connections(listener, 0, names, TIMEOUT_S)
        sums = SharedSums(made, 0, [Layout("float32", (1_000_000,))])
        assert child.stdout.readline() == "connected\n"
        # Nothing has a name, which would outlive the processes.
        assert "/dev/shm" not in " ".join(open_files(os.getpid()) + open_files(child.pid))
        assert shared_maps() == maps + 2
        child.kill()
        with pytest.raises(BrokenExchangeError, match=r"rank 1\."):
            sums.read(0)
    finally:
        child.kill()
        child.communicate()
    made.close()
    del sums
    assert (shared_maps(), shared_files()) == (maps, files)
    assert not set(names) & set(Path("/proc/net/unix").read_text().split("@"))
