"""Hook that logs a training to its tracker."""

import contextlib
import dataclasses
import hashlib
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tfdistribute import storage
from tfdistribute.checkpoints.contents import files_of
from tfdistribute.checkpoints.newest import STATE, newest_checkpoint
from tfdistribute.descriptions.comparison import Exceptions, entries_of
from tfdistribute.environment import changed_variable
from tfdistribute.errors import BackendError, RunConfigError
from tfdistribute.files import json_values, parse_object
from tfdistribute.models import FeatureColumn, Model
from tfdistribute.run_config import RunSettings
from tfdistribute.trackers import Run, Tracker
from tfdistribute.training.history import History

# The run of a model directory, which later trainings there continue.
FILE = "tfdistribute-run.json"

# A model may have hundreds of columns.
_LEFT_OUT = Exceptions(left_out=(FeatureColumn, Tracker))


@contextlib.contextmanager
def tracked(
    model: Model, settings: RunSettings, history: History, is_chief: bool = True
) -> Iterator[None]:
    """Log the history of the training in the block; BackendError or RunConfigError if no run can be opened."""
    tracker, state = settings.track, "failed"
    if tracker is None:
        yield
        return
    run = _open(tracker, model, settings, history.global_batch_size)

    def log(step: int, values: Mapping[str, float]) -> None:
        finite = {name: values[name] for name in values if math.isfinite(values[name])}
        _call(history, run.log, step, finite)

    history.log = log
    try:
        yield
        state = "done"
    except KeyboardInterrupt:
        state = "stopped"
        raise
    finally:
        history.log = None
        if state == "done" and tracker.log_model and is_chief:
            _call(history, _log_model, run, model.model_dir)
        _call(history, run.finish, state)


def _open(tracker: Tracker, model: Model, settings: RunSettings, batch_size: int | None) -> Run:
    path = os.path.join(model.model_dir, FILE)
    storage.check_own(path)
    known = parse_object(storage.read_if_any(path)) or {}
    fields = dataclasses.replace(tracker, run_name=None, log_model=False)
    # An address may contain a secret.
    place = hashlib.sha256(f"{tracker.kind} {vars(fields)}".encode()).hexdigest()
    parameters = {**parameters_of(model, settings), "batch_size": batch_size}
    try:
        with _patience():
            run = tracker.open(
                known.get("run") if known.get("place") == place else None, parameters
            )
    except ModuleNotFoundError as error:
        raise BackendError(
            f'{tracker.name} needs the Python package {error.name}, which "{sys.executable}" does not have.',
            f'Install it: "{sys.executable}" -m pip install {tracker.package}',
            argument="track",
        ) from error
    except Exception as error:
        raise RunConfigError(
            f"{tracker.name} cannot log: {str(error).strip()[:500] or type(error).__name__}",
            f'See whether the server runs and you may write there. Remove "{path}" to begin a new run.',
            argument="track",
        ) from error
    storage.of(path).make_directory(model.model_dir)
    storage.write_object(path, {"place": place, "run": run.id})
    return run


def parameters_of(model: Model, settings: RunSettings) -> dict[str, Any]:
    """Return the fields of a model, and settings that are not the defaults, by name."""
    entries = entries_of(model, "model", _LEFT_OUT)
    changed = entries_of(settings, "config", _LEFT_OUT)
    usual = entries_of(RunSettings(), "config", _LEFT_OUT)
    entries |= {path: changed[path] for path in changed if changed[path] != usual.get(path)}
    return {
        path.removeprefix("model$").removeprefix("config$").replace("$", "."): json_values(value)
        for path, value in entries.items()
        # Code is no parameter.
        if value not in (None, []) and not isinstance(value, dict) and not {" ", "["} & set(path)
    }


def _call(history: History, function: Callable[..., Any], *arguments: Any) -> None:
    try:
        with _patience():
            function(*arguments)
    except Exception as error:  # noqa: BLE001 - the training has its result without a tracker
        history.log = None
        history.note(f"`track` has not logged everything: {type(error).__name__}: {error}")


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    # MLflow would repeat a request for minutes.
    with (
        changed_variable("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2"),
        changed_variable("MLFLOW_HTTP_REQUEST_TIMEOUT", "20"),
    ):
        yield


def _log_model(run: Run, model_dir: str) -> None:
    checkpoint = newest_checkpoint(model_dir)
    others = [os.path.join(model_dir, name) for name in (STATE, "tfdistribute-model.json")]
    with contextlib.ExitStack() as stack:
        files = [*files_of(str(checkpoint)), *filter(storage.is_file, others)]
        run.log_files([stack.enter_context(storage.local_copy(file)) for file in files])
