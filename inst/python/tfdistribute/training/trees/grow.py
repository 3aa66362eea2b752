"""The growth of trees in this process: their rows, how many are kept, and their checkpoint."""

import hashlib
import math
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute import engine
from tfdistribute.checkpoints.mirror import local_directory
from tfdistribute.environment import core_count
from tfdistribute.inputs.held_rows import hashes, split
from tfdistribute.interrupts import keep_handler
from tfdistribute.models.canned.trees import BoostedTreesClassifier
from tfdistribute.run_config import RunSettings
from tfdistribute.training.history import History
from tfdistribute.training.preparation import Prepared, TrainingHere
from tfdistribute.training.specs import Training
from tfdistribute.training.trees.begin import BATCH
from tfdistribute.training.trees.losses import losses_by_trees
from tfdistribute.training.trees.ydf import STOPPED, Growth, as_forest, trees_grown

# Files of a growth in model_dir, which are not uploaded.
_DIRECTORY = "tmp_trees_"
_POLL_S = 0.2
_ANEW = "The trees are grown anew: the training does not continue the trees that `model_dir` holds."
# Most by which the weights of rows differ to break ties.
_TIE = 2**-10

Arrays = dict[str, npt.NDArray[Any]]
Losses = npt.NDArray[np.float64]


def grow_here(here: TrainingHere, training: Training, workers: Sequence[str] = ()) -> None:
    """Grow trees of the rows of a training, and write the checkpoint; ``workers`` are addresses of a cluster."""
    history = here.history
    model: Any = here.prepared.model
    if here.prepared.first_step > 0:
        history.note(_ANEW)
    part, held = _parts(here.prepared, training)
    history.global_batch_size, history.last_step = len(part["rows"]), model.n_trees
    columns = model.read_columns(**model.arguments())
    growth = _growth(model, training.settings, columns.sizes)
    model_dir = local_directory(model.model_dir)
    learned = _with_distinct_weights(_with_class_weights(model, part))
    directory, began = _directory(model_dir, growth, learned), time.monotonic()
    trained = _grow_in_background(here, growth, learned, directory, workers)
    descent = engine.trees.Descent(as_forest(trained, growth, part["rows"].shape[1]), columns)
    _note_losses(history, losses_by_trees(model, descent, part, learns=True), began)
    forest = descent.forest if growth.is_oblique else descent.settled()
    if held is not None:
        losses = losses_by_trees(model, engine.trees.Descent(forest, columns), held)
        kept = int(np.argmin(losses)) + 1
        forest["roots"] = forest["roots"][:kept]
        if training.evaluation is None:
            history.note_losses(losses.tolist(), kept)
        history.note(
            f"{kept} of {len(losses)} trees are kept, because of their loss on {len(held['rows']):,} validation rows: "
            f"{losses.min():.4g}."
        )
    engine.trees.write_checkpoint(model_dir, forest, len(forest["roots"]))
    shutil.rmtree(directory, ignore_errors=True)


def _note_losses(history: History, losses: Losses, began: float) -> None:
    """Note the losses of iterations that lasted equally long, from a time until now."""
    each_s = (time.monotonic() - began) / len(losses)
    for step, loss in enumerate(losses.tolist(), 1):
        history.note_step(step, loss, in_record=True, at=began + step * each_s)


def _read(prepared: Prepared, source: Any) -> Arrays:
    source.facts().check_rows()
    with source.serving():
        rows = engine.trees.read_rows(prepared.estimator, prepared.input_fn(source, "evaluate"))
    counts = rows["weights"] > 0 if "weights" in rows else slice(None)
    return {name: each[counts] for name, each in rows.items()}


def _parts(prepared: Prepared, training: Training) -> tuple[Arrays, Arrays | None]:
    """Return the rows that train, and those that choose the number of trees; None if all train."""
    model: Any = prepared.model
    rows = _read(prepared, training.train.input)
    if training.validation is not None:
        return rows, _read(prepared, model.learning(training.validation).repeated(BATCH, 1))
    if model.validation == 0 or len(rows["rows"]) < 2:
        return rows, None
    classes = rows["labels"] if isinstance(model, BoostedTreesClassifier) else None
    parts = split(len(rows["rows"]), model.validation, training.settings.seed or 0, classes)
    trained, held = ({name: each[part] for name, each in rows.items()} for part in parts)
    return trained, held


def _with_class_weights(model: Any, rows: Arrays) -> Arrays:
    of_classes = getattr(model, "weights_of_classes", lambda: None)()
    if of_classes is None:
        return rows
    factors = np.asarray(of_classes, np.float32)[rows["labels"].astype(np.int64)]
    weights = factors * rows.get("weights", np.float32(1))
    return {name: each[weights > 0] for name, each in {**rows, "weights": weights}.items()}


def _with_distinct_weights(rows: Arrays) -> Arrays:
    """Break ties between splits, of which ydf's learners for one process and for clusters choose different ones."""
    count = len(rows["rows"])
    factors = 1 + _TIE * hashes(count, 0).astype(np.float64) / 2**64
    weights = rows.get("weights", np.ones(count, np.float32)) * factors
    return {**rows, "weights": weights.astype(np.float32)}


def _growth(model: Any, settings: RunSettings, sizes: list[int]) -> Growth:
    classes: int = getattr(model, "n_classes", 0)
    if classes:
        loss = "BINOMIAL_LOG_LIKELIHOOD" if classes == 2 else "MULTINOMIAL_LOG_LIKELIHOOD"
    else:
        loss = model.loss.upper()
    threads = (settings.session_config or {}).get("intra_op_parallelism_threads")
    return Growth(
        classes,
        loss,
        tuple(sizes),
        model.directions(),
        trees=model.n_trees,
        depth=model.max_depth,
        rate=model.learning_rate,
        least_rows=max(1, math.ceil(model.min_node_weight)),
        seed=settings.seed or 0,
        threads=int(threads or core_count()),
        is_oblique=model.splits == "oblique",
        penalties=(model.l1_regularization, model.l2_regularization),
    )


def _directory(model_dir: str, growth: Growth, rows: Arrays) -> str:
    """Return the directory of a growth, named by all that its trees depend on; others are removed."""
    content = hashlib.sha256(repr(replace(growth, threads=0)).encode())
    for name in sorted(rows):
        content.update(np.ascontiguousarray(rows[name]).data)
    directory = Path(model_dir, f"{_DIRECTORY}{content.hexdigest()[:16]}")
    for each in Path(model_dir).glob(f"{_DIRECTORY}*"):
        if each != directory:
            shutil.rmtree(each, ignore_errors=True)
    (directory / "work").mkdir(parents=True, exist_ok=True)
    return str(directory)


def _grow_in_background(
    here: TrainingHere, growth: Growth, rows: Arrays, directory: str, workers: Sequence[str]
) -> Any:
    """Grow on another thread, because progress is shown and stops are noticed on this one."""
    answers: list[Any] = []

    def grow() -> None:
        try:
            answers.append(growth.grow(rows, directory, workers))
        except BaseException as error:  # noqa: BLE001 - raised on the other thread
            answers.append(error)

    thread = threading.Thread(target=grow, name="tfdistribute-trees", daemon=True)
    put_handler_back = keep_handler()
    thread.start()
    try:
        for _ in _follow(here, thread, directory):
            if workers:
                # A manager has a handler of ydf, too, but does not stop.
                put_handler_back()
    finally:
        if not workers and thread.is_alive():
            os.kill(os.getpid(), signal.SIGINT)
            thread.join()
    (answer,) = answers
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _follow(here: TrainingHere, thread: threading.Thread, directory: str) -> Iterator[None]:
    """Report the trees that a thread has grown, and yield in between, until it ends; KeyboardInterrupt for a stop."""
    known = 0
    while thread.is_alive():
        thread.join(_POLL_S)
        grown = trees_grown(directory)
        if grown > known:
            known = grown
            here.history.note_progress(grown)
        if here.stop():
            raise KeyboardInterrupt(STOPPED)
        yield
