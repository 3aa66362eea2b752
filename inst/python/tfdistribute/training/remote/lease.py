"""Access to a model directory on remote storage, and the lease by which only one job writes a model.

Such storage has no locks and cannot create a file only if it is missing. The chief therefore writes a file with its
job, renews it at intervals, and looks before each renewal whether another job has written it since. Of two jobs that
start at the same moment, the one that wrote first ends at its next look, after ``SETTLE_S``.

A lease that was not renewed for ``EXPIRE_S`` on the clock of the storage, or whose process has ended on this machine,
is taken over. A restarted chief takes over the lease of its own job.
"""

import contextlib
import dataclasses
import os
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tfdistribute import storage
from tfdistribute.checkpoints import mirror
from tfdistribute.environment import describe_process
from tfdistribute.errors import ModelDirectoryError
from tfdistribute.files import is_remote, parse_object
from tfdistribute.storage.buckets import OF_AZURE

NAME = ".lease"
SETTLE_S, RENEW_S, EXPIRE_S = 2.0, 20.0, 120.0

_CREDENTIALS = {
    **dict.fromkeys(
        OF_AZURE,
        "Set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY, or run `az login` as "
        "an account with the role Storage Blob Data Contributor.",
    ),
    "gs": "Let GOOGLE_APPLICATION_CREDENTIALS name the key file of an account with the role Storage Object Admin, or "
    "run `gcloud auth application-default login`.",
    "s3": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of an account that may read, write, list and delete there.",
}

# The tokens of the leases of this process.
_held: set[str] = set()


def check_access(model_dir: str) -> None:
    place = storage.of(model_dir)
    path = os.path.join(model_dir, f".access-{secrets.token_hex(8)}")
    try:
        place.make_directory(model_dir)
        place.write(path, b"-")
        place.names(model_dir)
        place.remove(path)
    except OSError as error:
        raise access_error(model_dir, "written", error) from error


def read_error(model_dir: str) -> ModelDirectoryError | None:
    """Explain why nothing can be read in a model directory; None if nothing was written there yet."""
    place = storage.of(model_dir)
    try:
        if not place.names(model_dir):
            place.check(model_dir)
    except OSError as error:
        return access_error(model_dir, "read", error)
    return None


@contextlib.contextmanager
def uploads(model_dir: str) -> Iterator[None]:
    """Upload what TensorFlow writes inside the block, if the model directory is on remote storage."""
    try:
        with mirror.uploading(model_dir):
            yield
    except OSError as error:
        if not is_remote(model_dir):
            raise
        raise access_error(model_dir, "written", error) from error


def access_error(
    model_dir: str, purpose: str, error: OSError, argument: str = "model_dir"
) -> ModelDirectoryError:
    if isinstance(error, FileNotFoundError):
        remedy = "Create the bucket, or correct its name."
    elif isinstance(error, PermissionError):
        remedy = _CREDENTIALS.get(model_dir.partition(":")[0], "Ask for access to it.")
    else:
        remedy = "Check the path and the connection to its storage, and try again."
    return ModelDirectoryError(
        f'`{argument}` "{model_dir}" cannot be {purpose}: {error.strerror}.',
        remedy,
        value=model_dir,
    )


@dataclass(frozen=True)
class _Owner:
    job: str
    token: str  # Random text of the process.
    described: str
    process: str  # As this machine knows it, see ``_this_process``.

    @property
    def has_ended(self) -> bool:
        if self.process and self.process == _this_process():
            # A lease whose release failed is left behind.
            return self.token not in _held
        machine, _, number = self.process.rpartition(" ")
        if not number.isdecimal() or machine != _this_process().rpartition(" ")[0]:
            return False
        return not Path(f"/proc/{number}").exists()


class Lease:
    def __init__(self, model_dir: str, job: str) -> None:
        self._model_dir = model_dir
        self._path = os.path.join(model_dir, NAME)
        self._own = _Owner(job, secrets.token_hex(8), describe_process(), _this_process())
        self._ended = threading.Event()
        self._loss: ModelDirectoryError | None = None

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        check_free(self._model_dir, self._own.job)
        try:
            self._write()
        except OSError as error:
            raise access_error(self._model_dir, "written", error) from error
        _held.add(self._own.token)
        thread = threading.Thread(target=self._keep, name="tfdistribute-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            _held.discard(self._own.token)
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
        storage.write_object(self._path, dataclasses.asdict(self._own))

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
        f'`model_dir` "{model_dir}" is in use by another training: {owner.described}.',
        "Wait until it has ended, stop it, or use another `model_dir`. If its job was killed on another "
        f"machine, it is free after {EXPIRE_S:.0f} seconds.",
        value=model_dir,
    )


def _this_process() -> str:
    """Name this machine since its start, the namespace of its processes, and this process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')} {os.getpid()}"
    except OSError:
        return ""
