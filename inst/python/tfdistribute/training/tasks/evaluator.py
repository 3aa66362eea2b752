"""The evaluator of a cluster: it evaluates checkpoints as they come, the last one in any case, and ends."""

from __future__ import annotations

import os
import time
from typing import Any

from tfdistribute import checkpoints, engine, task_events
from tfdistribute.cluster import peers
from tfdistribute.cluster.member import Member
from tfdistribute.errors import LostPeerError, ModelDirectoryError, TfdistributeError
from tfdistribute.training.history import History
from tfdistribute.training.hooks import Run, as_hooks
from tfdistribute.training.preparation import Prepared, prepare_use
from tfdistribute.training.specs import EvalSpec
from tfdistribute.training.tasks.assignment import Work
from tfdistribute.training.tasks.history import TaskHistory
from tfdistribute.training.tasks.progress_file import Mark, began_here, mark_of_job
from tfdistribute.training.tensorflow_errors import explained

_POLL_S = 0.5
# How much later than a chief that trains for a moment only an evaluator may come.
_STALE_S = 60.0
# Trainings whose last checkpoint was evaluated here, by when their chiefs began.
_seen_to_the_end: set[float] = set()


def evaluate_checkpoints(work: Work, member: Member) -> History:
    """Evaluate until the last checkpoint of the training has been evaluated.

    Args:
        work: The training; without an evaluation there is nothing to do.
        member: This evaluator.

    Returns:
        The evaluations.

    Raises:
        KeyboardInterrupt: interrupted.
        LostPeerError: no chief came, or it is gone without having ended its training.
        ModelDirectoryError: the training has ended and left no checkpoint.
    """
    history = TaskHistory(None, work.listener, None, is_chief=False, own_batch_size=None)
    if work.evaluation is None:
        history.note("train() does not evaluate: this evaluator has nothing to do.")
        return history
    evaluator = _Evaluator(work, work.evaluation, member, history)
    while not evaluator.look():
        time.sleep(_POLL_S)
    return history


class _Evaluator:
    """Looks for checkpoints, and evaluates them.

    TensorFlow's own loop never ends where max_steps is not given, and fails when a checkpoint is deleted while it is
    read.
    """

    def __init__(self, work: Work, spec: EvalSpec, member: Member, history: TaskHistory) -> None:
        self._work = work
        self._spec = spec
        self._member = member
        self._history = history
        self._model_dir = work.model.model_dir
        self._prepared: Prepared | None = None
        self._evaluated: str | None = None
        self._waiting = False
        self._began = self._seen = time.monotonic()
        self._next = self._began + spec.start_delay_s

    def look(self) -> bool:
        """Evaluate the newest checkpoint if it is time.

        Returns:
            Whether it was the last one of the training.
        """
        # First the mark, then the checkpoint: what the mark calls the last one is then there.
        mark = self._mark()
        ended = mark is not None and mark.finished_step is not None
        newest = self._newest()
        if newest is None and ended:
            raise ModelDirectoryError(
                f'The training has ended, and `model_dir` "{self._model_dir}" holds no whole checkpoint to evaluate.',
                "Let run_config() save checkpoints.",
                argument="model_dir",
                value=self._model_dir,
            )
        last = newest is not None and (ended or self._is_at_last_step(newest))
        if newest is not None and newest != self._evaluated:
            if not (last or time.monotonic() >= self._next) or not self._evaluate(newest, last):
                return False
            self._evaluated, self._waiting = newest, False
        elif not last:
            self._wait()
        if last and mark is not None:
            _seen_to_the_end.add(mark.started)
        return last

    def _newest(self) -> str | None:
        """Find the newest checkpoint; None also where it is broken, which the chief repairs when it starts again."""
        newest = engine.tf.train.latest_checkpoint(self._model_dir)
        return newest if newest is not None and self._is_whole(newest) else None

    def _is_whole(self, checkpoint: str) -> bool:
        if "://" in self._model_dir:
            return engine.tf.io.gfile.exists(f"{checkpoint}.index")
        return checkpoints.is_complete(self._model_dir, os.path.basename(checkpoint))

    def _mark(self) -> Mark | None:
        mark = mark_of_job(self._model_dir, self._member)
        if mark is None or mark.started in _seen_to_the_end:
            return None
        supervised = task_events.is_supervised()
        if supervised or mark.finished_step is None or began_here(mark):
            return mark
        # Either the chief was faster than this process, or this is the mark of an earlier training with the same
        # addresses, whose chief is about to begin again: after a while it must be the former.
        return mark if time.monotonic() - self._began > _STALE_S else None

    def _is_at_last_step(self, checkpoint: str) -> bool:
        max_steps = self._work.train.max_steps
        step = checkpoint.rpartition("-")[2]
        return max_steps is not None and step.isdecimal() and int(step) >= max_steps

    def _wait(self) -> None:
        if not self._waiting:
            self._waiting = True
            task_events.emit("waiting", **{"for": "a checkpoint"})
        chief = self._member.chief
        if task_events.is_supervised() or chief is None or not self._others_listen():
            return
        if peers.is_listening(chief[1]):
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > self._work.deadline_s:
            raise LostPeerError(
                f"{self._member.task} has waited {self._work.deadline_s:g} seconds for a checkpoint, and nothing "
                f"answers at {peers.format_tasks([chief])}.",
                "Start every task of the cluster, or look at the chief's log.",
                argument="cluster",
                value=chief[1],
            )

    def _others_listen(self) -> bool:
        # A chief that trains alone has no server.
        return len(self._member.training_tasks) > 1 or bool(self._member.servers)

    def _evaluate(self, checkpoint: str, last: bool) -> bool:
        """Evaluate, and export; False where the checkpoint is not whole any more: newer ones let it be deleted."""
        self._next = time.monotonic() + self._spec.throttle_s
        try:
            with explained("evaluate"), self._spec.source.serving():
                metrics = self._metrics(checkpoint)
                self._export(checkpoint, metrics, last)
        except TfdistributeError:
            if self._is_whole(checkpoint):
                raise
            return False
        return True

    def _metrics(self, checkpoint: str) -> dict[str, Any]:
        work, spec = self._work, self._spec
        if self._prepared is None:
            self._prepared = prepare_use(
                "evaluate", work.model, work.settings, spec.source, checkpoint
            )[0]
            task_events.emit("tensorflow")
        prepared = self._prepared
        run = Run.here("evaluate", self._model_dir, self._history)
        metrics = prepared.estimator.evaluate(
            spec.source.input_fn("evaluate", work.run_seed(self._member), packed=True),
            steps=spec.steps,
            hooks=[*prepared.session_hooks("evaluate"), *as_hooks(spec.hooks, run)],
            checkpoint_path=checkpoint,
            name=spec.name,
        )
        self._history.note_evaluation(metrics)
        return metrics

    def _export(self, checkpoint: str, metrics: dict[str, Any], last: bool) -> None:
        assert self._prepared is not None
        for exporter in self._spec.exporters:
            exporter.export(
                estimator=self._prepared.estimator,
                export_path=os.path.join(self._model_dir, "export", exporter.name),
                checkpoint_path=checkpoint,
                eval_result=metrics,
                is_the_final_export=last,
            )
