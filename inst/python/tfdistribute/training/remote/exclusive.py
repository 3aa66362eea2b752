"""A training's exclusive use of its model directory, local or remote, and its end after SIGTERM."""

import contextlib
import os
import warnings
from collections.abc import Iterator

from tfdistribute import task_events
from tfdistribute.checkpoints.lock import ModelDirectoryLock
from tfdistribute.environment import describe_process
from tfdistribute.files import is_remote
from tfdistribute.interrupts import end_after_sigterm
from tfdistribute.training.model_directory import was_temporary
from tfdistribute.training.remote.lease import Lease, check_access, hold_lease

AFRESH = (
    '`model_dir` "{}" was temporary and was deleted when its R session ended: training starts at step 0. '
    "To keep the trained model, use save_estimator() or bundle::bundle(), or give the estimator a `model_dir`."
)


@contextlib.contextmanager
def exclusive(model_dir: str) -> Iterator[None]:
    """Hold model_dir and turn SIGTERM into a saving end inside the block, as a training outside a cluster."""
    with end_after_sigterm(), hold_model_dir(model_dir, describe_process()):
        yield


@contextlib.contextmanager
def hold_model_dir(model_dir: str, job: str) -> Iterator[Lease | None]:
    """Lock a local directory, or take the lease of a remote one, inside the block.

    The supervisor of a job holds the lock for its tasks. Raises ModelDirectoryError if another training holds it.
    """
    if is_remote(model_dir):
        check_access(model_dir)
        with hold_lease(model_dir, job) as lease:
            yield lease
        return
    if task_events.is_in_job() and _is_locked_by_job(model_dir):
        yield None
        return
    if was_temporary(model_dir):
        warnings.warn(AFRESH.format(model_dir), stacklevel=2)
    is_new = not os.path.isdir(model_dir)
    lock = ModelDirectoryLock(model_dir)
    try:
        yield None
    finally:
        lock.release()
        if is_new:
            # A training that failed before it wrote anything leaves no directory.
            with contextlib.suppress(OSError):
                os.rmdir(model_dir)


def _is_locked_by_job(model_dir: str) -> bool:
    locked = os.environ.get(task_events.MODEL_DIR)
    return bool(locked) and os.path.realpath(locked) == os.path.realpath(model_dir)
