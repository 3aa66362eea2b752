"""The lease on a model directory on remote storage, in a store of this process."""

from __future__ import annotations

import errno
import io
import json
import os
import time
from collections.abc import Callable
from typing import Any, BinaryIO

import pytest

from tfdistribute import storage
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.storage.buckets import Status
from tfdistribute.training.remote import lease
from tfdistribute.training.remote.lease import NAME, Lease, check_free, hold_lease

MODEL = "memory://store/model"
PATH = f"{MODEL}/{NAME}"


class Memory:
    """A storage with a clock of its own, an hour ahead of this machine's."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.times: dict[str, float] = {}
        self.is_down = False

    def open(self, path: str) -> BinaryIO:
        if self.is_down:
            raise OSError(errno.EIO, "no answer", path)
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return io.BytesIO(self.files[path])

    def write(self, path: str, content: bytes) -> None:
        if self.is_down:
            raise OSError(errno.EIO, "no answer", path)
        self.files[path] = content
        self.times[path] = time.time() + 3600

    def status(self, path: str) -> Status:
        self.open(path)
        return Status(len(self.files[path]), int(self.times[path] * 1e9))

    def remove(self, path: str) -> None:
        del self.files[path]

    @property
    def owner(self) -> dict[str, Any]:
        return json.loads(self.files[PATH])

    def write_owner(self, age_s: float = 0.0, **fields: str) -> None:
        """Write the lease of a job on another machine."""
        other = {"job": "other", "token": "t", "described": "host-b, pid 7", "process": "b pid 7"}
        self.write(PATH, json.dumps({**other, **fields}).encode())
        self.times[PATH] -= age_s


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    found = Memory()
    monkeypatch.setattr(storage.buckets, "find", lambda path: found)
    monkeypatch.setattr(lease, "SETTLE_S", 0.02)
    monkeypatch.setattr(lease, "RENEW_S", 0.02)
    return found


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_a_second_job_is_refused_and_told_who_holds_the_lease(memory: Memory) -> None:
    with hold_lease(MODEL, "a"):
        refused = pytest.raises(ModelDirectoryError, match=f"training: .*, pid {os.getpid()}, user")
        with refused, hold_lease(MODEL, "b"):
            pass
        assert memory.owner["job"] == "a"
    assert memory.files == {}


def test_a_restarted_chief_takes_over_the_lease_of_its_own_job(memory: Memory) -> None:
    memory.write_owner(job="a")
    with hold_lease(MODEL, "a"):
        assert memory.owner["token"] != "t"
    assert memory.files == {}


def test_a_lease_expires_by_the_clock_of_the_storage(memory: Memory) -> None:
    memory.write_owner(age_s=lease.EXPIRE_S - 5)
    with pytest.raises(ModelDirectoryError, match="host-b, pid 7") as caught:
        check_free(MODEL, "a")
    assert "after 120 seconds" in str(caught.value.remedy)
    memory.write_owner(age_s=lease.EXPIRE_S + 5)
    check_free(MODEL, "a")
    assert list(memory.files) == [PATH]


def test_the_lease_of_a_process_that_has_ended_on_this_machine_is_free(memory: Memory) -> None:
    own = lease._this_process()
    assert own.endswith(f" {os.getpid()}")
    machine = own.rpartition(" ")[0]
    memory.write_owner(process=f"{machine} {os.getppid()}")
    with pytest.raises(ModelDirectoryError):
        check_free(MODEL, "a")
    memory.write_owner(process=f"{machine} 4194305")
    check_free(MODEL, "a")


def test_a_lease_that_another_job_has_written_is_lost_and_stays_the_others(memory: Memory) -> None:
    held = Lease(MODEL, "a")
    with held.hold():
        assert held.loss() is None
        memory.write_owner()
        assert within(5, lambda: held.loss() is not None)
    assert "host-b, pid 7" in str(held.loss())
    assert memory.owner["job"] == "other"


def test_a_lease_is_renewed_and_survives_a_storage_that_does_not_answer(memory: Memory) -> None:
    held = Lease(MODEL, "a")
    with held.hold():
        memory.is_down = True
        time.sleep(0.1)
        memory.is_down = False
        before = memory.times[PATH]
        assert within(5, lambda: memory.times[PATH] > before)
        assert held.loss() is None


def test_a_lease_that_could_not_be_released_is_free_in_its_process(memory: Memory) -> None:
    with hold_lease(MODEL, "a"):
        with pytest.raises(ModelDirectoryError, match="in use by another training"):
            check_free(MODEL, "b")
        memory.is_down = True
    memory.is_down = False
    assert memory.owner["job"] == "a"
    check_free(MODEL, "b")


def test_a_local_directory_has_no_lease(memory: Memory) -> None:
    with hold_lease("/tmp/model", "a") as held:
        assert held is None
    assert memory.files == {}


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"job": 1}'])
def test_a_file_that_is_no_lease_is_overwritten(memory: Memory, content: bytes) -> None:
    memory.write(PATH, content)
    with hold_lease(MODEL, "a"):
        assert memory.owner["job"] == "a"


def test_a_storage_that_does_not_answer_refuses_a_job(memory: Memory) -> None:
    memory.is_down = True
    with pytest.raises(ModelDirectoryError, match="cannot be read: no answer"):
        check_free(MODEL)
