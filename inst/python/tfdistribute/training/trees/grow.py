"""The growth of trees in this process: their rows, how many are kept, and their checkpoint."""

import hashlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.checkpoints.mirror import local_directory
from tfdistribute.cluster.member import Member
from tfdistribute.errors import ArgumentError, RunConfigError
from tfdistribute.inputs.held_rows import hashes, split
from tfdistribute.interrupts import keep_handler
from tfdistribute.models.canned.trees import BoostedTreesClassifier
from tfdistribute.training.model_directory import as_trained
from tfdistribute.training.preparation import Prepared, TrainingHere
from tfdistribute.training.specs import Training
from tfdistribute.training.trees.forest import Arrays, as_forest, losses_by_trees
from tfdistribute.training.trees.ydf import STOPPED, Growth, library, trees_grown

# Files of a growth in model_dir, which are not uploaded.
_DIRECTORY = "tmp_trees_"
# Rows that TensorFlow reads at a time.
_BATCH = 4096
_POLL_S = 0.2
_ANEW = "The trees are grown anew: the training does not continue the trees that `model_dir` holds."
_NO_STEPS = "`steps` and `max_steps` have no meaning for boosted trees, whose number is `n_trees`."
# Most by which the weights of rows differ to break ties.
_TIE = 2**-10


def begin_growth(training: Training, member: Member | None) -> Training:
    """Check a training, and complete its model with the columns and classes of its rows; workers need neither."""
    spec = training.train
    _check(training)
    if member is not None and not member.is_chief:
        return training
    library()
    known: Any = as_trained(training.model)
    source = known.learning(spec.input)
    if known.table is not None and known.learns_columns():
        known.table.check_columns(source.facts(), known.weight_column)
    completed = known.complete_from_input(source.facts())
    rows = completed.reading(source).repeated(_BATCH, epochs=1)
    is_limited = training.steps is not None or spec.max_steps is not None
    return replace(
        training,
        model=completed,
        train=replace(spec, input=rows, max_steps=None),
        steps=None,
        notes=(_NO_STEPS,) if is_limited else (),
    )


def _check(training: Training) -> None:
    strategy = training.settings.strategy
    if strategy is not None:
        raise RunConfigError(
            f"`strategy` is {strategy.kind}, and boosted trees use no devices of TensorFlow.",
            "Leave it out: all cores grow the trees. Use `cluster` for more machines.",
            argument="strategy",
            value=strategy.kind,
        )
    for name, value in training.settings.changed_steps.items():
        raise RunConfigError(
            f"`{name}` is {value!r} and changes steps of TensorFlow, and boosted trees take none.",
            "Leave it out.",
            argument=name,
            value=str(value),
        )
    if training.train.hooks or training.saving_listeners:
        name = "hooks" if training.train.hooks else "saving_listeners"
        raise ArgumentError(
            f"`{name}` act on steps of TensorFlow, and boosted trees take none.",
            "Leave them out. `validation` of the model chooses the number of trees.",
            argument=name,
        )


def grow_here(here: TrainingHere, training: Training, workers: Sequence[str] = ()) -> None:
    """Grow trees of the rows of a training, and write the checkpoint; ``workers`` are addresses of a cluster."""
    history, settings = here.history, training.settings
    model: Any = here.prepared.model
    if here.prepared.first_step > 0:
        history.note(_ANEW)
    part, held = _parts(here.prepared, training)
    history.global_batch_size, history.last_step = len(part["rows"]), model.n_trees
    sizes = [column.num_buckets + 1 for column in model.arguments()["categories"]]
    growth, learned = Growth.of(model, settings, sizes), _weighted(model, part)
    model_dir = local_directory(model.model_dir)
    directory, began = _directory(model_dir, growth, learned), time.monotonic()

    def grow() -> Any:
        return growth.grow(learned, directory, settings, workers)

    grown = _grow_in_background(here, grow, directory, is_manager=bool(workers))
    forest = as_forest(grown, sizes, learned["rows"], model.splits == "axis")
    losses = losses_by_trees(model, forest, part).tolist()
    # Each iteration has lasted equally long.
    each_s = (time.monotonic() - began) / len(losses)
    for step, loss in enumerate(losses, 1):
        history.note_step(step, loss, in_record=True, at=began + step * each_s)
    if held is not None:
        _keep_best(forest, losses_by_trees(model, forest, held), len(held["rows"]), here, training)
    variables = {f"trees/{name}": each for name, each in forest.items()}
    engine.trees.write_variables(model_dir, variables, len(forest["roots"]))
    shutil.rmtree(directory, ignore_errors=True)


def _keep_best(
    forest: Arrays, losses: Any, rows: int, here: TrainingHere, training: Training
) -> None:
    """Keep the trees with the least loss of the validation rows."""
    history, kept = here.history, int(np.argmin(losses)) + 1
    forest["roots"] = forest["roots"][:kept]
    if training.evaluation is None:
        history.note_losses(losses.tolist(), kept)
    history.note(
        f"{kept} of {len(losses)} trees are kept, because of their loss on {rows:,} validation rows: "
        f"{losses.min():.4g}."
    )


def _read(prepared: Prepared, source: Any) -> Arrays:
    source.facts().check_rows()
    with source.serving():
        rows = engine.trees.read_rows(prepared.estimator, prepared.input_fn(source, "evaluate"))
    return {name: each[rows["weights"] > 0] for name, each in rows.items()}


def _parts(prepared: Prepared, training: Training) -> tuple[Arrays, Arrays | None]:
    """Return the rows that train, and those that choose the number of trees; None if all train."""
    model: Any = prepared.model
    rows = _read(prepared, training.train.input)
    if training.validation is not None:
        return rows, _read(prepared, model.learning(training.validation).repeated(_BATCH, 1))
    if model.validation == 0 or len(rows["rows"]) < 2:
        return rows, None
    classes = rows["labels"] if isinstance(model, BoostedTreesClassifier) else None
    parts = split(len(rows["rows"]), model.validation, training.settings.seed or 0, classes)
    trained, held = ({name: each[part] for name, each in rows.items()} for part in parts)
    return trained, held


def _weighted(model: Any, rows: Arrays) -> Arrays:
    """Multiply weights by the weights of classes, and break ties between splits.

    ydf's learners for one process and for clusters would break ties in different ways.
    """
    weights = rows["weights"]
    if isinstance(model, BoostedTreesClassifier) and model.class_weights is not None:
        of_classes = np.asarray(model.weights_of_classes(), np.float32)
        weights = weights * of_classes[rows["labels"].astype(np.int64)]
        rows = {name: each[weights > 0] for name, each in rows.items()}
        weights = weights[weights > 0]
    factors = 1 + _TIE * hashes(len(weights), 0).astype(np.float64) / 2**64
    return {**rows, "weights": (weights * factors).astype(np.float32)}


def _directory(model_dir: str, growth: Growth, rows: Arrays) -> str:
    """Return the directory of a growth, named by all that its trees depend on; others are removed."""
    content = hashlib.sha256(repr(growth).encode())
    for name in sorted(rows):
        content.update(np.ascontiguousarray(rows[name]).data)
    directory = Path(model_dir, f"{_DIRECTORY}{content.hexdigest()[:16]}")
    for each in Path(model_dir).glob(f"{_DIRECTORY}*"):
        if each != directory:
            shutil.rmtree(each, ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    return str(directory)


def _grow_in_background(
    here: TrainingHere, grow: Callable[[], Any], directory: str, is_manager: bool
) -> Any:
    """Grow on another thread, because progress is shown and stops are noticed on this one."""
    answer, known = Future[Any](), 0

    def run() -> None:
        try:
            answer.set_result(grow())
        except BaseException as error:  # noqa: BLE001 - raised on the other thread
            answer.set_exception(error)

    thread = threading.Thread(target=run, name="tfdistribute-trees", daemon=True)
    put_handler_back = keep_handler()
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL_S)
            if (grown := trees_grown(directory)) > known:
                here.history.note_progress(known := grown)
            if here.stop():
                raise KeyboardInterrupt(STOPPED)
            if is_manager:
                # It has a handler of ydf, too, but does not stop.
                put_handler_back()
    finally:
        if not is_manager and thread.is_alive():
            os.kill(os.getpid(), signal.SIGINT)
            thread.join()
    return answer.result()
