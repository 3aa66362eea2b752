"""The choice of a tabular model's end in a cluster: the chief chooses, and the other tasks help it and read its choice.

The tasks train the layers of a large table together, because these are the model if it does not learn again from all
rows. All other parts learn in the chief.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tfdistribute import engine, storage, task_events
from tfdistribute.checkpoints.newest import newest_step
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.peers import TasksWithAddresses
from tfdistribute.cluster.spec import START_PATIENCE, Task
from tfdistribute.environment import changed_variable
from tfdistribute.errors import LostPeerError, as_values
from tfdistribute.models import Tabular
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import History, Listener
from tfdistribute.training.hooks import Hook, HookContext
from tfdistribute.training.model_directory import as_trained, hold_model_dir
from tfdistribute.training.multi_worker.assignment import (
    TaskAssignment,
    holder_of,
    start_timeout_s,
)
from tfdistribute.training.multi_worker.handshake import poll_s
from tfdistribute.training.multi_worker.perform import TaskRun, perform
from tfdistribute.training.specs import Start, Training
from tfdistribute.training.tabular.choice import quiet
from tfdistribute.training.tabular.trials import Judge, Team, split_rows, training_of_layers

FILE = "tfdistribute-choice.json"
# Of the layers that all tasks train, in model_dir.
_DIRECTORY = "tfdistribute-layers"

# Interval between two signs of life of a chief that chooses.
_BEAT_S = 2.0

Choose = Callable[[RunSettings, Listener, Team | None], tuple[Tabular, Start | None]]


class _ChoiceFile:
    """The choice of a job's chief, as it keeps it in model_dir.

    It has the fields ``job``, the name of the job or the cluster's addresses, ``mark``, a random text, ``beat``, a
    number that grows while the chief chooses, ``layers``, what the others train with it, ``verdicts``, whether each of
    their cycles was the last, ``model``, what the model has learned once the chief has chosen, and ``failure``, why it
    never will.
    """

    def __init__(self, model_dir: str, member: Member) -> None:
        self._model_dir, self._in_step = model_dir, member.in_step
        self._path = os.path.join(model_dir, FILE)
        self._own: dict[str, Any] = {
            "job": member.job_name,
            "attempt": task_events.attempt(),
            "mark": secrets.token_hex(8),
        }

    def read(self) -> dict[str, Any]:
        """Return the fields; none if the file is of another job."""
        record = storage.read_object(self._path) or {}
        return record if record.get("job") == self._own["job"] else {}

    def read_new(self) -> dict[str, Any]:
        """Return the fields; if the chief was restarted since, only a choice that it keeps."""
        record = self.read()
        if not self._in_step or record.get("attempt") == self._own["attempt"]:
            return record
        is_kept = "model" in record and not self.is_lost(record["model"])
        return record if is_kept else {}

    def is_lost(self, model: Mapping[str, Any]) -> bool:
        """Return whether a chief that was killed has not written the variables that it had chosen."""
        return bool(model.get("begins")) and newest_step(self._model_dir) == 0

    def write(self, **fields: Any) -> None:
        """Write fields to those that this task has written before."""
        self._own.update(fields)
        storage.write_object(self._path, self._own)

    def confirm(self, task: Task) -> None:
        """Let the chief know that another task has read its choice."""
        storage.write_object(self._receipt(task), {"mark": self.read().get("mark")})

    def was_read(self, task: Task) -> bool:
        receipt = storage.read_object(self._receipt(task))
        if receipt is None or receipt["mark"] != self.read().get("mark"):
            return False
        storage.of(self._path).remove(self._receipt(task))
        return True

    def _receipt(self, task: Task) -> str:
        return f"{self._path}.{task.type}-{task.index}"


class _Team:
    """A ``Team`` of a chief with the other tasks, which read what they train in the file of the choice."""

    def __init__(self, file: _ChoiceFile, model_dir: str, settings: RunSettings, member: Member):
        self._file, self._settings, self._member = file, settings, member
        self._directory = os.path.join(model_dir, _DIRECTORY)
        self._variable = os.environ.get("TF_CONFIG")
        self._verdicts: list[bool] = []

    @contextlib.contextmanager
    def directory(self, model: Tabular, ends: Sequence[int]) -> Iterator[str]:
        of_directory = storage.of(self._directory)
        of_directory.remove_directory(self._directory)
        try:
            self._file.write(layers={**_learned(model), "ends": ends}, verdicts=self._verdicts)
            yield self._directory
        finally:
            of_directory.remove_directory(self._directory)

    def train(self, training: Training) -> History:
        with changed_variable("TF_CONFIG", self._variable):
            return _take_part(training, self._settings, self._member)

    def told(self, judge: Judge) -> Judge:
        def tell(logits: Any, directory: str) -> bool:
            with changed_variable("TF_CONFIG", None):
                self._verdicts.append(judge(logits, directory))
            self._file.write(verdicts=self._verdicts)
            return self._verdicts[-1]

        return tell


@dataclass(frozen=True)
class _Verdicts(Hook):
    """The decisions of the chief at the ends of cycles, in another task."""

    may_differ: ClassVar[str | None] = "Only the chief judges."
    improved_at: ClassVar[int | None] = None

    ends: Sequence[int]
    wait: Callable[[Callable[..., Any]], Any]

    def session_hook(self, context: HookContext) -> Any:
        return engine.hooks.StopOnDecision(self)

    def __call__(self, step: int, _loss: float) -> bool:
        if step not in self.ends:
            return False
        place = self.ends.index(step)
        record = self.wait(lambda record: len(record.get("verdicts") or ()) > place)
        return record["verdicts"][place]

    def skippable_steps(self, step: int) -> float:
        return engine.tabular.skippable_steps(self.ends, step)

    def note(self, step: int, loss: float) -> None: ...


def _take_part(training: Training, settings: RunSettings, member: Member) -> History:
    training = replace(training, settings=quiet(settings))
    return perform(TaskAssignment(**vars(training), member=member), TaskRun, is_last=False)


def chosen_by_chief(
    training: Training, member: Member, choose: Choose
) -> tuple[Tabular, Start | None]:
    """Return the model of a training with what the chief of a cluster has learned, and where the chief begins.

    The chief calls ``choose`` with settings for one process, a listener and a team. If its job restarts it, it does not
    choose again, because the job may have trained by its choice. Raises the errors of ``choose``, and LostPeerError for
    a chief that has ended, or gives no sign of life.
    """
    model: Any = training.model
    file, settings = _ChoiceFile(model.model_dir, member), training.settings
    if not member.is_chief:
        known = _help_chief(file, training, member)
        if known.get("begins") and not task_events.is_in_job():
            file.confirm(member.task)
        # The chief has the variables.
        return _with_learned(model, known), Start(0, {}, ()) if known.get("begins") else None
    known, start = file.read().get("model") if task_events.is_in_job() else None, None
    if known is not None and not file.is_lost(known):
        start = Start(0, {}, ()) if known.get("begins") else None
    else:
        # The trials are of this process alone.
        team = _Team(file, model.model_dir, settings, member) if member.in_step else None
        alone = changed_variable("TF_CONFIG", None)
        with hold_model_dir(model.model_dir, holder_of(member)), alone:
            of_chief = replace(settings, strategy=None, cluster=None)
            known, start = _choose(file, of_chief, choose, team)
    return _with_learned(model, known), start


def await_readers(training: Training, member: Member) -> TasksWithAddresses:
    """Wait, as the chief of a cluster without a job, until the other tasks have read its choice; return who has not."""
    file, began = _ChoiceFile(training.model.model_dir, member), time.monotonic()
    missing, waited_s = member.dependents, 0.0
    while missing and waited_s < start_timeout_s(training.settings):
        time.sleep(poll_s(waited_s))
        missing = tuple(each for each in missing if not file.was_read(each[0]))
        waited_s = time.monotonic() - began
    return missing


def forget_choice(model_dir: str) -> None:
    """Remove the choice of a training that has ended."""
    path = os.path.join(model_dir, FILE)
    if storage.is_file(path):
        storage.of(path).remove(path)


def _choose(
    file: _ChoiceFile, settings: RunSettings, choose: Choose, team: Team | None
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
        chosen, start = choose(settings, beat, team)
    except Exception as error:
        if not task_events.is_in_job():
            # The supervisor of a job ends the other tasks.
            file.write(failure=as_values(error)["problem"])
        raise
    learned = {**_learned(chosen), "begins": start is not None}
    file.write(model=learned)
    return learned, start


def _help_chief(file: _ChoiceFile, training: Training, member: Member) -> dict[str, Any]:
    """Train the layers with the chief if it asks for it, and return what it has chosen."""
    settings: Any = training.settings

    def wait(is_there: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        return _wait_for(file, member, start_timeout_s(settings), is_there)

    record = wait(lambda record: "model" in record or "layers" in record)
    if "layers" in record and "model" not in record:
        model: Any = training.model
        layers, directory = record["layers"], os.path.join(model.model_dir, _DIRECTORY)
        candidate: Any = _with_learned(replace(model, model_dir=directory), layers)
        rows = candidate.reading(as_trained(model).learning(training.train.input))
        part, _ = split_rows(candidate, settings, rows, training.validation)
        hook = _Verdicts(layers["ends"], wait)
        of_layers = training_of_layers(candidate, settings, part, layers["ends"], hook)
        _take_part(of_layers, settings, member)
        record = wait(lambda record: "model" in record)
    return record["model"]


def _learned(model: Tabular) -> dict[str, Any]:
    assert model.learned is not None
    scale = getattr(model, "response_scale", None)
    return {"learned": json.loads(model.learned), "response_scale": scale}


def _with_learned(model: Tabular, learned: Mapping[str, Any]) -> Tabular:
    completed: Any = model.complete_from_signature(learned)
    return completed


def _wait_for(
    file: _ChoiceFile,
    member: Member,
    timeout_s: float,
    is_there: Callable[[dict[str, Any]], Any],
) -> dict[str, Any]:
    chief = "the chief" if member.chief is None else str(member.chief[0])
    task_events.emit("waiting", **{"for": f"the choice of {chief}"})
    began = changed = time.monotonic()
    last: dict[str, Any] = {}
    while True:
        record, now = file.read_new(), time.monotonic()
        if is_there(record):
            return record
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
