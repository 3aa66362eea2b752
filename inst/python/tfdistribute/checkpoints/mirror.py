"""Directories on this machine in which TensorFlow reads and writes the files of directories on remote storage.

TensorFlow reads buckets of one provider at most. A checkpoint is uploaded file by file, and the file that names it as
the newest last, so a killed upload leaves the previous checkpoint valid. Each directory has one mirror in a process.
"""

import contextlib
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from fnmatch import fnmatchcase
from pathlib import Path

from tfdistribute import storage
from tfdistribute.checkpoints.contents import files_of
from tfdistribute.checkpoints.newest import STATE, listed_names, name_newest, newest_checkpoint
from tfdistribute.files import is_remote

if sys.platform != "win32":
    import fcntl

# What TensorFlow and this package remove or rename before long.
_UNFINISHED = (
    "*_temp",
    "*_temp/*",
    "tmp_*",
    "*.tempstate*",
    "*.new",
    "best-weights/*",
    "export/temp-*",
)
_EVENTS = "events.out."
_CHECKPOINT = re.compile(r"[^/]*\.(index|meta|data-\d+-of-\d+)")
_POLL_S = 0.5
_PREFIX = "tfdistribute-bucket-"

_mirrors: "dict[str, _Mirror]" = {}


def local_directory(directory: str) -> str:
    """Return the mirror of a directory on remote storage, or a local directory itself."""
    return _mirror(directory).path if is_remote(directory) else directory


def local_checkpoint(prefix: str) -> str:
    """Download a checkpoint on remote storage; return its prefix on this machine."""
    if not is_remote(prefix):
        return prefix
    directory, name = os.path.split(prefix)
    mirror = _mirror(directory)
    mirror.download([os.path.basename(file) for file in files_of(prefix)])
    mirror.keep_only(name)
    return os.path.join(mirror.path, name)


def local_file(path: str) -> str:
    if not is_remote(path):
        return path
    directory, name = os.path.split(path)
    _mirror(directory).download([name])
    return os.path.join(local_directory(directory), name)


def is_mirror(directory: str) -> bool:
    return any(mirror.path == directory for mirror in _mirrors.values())


def continue_here(model_dir: str) -> None:
    """Download the newest whole checkpoint of a model directory, from which TensorFlow then continues."""
    if is_remote(model_dir):
        _mirror(model_dir).continue_newest()


def download_exports(model_dir: str) -> None:
    """Download the exports of earlier processes, which TensorFlow's exporters count and compare."""
    if is_remote(model_dir):
        below = storage.files_below(os.path.join(model_dir, "export"))
        _mirror(model_dir).download([f"export/{name}" for name in below])


def upload_events(model_dir: str) -> None:
    """Upload events and exports, if this user may write there."""
    if is_remote(model_dir):
        with contextlib.suppress(OSError):
            _mirror(model_dir).upload(lambda name: "/" in name or name.startswith(_EVENTS))


def upload_checkpoint(model_dir: str) -> None:
    """Upload a checkpoint that this process has written, before other tasks read it."""
    if is_remote(model_dir):
        _mirror(model_dir).upload()


@contextlib.contextmanager
def uploading(model_dir: str) -> Generator[None]:
    """Upload checkpoints of a model directory in the background of the block, and the rest at its end.

    An upload that fails is tried again. Raises OSError if the last one fails.
    """
    if not is_remote(model_dir):
        yield
        return
    mirror, ended = _mirror(model_dir), threading.Event()
    thread = threading.Thread(
        target=mirror.follow, args=(ended,), name="tfdistribute-upload", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        mirror.finish()


class _Mirror:
    def __init__(self, directory: str) -> None:
        self._directory = directory
        _remove_left_over()
        self._home = tempfile.TemporaryDirectory(prefix=_PREFIX)
        while not _is_locked(self._home.name):
            self._home = tempfile.TemporaryDirectory(prefix=_PREFIX)
        self.path = self._home.name
        self._lock = threading.RLock()
        self._is_writer = False
        # Files that are the same in both places: size and time here, and there.
        self._same: dict[str, tuple[object, object]] = {}
        self._state = b""

    def download(self, names: list[str]) -> None:
        with self._lock:
            for name in names:
                there, here = self._there(name), os.path.join(self.path, name)
                status = _facts(there)
                if self._same.get(name) == (_facts(here), status) and status is not None:
                    continue
                os.makedirs(os.path.dirname(here), exist_ok=True)
                storage.copy(there, here)
                self._same[name] = _facts(here), status

    def keep_only(self, prefix: str) -> None:
        """Remove other checkpoints, unless TensorFlow does that, as in a training."""
        for name in [] if self._is_writer else list(self._same):
            if _CHECKPOINT.fullmatch(name) and not name.startswith(f"{prefix}."):
                self._forget(name)

    def continue_newest(self) -> None:
        with self._lock:
            newest, self._is_writer, self._state = newest_checkpoint(self._directory), True, b""
            for name in list(self._same):
                if _CHECKPOINT.fullmatch(name):
                    self._forget(name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.path, STATE))
            if newest is None:
                return
            name = os.path.basename(newest)
            self.download([os.path.basename(file) for file in files_of(newest)])
            # TensorFlow deletes old checkpoints whose indexes it finds.
            others = [each for each in listed_names(self._directory) if each != name]
            kept = [each for each in others if storage.is_file(self._there(f"{each}.index"))]
            self.download([f"{each}.index" for each in kept])
            name_newest(self.path, *kept, name)

    def follow(self, ended: threading.Event) -> None:
        while not ended.wait(_POLL_S):
            if storage.read_if_any(os.path.join(self.path, STATE)) != self._state:
                with contextlib.suppress(OSError):
                    self.upload()

    def finish(self) -> None:
        self._is_writer = False
        self.upload()

    def upload(self, wanted: Callable[[str], bool] = lambda name: True) -> None:
        """Upload what has changed, and remove what was removed here."""
        with self._lock:
            # Read first: the files that it names exist by now.
            state = storage.read_if_any(os.path.join(self.path, STATE))
            names = [name for name in _files_in(self.path) if wanted(name)]
            sent = [name for name in names if self._send(name)]
            if wanted(STATE) and state != self._state and self._has_newest(state, sent):
                storage.of(self._there(STATE)).write(self._there(STATE), _relative(state))
                self._state = state
            for name in self._same.keys() - set(names):
                if wanted(name):
                    self._remove(name)

    def _send(self, name: str) -> bool:
        here = os.path.join(self.path, name)
        facts, known = _facts(here), self._same.get(name, (None, None))
        if facts is None or facts == known[0]:
            return facts is not None
        try:
            storage.copy(here, self._there(name))
        except FileNotFoundError:
            if os.path.exists(here):
                raise
            return False
        self._same[name] = facts, _facts(self._there(name))
        return True

    def _has_newest(self, state: bytes, sent: list[str]) -> bool:
        # It may be deleted by now, because newer ones were saved.
        match = re.match(rb'model_checkpoint_path: "(?:.*/)?(.*)"', state)
        return match is not None and f"{match.group(1).decode()}.index" in sent

    def _remove(self, name: str) -> None:
        path = self._there(name)
        for each in files_of(path.removesuffix(".index")) if name.endswith(".index") else [path]:
            with contextlib.suppress(FileNotFoundError):
                storage.of(each).remove(each)
        self._same.pop(name)

    def _forget(self, name: str) -> None:
        del self._same[name]
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.path, name))

    def _there(self, name: str) -> str:
        return f"{self._directory}/{name}"


def _mirror(directory: str) -> _Mirror:
    directory = directory.rstrip("/")
    if directory not in _mirrors:
        storage.of(directory)
        _mirrors[directory] = _Mirror(directory)
    return _mirrors[directory]


def _is_locked(path: str) -> bool:
    """Lock a mirror until this process ends, in any way; return False if another process removed it before that."""
    if sys.platform != "win32":
        with contextlib.suppress(FileNotFoundError):
            fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX)
    return os.path.isdir(path)


def _remove_left_over() -> None:
    """Remove the mirrors of processes that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                if sys.platform != "win32":
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path)
            finally:
                os.close(descriptor)


def _facts(path: str) -> object:
    """Return the size and the time of a file; None if there is none."""
    try:
        status = storage.of(path).status(path)
    except FileNotFoundError:
        return None
    return status.size, status.modified_ns


def _files_in(directory: str) -> list[str]:
    """List the finished files but STATE; the shards of a checkpoint before its index."""
    names = (name for name in storage.files_below(directory) if name != STATE)
    return sorted(
        name for name in names if not any(fnmatchcase(name, pattern) for pattern in _UNFINISHED)
    )


def _relative(state: bytes) -> bytes:
    """Name checkpoints by their own names, whatever a saver of the user writes."""
    return re.sub(rb'(_paths?: ")(?:[^"\n]*/)?', rb"\1", state)
