"""The choice of a tabular model's end in a cluster: the chief chooses, and the other tasks read its choice."""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tfdistribute import storage, task_events
from tfdistribute.checkpoints.newest import newest_step
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.spec import START_PATIENCE
from tfdistribute.environment import changed_variable
from tfdistribute.errors import LostPeerError, as_values
from tfdistribute.models import Tabular
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import Listener
from tfdistribute.training.model_directory import hold_model_dir
from tfdistribute.training.multi_worker.assignment import holder_of, start_timeout_s
from tfdistribute.training.multi_worker.handshake import poll_s
from tfdistribute.training.specs import Start

FILE = "tfdistribute-choice.json"

# Interval between two signs of life of a chief that chooses.
_BEAT_S = 2.0

Choose = Callable[[RunSettings, Listener], tuple[Tabular, Start | None]]


class _ChoiceFile:
    """The choice of a job's chief, as it keeps it in model_dir.

    It has the fields ``job``, the name of the job or the cluster's addresses, ``beat``, a number that grows while the
    chief chooses, ``model``, what the model has learned once it has chosen, and ``failure``, why it never will.
    """

    def __init__(self, model_dir: str, member: Member) -> None:
        self._path = os.path.join(model_dir, FILE)
        self._job = member.job_name

    def read(self) -> dict[str, Any]:
        """Return the fields; none if the file is of another job."""
        record = storage.read_object(self._path) or {}
        return record if record.get("job") == self._job else {}

    def write(self, **fields: Any) -> None:
        storage.write_object(self._path, {"job": self._job, **fields})


def chosen_by_chief(
    model: Tabular, settings: RunSettings, member: Member, choose: Choose
) -> tuple[Tabular, Start | None]:
    """Return the model with what the chief of a cluster has learned from the rows, and where the chief begins.

    The chief calls ``choose`` with settings for one process and a listener. If its job restarts it, it does not choose
    again, because the job may have trained by its choice. Raises the errors of ``choose``, and LostPeerError for a
    chief that has ended, or gives no sign of life.
    """
    file = _ChoiceFile(model.model_dir, member)
    if not member.is_chief:
        known = _wait_for(file, member, start_timeout_s(settings))
        # The chief has the variables.
        return _with_learned(model, known), Start(0, {}, ()) if known.get("begins") else None
    known, start = file.read().get("model") if task_events.is_in_job() else None, None
    if known is not None and known.get("begins") and newest_step(model.model_dir) == 0:
        # It was killed before it wrote the checkpoint.
        known = None
    if known is None:
        # The trials are of this process alone.
        alone = changed_variable("TF_CONFIG", None)
        with hold_model_dir(model.model_dir, holder_of(member)), alone:
            known, start = _choose(file, replace(settings, strategy=None, cluster=None), choose)
    return _with_learned(model, known), start


def forget_choice(model_dir: str) -> None:
    """Remove the choice of a training that has ended."""
    path = os.path.join(model_dir, FILE)
    if storage.is_file(path):
        storage.of(path).remove(path)


def _choose(
    file: _ChoiceFile, settings: RunSettings, choose: Choose
) -> tuple[dict[str, Any], Start | None]:
    beats, beat_at = 0, 0.0

    def beat(_event: Mapping[str, Any]) -> None:
        nonlocal beats, beat_at
        if time.monotonic() - beat_at >= _BEAT_S:
            beats, beat_at = beats + 1, time.monotonic()
            task_events.emit("choosing")
            file.write(beat=beats)

    try:
        beat({})
        chosen, start = choose(settings, beat)
    except Exception as error:
        if not task_events.is_in_job():
            # The supervisor of a job ends the other tasks.
            file.write(failure=as_values(error)["problem"])
        raise
    assert chosen.learned is not None
    scale = getattr(chosen, "response_scale", None)
    learned = {"learned": json.loads(chosen.learned), "response_scale": scale}
    learned["begins"] = start is not None
    file.write(model=learned)
    return learned, start


def _with_learned(model: Tabular, learned: Mapping[str, Any]) -> Tabular:
    completed: Any = model.complete_from_signature(learned)
    return completed


def _wait_for(file: _ChoiceFile, member: Member, timeout_s: float) -> dict[str, Any]:
    chief = "the chief" if member.chief is None else str(member.chief[0])
    task_events.emit("waiting", **{"for": f"the choice of {chief}"})
    began = changed = time.monotonic()
    last: dict[str, Any] = {}
    while True:
        record, now = file.read(), time.monotonic()
        if record.get("model") is not None:
            return record["model"]
        if record != last:
            last, changed = record, now
        if "failure" in record:
            raise LostPeerError(
                f"{chief} has ended: {record['failure']}",
                "Start all tasks again.",
                argument="cluster",
                value=chief,
            )
        if now - changed > timeout_s * START_PATIENCE:
            raise LostPeerError(
                f"{member.task} waited {now - began:.0f} seconds for {chief}, which chooses the end of the training "
                "and gives no sign of life.",
                "Start every task of the cluster with the same `model_dir`, or increase `start_timeout_s`.",
                argument="cluster",
                value=chief,
            )
        time.sleep(poll_s(now - began))
