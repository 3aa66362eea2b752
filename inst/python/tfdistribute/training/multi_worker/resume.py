"""Where a training begins and ends, as its chief records it in model_dir for the other tasks.

Only the chief writes the file. The evaluator reads which checkpoint is the last one, a parameter server reads that no
task needs it any more, and a restarted task reads at which step its job began.
"""

import contextlib
import dataclasses
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tfdistribute import storage, task_events
from tfdistribute.checkpoints.mirror import continue_here
from tfdistribute.checkpoints.newest import tidy
from tfdistribute.cluster.member import Member
from tfdistribute.cluster.task_facts import TaskFacts
from tfdistribute.training.model_directory import global_step
from tfdistribute.training.multi_worker.handshake import SHARE_S, Handshake
from tfdistribute.training.multi_worker.peers import Peers

FILE = "tfdistribute-training.json"
# Approximate start of this process.
_PROCESS_BEGAN = time.time()
_POLL_S = 0.2


@dataclass(frozen=True)
class TrainingRecord:
    """One training, as its chief recorded it.

    Args:
        job: Name of the job, or the cluster's addresses.
        first_step: The global step that the job starts with.
        started: When the chief began, in seconds since 1970.
        finished_step: Global step of the last checkpoint; None while the chief trains.
        mark: Random text, by which another task recognizes the chief's model_dir.
        workers: Number of tasks that train.
    """

    job: str
    first_step: int
    started: float
    finished_step: int | None = None
    interrupted: bool = False
    mark: str = ""
    workers: int = 0

    @property
    def is_finished(self) -> bool:
        return self.finished_step is not None

    @property
    def is_recent(self) -> bool:
        return self.started >= _PROCESS_BEGAN


class ProgressFile:
    def __init__(self, model_dir: str, member: Member) -> None:
        self._model_dir = model_dir
        self._path = os.path.join(model_dir, FILE)
        self._job = member.job_name
        self._workers = len(member.training_tasks)

    def mark(self) -> str | None:
        record = self.read()
        return None if record is None else record.mark

    def read(self) -> TrainingRecord | None:
        fields = storage.read_object(self._path)
        try:
            record = None if fields is None else TrainingRecord(**fields)
        except TypeError:
            return None
        return record if record is not None and record.job == self._job else None

    def first_step(self, step: int) -> int:
        """Return the global step at which the job began; ``step`` belongs to the newest checkpoint."""
        if task_events.attempt() == 0:
            return step
        record = self.read()
        return step if record is None else min(record.first_step, step)

    @property
    def has_other_workers(self) -> bool:
        """Whether another number of workers has trained this job before."""
        record = self.read() if task_events.attempt() > 0 else None
        return record is not None and record.workers != self._workers

    @contextlib.contextmanager
    def record(self, first_step: int) -> Iterator[TrainingRecord]:
        """Record the training inside the block, as the chief. The block ends when the last checkpoint is written."""
        record = self.start(first_step)
        try:
            yield record
        except KeyboardInterrupt:
            self.finish(record, global_step(self._model_dir), interrupted=True)
            raise
        self.finish(record, global_step(self._model_dir))

    def start(self, first_step: int) -> TrainingRecord:
        mark = secrets.token_hex(8)
        record = TrainingRecord(
            self._job, first_step, time.time(), mark=mark, workers=self._workers
        )
        self._write(record)
        return record

    def finish(self, record: TrainingRecord, step: int, interrupted: bool = False) -> None:
        self._write(dataclasses.replace(record, finished_step=step, interrupted=interrupted))

    def _write(self, record: TrainingRecord) -> None:
        # At once, because other tasks read it at any time.
        storage.write_object(self._path, dataclasses.asdict(record))


@contextlib.contextmanager
def record_training(peers: Peers, model_dir: str) -> Iterator[TaskFacts | None]:
    if not peers.member.is_chief:
        yield None
        return
    tidy(model_dir)
    step = global_step(model_dir)
    progress = ProgressFile(model_dir, peers.member)
    first_step = progress.first_step(step)
    with progress.record(first_step) as record:
        yield peers.facts(model_dir=model_dir, step=step, first_step=first_step, mark=record.mark)


def learn_from_chief(handshake: Handshake) -> TaskFacts:
    member, model_dir = handshake.peers.member, handshake.model_dir
    # The others see that an earlier training of this process is over.
    handshake.announce(handshake.own)
    chief = handshake.facts_of_chief()
    handshake.compare(chief)
    handshake.check_directory(chief, ProgressFile(model_dir, member).mark)
    step, end = global_step(model_dir), time.monotonic() + SHARE_S
    while member.in_step and step != chief.step and time.monotonic() < end:
        # A network file system may show the newest checkpoint late.
        time.sleep(_POLL_S)
        step = global_step(model_dir)
    continue_here(model_dir)
    return dataclasses.replace(handshake.own, step=step, first_step=chief.first_step)
