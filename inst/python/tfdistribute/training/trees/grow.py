"""The growth of trees in this process: their rows, how many are kept, and their checkpoint."""

import hashlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.checkpoints.mirror import local_directory
from tfdistribute.inputs.held_rows import hashes, split
from tfdistribute.interrupts import keep_handler
from tfdistribute.models.canned.trees import BoostedTreesClassifier
from tfdistribute.training.history import History
from tfdistribute.training.preparation import Prepared, TrainingHere
from tfdistribute.training.specs import Training
from tfdistribute.training.trees.begin import BATCH
from tfdistribute.training.trees.forest import Arrays, as_forest
from tfdistribute.training.trees.losses import losses_by_trees
from tfdistribute.training.trees.ydf import STOPPED, Growth, trees_grown

# Files of a growth in model_dir, which are not uploaded.
_DIRECTORY = "tmp_trees_"
_POLL_S = 0.2
_ANEW = "The trees are grown anew: the training does not continue the trees that `model_dir` holds."
# Most by which the weights of rows differ to break ties.
_TIE = 2**-10


def grow_here(here: TrainingHere, training: Training, workers: Sequence[str] = ()) -> None:
    """Grow trees of the rows of a training, and write the checkpoint; ``workers`` are addresses of a cluster."""
    history = here.history
    model: Any = here.prepared.model
    if here.prepared.first_step > 0:
        history.note(_ANEW)
    part, held = _parts(here.prepared, training)
    count = part["rows"].shape[1]
    history.global_batch_size, history.last_step = len(part["rows"]), model.n_trees
    sizes = model.read_columns(**model.arguments()).sizes
    growth = Growth.of(model, training.settings, sizes)
    model_dir = local_directory(model.model_dir)
    learned = _weighted(model, part)
    directory, began = _directory(model_dir, growth, learned), time.monotonic()
    threads = (training.settings.session_config or {}).get("intra_op_parallelism_threads")

    def grow() -> Any:
        return growth.grow(learned, directory, threads and int(threads), workers)

    trained = _grow_in_background(here, grow, directory, is_manager=bool(workers))
    forest = as_forest(trained, dict(enumerate(sizes, count - len(sizes))))
    losses = losses_by_trees(model, forest, part, settles=model.splits == "axis")
    _note_losses(history, losses.tolist(), began)
    if held is not None:
        _keep_best(forest, losses_by_trees(model, forest, held), held, here.history, training)
    engine.trees.write_checkpoint(model_dir, forest, len(forest["roots"]))
    shutil.rmtree(directory, ignore_errors=True)


def _keep_best(
    forest: Arrays, losses: Any, held: Arrays, history: History, training: Training
) -> None:
    """Keep the trees with the least loss of the validation rows."""
    kept = int(np.argmin(losses)) + 1
    forest["roots"] = forest["roots"][:kept]
    if training.evaluation is None:
        history.note_losses(losses.tolist(), kept)
    history.note(
        f"{kept} of {len(losses)} trees are kept, because of their loss on {len(held['rows']):,} validation rows: "
        f"{losses.min():.4g}."
    )


def _note_losses(history: History, losses: Sequence[float], began: float) -> None:
    """Note the losses of iterations that lasted equally long, from a time until now."""
    each_s = (time.monotonic() - began) / len(losses)
    for step, loss in enumerate(losses, 1):
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


def _weighted(model: Any, rows: Arrays) -> Arrays:
    """Multiply weights by the weights of classes, and break ties between splits.

    ydf's learners for one process and for clusters would break ties in different ways.
    """
    weights = rows.get("weights", np.ones(len(rows["rows"]), np.float32))
    of_classes = getattr(model, "weights_of_classes", lambda: None)()
    if of_classes is not None:
        weights = weights * np.asarray(of_classes, np.float32)[rows["labels"].astype(np.int64)]
        rows, weights = (
            {name: each[weights > 0] for name, each in rows.items()},
            weights[weights > 0],
        )
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
    (directory / "work").mkdir(parents=True, exist_ok=True)
    return str(directory)


def _grow_in_background(
    here: TrainingHere, grow: Callable[[], Any], directory: str, is_manager: bool
) -> Any:
    """Grow on another thread, because progress is shown and stops are noticed on this one."""
    answers: list[Any] = []

    def answer() -> None:
        try:
            answers.append(grow())
        except BaseException as error:  # noqa: BLE001 - raised on the other thread
            answers.append(error)

    thread = threading.Thread(target=answer, name="tfdistribute-trees", daemon=True)
    put_handler_back = keep_handler()
    thread.start()
    try:
        for _ in _follow(here, thread, directory):
            if is_manager:
                # It has a handler of ydf, too, but does not stop.
                put_handler_back()
    finally:
        if not is_manager and thread.is_alive():
            os.kill(os.getpid(), signal.SIGINT)
            thread.join()
    (found,) = answers
    if isinstance(found, BaseException):
        raise found
    return found


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
