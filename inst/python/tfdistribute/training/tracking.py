"""Parameters of a training as a tracker shows them, and the tracker of a training in this process."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from tfdistribute.descriptions.comparison import Exceptions, entries_of
from tfdistribute.models import FeatureColumn, Model
from tfdistribute.run_config import RunSettings
from tfdistribute.task_events import JOB
from tfdistribute.trackers import Tracker
from tfdistribute.trackers.process import TrackerProcess
from tfdistribute.training.history import History

# A model may have hundreds of columns.
_LEFT_OUT = Exceptions(left_out=(FeatureColumn, Tracker))


def tracking(
    model: Model, settings: RunSettings, global_batch_size: int | None
) -> dict[str, Any] | None:
    """Return the input of a ``TrackerProcess`` as plain values; None for a training without a tracker."""
    if settings.track is None:
        return None
    tracker = {"kind": settings.track.kind, **vars(settings.track)}
    entries = entries_of(model, "model", _LEFT_OUT)
    changed = entries_of(settings, "config", _LEFT_OUT)
    usual = entries_of(RunSettings(), "config", _LEFT_OUT)
    entries |= {path: changed[path] for path in changed if changed[path] != usual.get(path)}
    parameters = {
        path.removeprefix("model$").removeprefix("config$").replace("$", "."): value
        for path, value in entries.items()
        # Code is no parameter.
        if value not in (None, []) and not isinstance(value, dict) and not {" ", "["} & set(path)
    }
    parameters["batch_size"] = global_batch_size
    return {"tracker": tracker, "model_dir": model.model_dir, "parameters": parameters}


@contextlib.contextmanager
def tracked(model: Model, settings: RunSettings, history: History) -> Iterator[None]:
    """Log the history of the training in the block, unless a job does so; raises as ``TrackerProcess``."""
    values = tracking(model, settings, history.global_batch_size)
    if values is None or os.environ.get(JOB):
        yield
        return
    process, state = TrackerProcess(values), "failed"
    try:
        yield
        state = "done"
    except KeyboardInterrupt:
        state = "stopped"
        raise
    finally:
        problem = process.finish(state)
        if problem is not None:
            history.note(problem)
