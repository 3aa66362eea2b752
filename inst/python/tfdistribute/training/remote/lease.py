"""Lease on a model directory on remote storage: only one job writes a model.

Such storage has no locks and cannot create a file only if it is missing. The chief therefore writes a file with its
job, renews it at intervals, and looks before each renewal whether another job has written it since. Of two jobs that
start at the same moment, the one that wrote first ends at its next look, after ``SETTLE_S``.

A lease that was not renewed for ``EXPIRE_S`` on the clock of the storage, or whose process has ended on this machine,
is taken over. A restarted chief takes over the lease of its own job.
"""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tfdistribute import storage
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.files import is_remote, parse_object
from tfdistribute.training.remote.access import access_error

NAME = ".lease"
SETTLE_S, RENEW_S, EXPIRE_S = 2.0, 20.0, 120.0


@dataclass(frozen=True)
class _Owner:
    """Content of the file."""

    job: str
    token: str  # Random text of the process.
    described: str
    process: str  # As this machine knows it, see ``_this_process``.

    @property
    def has_ended(self) -> bool:
        machine, _, number = self.process.rpartition(" ")
        if not number.isdecimal() or machine != _this_process().rpartition(" ")[0]:
            return False
        return not Path(f"/proc/{number}").exists()


class Lease:
    """The lease of one job on a model directory."""

    def __init__(self, model_dir: str, job: str) -> None:
        self._model_dir = model_dir
        self._path = os.path.join(model_dir, NAME)
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        described = f"{socket.gethostname()}, pid {os.getpid()}, user {_user()}, since {since}"
        self._own = _Owner(job, secrets.token_hex(8), described, _this_process())
        self._ended = threading.Event()
        self._loss: ModelDirectoryError | None = None

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lease inside the block; ModelDirectoryError if another job holds it, or it cannot be written."""
        check_free(self._model_dir, self._own.job)
        try:
            self._write()
        except OSError as error:
            raise access_error(self._model_dir, "written", error) from error
        thread = threading.Thread(target=self._keep, name="tfdistribute-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            self._release()

    def loss(self) -> ModelDirectoryError | None:
        """Return the error of a lease that another job has taken; None while it is this job's."""
        return self._loss

    def _keep(self) -> None:
        interval_s = SETTLE_S
        while not self._ended.wait(interval_s):
            interval_s = RENEW_S
            # Storage that does not answer is asked again.
            with contextlib.suppress(OSError):
                owner = _read(self._path)
                if owner is not None and owner.token != self._own.token:
                    self._loss = _in_use(self._model_dir, owner)
                    return
                self._write()

    def _write(self) -> None:
        content = json.dumps(dataclasses.asdict(self._own))
        storage.of(self._path).write(self._path, content.encode())

    def _release(self) -> None:
        with contextlib.suppress(OSError):
            owner = _read(self._path)
            if owner is not None and owner.token == self._own.token:
                storage.of(self._path).remove(self._path)


@contextlib.contextmanager
def hold_lease(model_dir: str, job: str) -> Iterator[Lease | None]:
    """Hold the lease of a job inside the block; None for a local directory, which its supervisor has locked."""
    if not is_remote(model_dir):
        yield None
        return
    lease = Lease(model_dir, job)
    with lease.hold():
        yield lease


def check_free(model_dir: str, job: str = "") -> None:
    """Check that no other job holds the lease on a model directory; ModelDirectoryError if one does."""
    path = os.path.join(model_dir, NAME)
    try:
        owner = _read(path)
        if owner is None or owner.job == job or owner.has_ended or _age_s(path) > EXPIRE_S:
            return
    except OSError as error:
        raise access_error(model_dir, "read", error) from error
    raise _in_use(model_dir, owner)


def _read(path: str) -> _Owner | None:
    fields = parse_object(storage.read_if_any(path))
    try:
        return None if fields is None else _Owner(**fields)
    except TypeError:
        return None


def _age_s(path: str) -> float:
    """Return the seconds since a file was written, on the clock of the storage."""
    place, now = storage.of(path), f"{path}-{secrets.token_hex(8)}"
    try:
        written_ns = place.status(path).modified_ns
    except FileNotFoundError:
        return float("inf")
    place.write(now, b"-")
    try:
        return (place.status(now).modified_ns - written_ns) / 1e9
    finally:
        place.remove(now)


def _in_use(model_dir: str, owner: _Owner) -> ModelDirectoryError:
    return ModelDirectoryError(
        f'`model_dir` "{model_dir}" is in use by another job: {owner.described}.',
        "Wait until it has ended, stop it, or use another `model_dir`. What a killed job leaves on another machine is "
        f"free after {EXPIRE_S:.0f} seconds.",
        argument="model_dir",
        value=model_dir,
    )


def _this_process() -> str:
    """Name this machine since its start, its processes as this one sees them, and this process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')} {os.getpid()}"
    except OSError:
        return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid())
