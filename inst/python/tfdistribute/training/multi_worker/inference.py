"""Evaluation and prediction by the tasks of a job, each on its shard of the rows.

Every task works on its own: nothing is exchanged between batches, so none waits for another that has run out of rows,
and one that is restarted repeats its shard only. Each task writes its result to the private directory of the job. The
chief waits until all results are there; the supervisor restarts tasks that end before, or ends the job.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from tfdistribute import task_events
from tfdistribute.cluster.member import Member
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import EvaluationShard, evaluate
from tfdistribute.training.history import total_batches
from tfdistribute.training.multi_worker.results import Arrays, TaskResults
from tfdistribute.training.predict import predict

_POLL_S = 0.05


def evaluate_shard(model: Model, settings: RunSettings, source: Input, **options: Any) -> None:
    """Evaluate this task's shard; the chief adds up the states of all tasks and reports the metrics.

    All tasks must give the same ``source`` and ``options``: ``checkpoint_path``, ``name`` and ``hooks`` of
    ``evaluate``. Raises UnsupportedError if the state of a metric is not a sum over rows.
    """
    member, results = _member(), _results()

    def exchange(states: Arrays) -> Arrays | None:
        results.write_states(member.rank, states)
        if not member.is_chief:
            return None
        _wait_for_others(results, member)
        return results.add_states(len(member.training_tasks))

    with _report_work(member, "evaluate", source), tempfile.TemporaryDirectory() as scratch:
        # What other tasks than the chief write is not a result.
        shard = EvaluationShard(member, exchange, None if member.is_chief else scratch)
        metrics = evaluate(model, settings, source, listener=_report, shard=shard, **options)
        if member.is_chief:
            step = int(metrics.get("global_step", 0))
            task_events.emit("evaluation", step=step, metrics=metrics)


def predict_shard(model: Model, settings: RunSettings, source: Input, **options: Any) -> None:
    """Predict for this task's shard with the ``options`` of ``predict``, and write it; see ``evaluate_shard``."""
    member, results = _member(), _results()
    tasks = len(member.training_tasks)
    if not options.get("hooks"):
        # Hooks show the user each batch.
        source = source.in_large_batches(tasks)
    with _report_work(member, "predict", source):
        batches = predict(model, settings, source, listener=_report, member=member, **options)
        in_turns = source.shard_order() == "turns"
        results.write_predictions(member.rank, list(batches), tasks, in_turns)
        if member.is_chief:
            _wait_for_others(results, member)


def _member() -> Member:
    member = Member.here()
    # The supervisor has started this process.
    assert member is not None
    return member


def _results() -> TaskResults:
    directory = os.path.join(os.environ[task_events.JOB], task_events.RESULTS)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    return TaskResults(directory)


@contextlib.contextmanager
def _report_work(member: Member, verb: str, source: Input) -> Iterator[None]:
    task_events.dump_stacks_on_signal()
    try:
        task_events.emit("tensorflow")
        if member.is_chief:
            task_events.emit("session", step=0, last_step=total_batches(source.facts()))
        _report({"verb": verb, "step": 0})
        yield
    except Exception as error:
        task_events.emit_failure(error)
        raise
    task_events.emit("finished")


def _report(progress: dict[str, Any]) -> None:
    task_events.emit(
        "batch",
        verb=progress["verb"],
        step=progress["step"],
        examples_per_second=progress.get("examples_per_second"),
    )


def _wait_for_others(results: TaskResults, member: Member) -> None:
    names = [str(task) for task, _ in member.training_tasks]
    reported: list[str] = []
    while missing := [name for rank, name in enumerate(names) if not results.has(rank)]:
        if missing != reported:
            reported = missing
            task_events.emit("waiting", **{"for": ", ".join(missing)})
        time.sleep(_POLL_S)
