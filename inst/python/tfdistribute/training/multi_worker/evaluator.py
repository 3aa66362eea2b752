"""Evaluator of a cluster, which evaluates new checkpoints up to the last one."""

import os
import time
from typing import Any

from tfdistribute import engine, history_file, task_events
from tfdistribute.checkpoints.contents import is_whole
from tfdistribute.checkpoints.mirror import local_checkpoint, upload_events
from tfdistribute.checkpoints.newest import listed_checkpoint, listed_names, step_of
from tfdistribute.cluster.peers import format_tasks
from tfdistribute.cluster.spec import Task
from tfdistribute.errors import LostPeerError, ModelDirectoryError, TfdistributeError
from tfdistribute.training.evaluate import Evaluation, local_exports
from tfdistribute.training.history import History
from tfdistribute.training.hooks import HookContext
from tfdistribute.training.multi_worker.assignment import TaskAssignment
from tfdistribute.training.multi_worker.handshake import Handshake
from tfdistribute.training.multi_worker.history import TaskHistory
from tfdistribute.training.multi_worker.peers import Peers
from tfdistribute.training.multi_worker.resume import ProgressFile, TrainingRecord
from tfdistribute.training.preparation import prepare_use
from tfdistribute.training.specs import EvalSpec
from tfdistribute.training.tensorflow_errors import translate_errors
from tfdistribute.training.tracking import tracked

_POLL_S = 0.5
# An evaluator may start this much later than a chief whose training is very short.
_STALE_S = 60.0
# Trainings whose last checkpoint this process has evaluated, by the time at which their chiefs began.
_completed: set[float] = set()


def evaluate_checkpoints(assignment: TaskAssignment, peers: Peers) -> History:
    history = TaskHistory(listener=assignment.listener, model_dir=assignment.model.model_dir)
    if assignment.evaluation is None:
        history.note("train() does not evaluate: this evaluator has nothing to do.")
        return history
    evaluator = _Evaluator(assignment, assignment.evaluation, history, peers)
    while not evaluator.poll():
        time.sleep(_POLL_S)
    # The chief has opened the run.
    with tracked(assignment.model, assignment.settings, history, is_chief=False):
        for metrics in history.evaluations:
            history.log_evaluation(metrics)
    return history


class _Evaluator:
    """Evaluates the checkpoints of model_dir.

    TensorFlow's own loop never ends without max_steps, and fails when a checkpoint is deleted while it is read.
    """

    def __init__(
        self,
        assignment: TaskAssignment,
        spec: EvalSpec,
        history: TaskHistory,
        peers: Peers,
    ) -> None:
        self._assignment = assignment
        self._spec = spec
        self._member = assignment.member
        self._history = history
        self._peers = peers
        self._is_shared = False
        self._model_dir = assignment.model.model_dir
        self._progress = ProgressFile(self._model_dir, assignment.member)
        self._evaluation: Evaluation | None = None
        self._evaluated: str | None = None
        known = history_file.read_evaluations(self._model_dir, of_training=True)
        self._evaluated_step = max((row["global_step"] or 0 for row in known), default=-1)
        self._waiting = False
        self._began = time.monotonic()
        self._next = self._began + spec.start_delay_secs

    def poll(self) -> bool:
        """Evaluate a checkpoint if it is due; return whether it was the last one of the training."""
        # The record is read before the checkpoint, so that a checkpoint recorded as the last one exists.
        record = self._record()
        ended = record is not None and record.is_finished
        newest = self._newest()
        if newest is None and ended:
            raise ModelDirectoryError(
                f'The training has ended, and `model_dir` "{self._model_dir}" holds no whole checkpoint to evaluate.',
                "Let run_config() save checkpoints.",
                argument="model_dir",
                value=self._model_dir,
            )
        due = self._due(newest)
        last = due is not None and due == newest and (ended or self._is_at_last_step(due))
        if due is not None and due != self._evaluated:
            if not (last or time.monotonic() >= self._next) or not self._evaluate(due, last):
                return False
            self._evaluated, self._evaluated_step, self._waiting = due, step_of(due), False
        elif not last:
            self._wait()
        if last and record is not None:
            _completed.add(record.started)
        return last

    def _newest(self) -> str | None:
        """Find the newest checkpoint; None if it is broken, because the chief repairs it when it restarts."""
        newest = listed_checkpoint(self._model_dir)
        return newest if newest is not None and is_whole(newest) else None

    def _due(self, newest: str | None) -> str | None:
        """Return the newest checkpoint or, if evaluations need no distance, the oldest that follows the last one."""
        if newest is None or self._spec.throttle_secs > 0:
            return newest
        listed = (os.path.join(self._model_dir, name) for name in listed_names(self._model_dir))
        later = (each for each in listed if step_of(each) > self._evaluated_step)
        return next((each for each in later if is_whole(each)), newest)

    def _record(self) -> TrainingRecord | None:
        record = self._progress.read()
        if record is None or record.started in _completed:
            return None
        if task_events.is_supervised() or not record.is_finished or record.is_recent:
            return record
        # Either the chief was faster than this process, or the record is of an earlier training with the same
        # addresses, and its chief is about to begin again. After a while it must be the former.
        return record if time.monotonic() - self._began > _STALE_S else None

    def _is_at_last_step(self, checkpoint: str) -> bool:
        max_steps = self._assignment.train.max_steps
        return max_steps is not None and step_of(checkpoint) >= max_steps

    def _wait(self) -> None:
        if not self._waiting:
            self._waiting = True
            task_events.emit("waiting", **{"for": "a checkpoint"})
        chief = self._member.chief
        # A chief that trains alone has no server.
        has_server = len(self._member.training_tasks) > 1 or bool(self._member.servers)
        if task_events.is_supervised() or chief is None or not has_server:
            return
        self._check_directory(chief)
        seconds = self._peers.silent([chief])[chief[0]]
        if seconds > self._assignment.start_timeout_s:
            raise LostPeerError(
                f"{self._member.task} has waited {seconds:.0f} seconds for a checkpoint, and nothing answers at "
                f"{format_tasks([chief])}.",
                "Start every task of the cluster, or look at the chief's log.",
                argument="cluster",
                value=chief[1],
            )

    def _check_directory(self, chief: tuple[Task, str]) -> None:
        facts = None if self._is_shared else self._peers.facts_of(*chief)
        if facts is not None:
            self._is_shared = True
            handshake = Handshake(self._peers, self._model_dir, self._assignment.start_timeout_s)
            handshake.check_directory(facts, self._progress.mark)

    def _evaluate(self, checkpoint: str, last: bool) -> bool:
        """Evaluate and export; return False if the checkpoint was deleted meanwhile, as newer ones were saved."""
        self._next = time.monotonic() + self._spec.throttle_secs
        try:
            with translate_errors("evaluate", self._model_dir), self._spec.input.serving():
                metrics = self._metrics(checkpoint)
                self._export(checkpoint, metrics, last)
        except TfdistributeError:
            if is_whole(checkpoint):
                raise
            return False
        return True

    def _metrics(self, checkpoint: str) -> dict[str, Any]:
        assignment, spec = self._assignment, self._spec
        if self._evaluation is None:
            prepared, _ = prepare_use(
                "evaluate", assignment.model, assignment.settings, spec.input, checkpoint
            )
            context = HookContext.here("evaluate", self._model_dir, self._history)
            self._evaluation = Evaluation(prepared, spec, context, job=self._member.job_name)
            task_events.emit("tensorflow")
        metrics = self._evaluation.metrics(checkpoint, lambda batch: None)
        self._history.note_evaluation(metrics)
        return metrics

    def _export(self, checkpoint: str, metrics: dict[str, Any], last: bool) -> None:
        assert self._evaluation is not None
        known = history_file.read_evaluations(self._model_dir, of_training=True)
        local = local_exports(self._model_dir, self._spec)
        engine.best_exports.remember(self._spec.exporters, local, known)
        for exporter in self._spec.exporters:
            exporter.export(
                estimator=self._evaluation.prepared.estimator,
                export_path=os.path.join(local, "export", exporter.name),
                checkpoint_path=local_checkpoint(checkpoint),
                eval_result=metrics,
                is_the_final_export=last,
            )
        upload_events(self._model_dir)
