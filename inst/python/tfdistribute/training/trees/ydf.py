"""Learners of ydf."""

import glob
import importlib
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfdistribute.environment import core_count
from tfdistribute.errors import BackendError
from tfdistribute.run_config import RunSettings
from tfdistribute.storage.buckets import arrow_module

_LABEL, _WEIGHT = "label", "weight"
# More files than workers let them read at the same time.
_SHARDS_PER_WORKER = 4
# Interval of snapshots, from which an interrupted training continues.
_SNAPSHOT_S = 2
# With fewer rows, threads of ydf take three times the processor time, and no less time.
_ROWS_OF_THREAD = 20_000
STOPPED = (
    "Stopped. train() of the same model with the same rows continues from the trees that are grown."
)
# Settings of ydf's template "benchmark_rank1v1".
OBLIQUE = {
    "growing_strategy": "BEST_FIRST_GLOBAL",
    "categorical_algorithm": "RANDOM",
    "split_axis": "SPARSE_OBLIQUE",
    "sparse_oblique_normalization": "MIN_MAX",
    "sparse_oblique_num_projections_exponent": 1.0,
}


@dataclass(frozen=True)
class Growth:
    """A growth of trees.

    Args:
        classes: Number of classes; 0 for a regression.
        sizes: Numbers of categories of the last columns.
        directions: 1 or -1 by the number of a column with which predictions only rise or only fall.
        settings: Arguments of ydf, by which its trees differ.
        is_binned: Whether numbers are compared with up to 254 of their quantiles, and not with all, which takes longer.
    """

    classes: int
    sizes: Sequence[int]
    directions: Mapping[int, int]
    settings: Mapping[str, Any]
    is_binned: bool = False

    @classmethod
    def of(cls, model: Any, settings: RunSettings, sizes: Sequence[int]) -> "Growth":
        directions = model.directions()
        # The learner for clusters lacks these.
        own = {
            "use_hessian_gain": bool(directions),
            "l1_regularization": model.l1_regularization,
            "l2_regularization": model.l2_regularization,
            **(OBLIQUE if model.splits == "oblique" else {}),
        }
        arguments = {
            "loss": loss_name(model),
            "num_trees": model.n_trees,
            "max_depth": model.max_depth,
            "shrinkage": model.learning_rate,
            "min_examples": max(1, math.ceil(model.min_node_weight)),
            "random_seed": settings.seed or 0,
            **{name: value for name, value in own.items() if value},
        }
        return cls(getattr(model, "n_classes", 0), tuple(sizes), directions, arguments)

    def grow(
        self,
        rows: Mapping[str, Any],
        directory: str,
        run: RunSettings,
        workers: Sequence[str] = (),
        judged: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the model of ydf; KeyboardInterrupt after Ctrl-C.

        Without workers, it has no more trees than the loss of rows that are ``judged`` asks for.

        The directory holds snapshots, from which the same growth of the same rows continues. The ``workers``, which are
        addresses, must see it.
        """
        ydf, table = library(), self._table(rows)
        columns = [self._column(ydf, place, *each) for place, each in enumerate(table.items())]
        common = {
            **self.settings,
            "label": _LABEL,
            "task": ydf.Task.CLASSIFICATION if self.classes else ydf.Task.REGRESSION,
            "weights": _WEIGHT,
            "data_spec": self._data_spec(ydf, table, columns),
            "num_threads": thread_count(run, len(rows["rows"])),
            "working_dir": directory,
            "resume_training": True,
            "resume_training_snapshot_interval_seconds": _SNAPSHOT_S,
        }
        if workers:
            learner = ydf.DistributedGradientBoostedTreesLearner(
                **common, workers=list(workers), extra_training_config=_with_snapshots()
            )
            table = _write(table, directory, len(workers) * _SHARDS_PER_WORKER)
        else:
            learner = ydf.GradientBoostedTreesLearner(
                **common, features=columns, validation_ratio=0.0
            )
        try:
            valid = None if judged is None else self._table(judged)
            return learner.train(table, valid=valid, verbose=0)
        except ValueError as error:
            if "interrupted by user" in str(error):
                raise KeyboardInterrupt(STOPPED) from error
            raise

    def _table(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        matrix, labels = rows["rows"], rows["labels"]
        first = matrix.shape[1] - len(self.sizes)
        # Category 0 of ydf is for unknown ones.
        features = {
            f"c{place}": np.ascontiguousarray(values)
            if place < first
            else values.astype(np.int32) + 1
            for place, values in enumerate(matrix.T)
        }
        labels = labels.astype(np.int32) if self.classes else labels
        return {**features, _LABEL: labels, _WEIGHT: rows["weights"]}

    def _column(self, ydf: Any, place: int, name: str, values: Any) -> Any:
        if values.dtype != np.int32:
            kind = ydf.Semantic.NUMERICAL
            if self.is_binned and name not in {_LABEL, _WEIGHT}:
                kind = ydf.Semantic.DISCRETIZED_NUMERICAL
            return ydf.Column(name, kind, monotonic=self.directions.get(place))
        if name != _LABEL:
            return ydf.Column(name, ydf.Semantic.CATEGORICAL, is_already_integerized=True)
        kind = ydf.Semantic.CATEGORICAL
        return ydf.Column(name, kind, max_vocab_count=-1, min_vocab_frequency=0)

    def _data_spec(self, ydf: Any, table: Mapping[str, Any], columns: list[Any]) -> Any:
        # From files, ydf would learn it from some rows only.
        spec = ydf.create_vertical_dataset(dict(table), columns=columns).data_spec()
        if self.classes:
            # ydf sorts classes by their frequency, and lists none without rows.
            (label,) = (each.categorical for each in spec.columns if each.name == _LABEL)
            for number in range(self.classes):
                label.items[str(number)].index = number + 1
            label.number_of_unique_values = self.classes + 1
        return spec


def loss_name(model: Any) -> str:
    name: str = model.row_loss[0]
    if name == "log_loss":
        return "BINOMIAL_LOG_LIKELIHOOD" if model.n_classes == 2 else "MULTINOMIAL_LOG_LIKELIHOOD"
    return name.upper()


def thread_count(settings: RunSettings, rows: int) -> int:
    """Return the number of threads that grow trees of a number of rows, unless the settings have one."""
    given = (settings.session_config or {}).get("intra_op_parallelism_threads")
    return int(given or min(core_count(), max(1, rows // _ROWS_OF_THREAD)))


def library() -> Any:
    try:
        return importlib.import_module("ydf")
    except ImportError as error:
        raise BackendError(
            f"Boosted trees need the Python package ydf, which {sys.executable} cannot import: {error}.",
            "Run install_tfdistribute(trees = TRUE) in R and restart it. Outside R: `pip install ydf`.",
            argument="object",
        ) from error


def _with_snapshots() -> Any:
    """Return ydf's configuration with the interval of snapshots, which is no argument of the learner for clusters."""
    library = "yggdrasil_decision_forests.learner"
    config = importlib.import_module(f"{library}.abstract_learner_pb2").TrainingConfig()
    name = "distributed_gradient_boosted_trees"
    extension = importlib.import_module(f"{library}.{name}.{name}_pb2")
    own = config.Extensions[extension.distributed_gradient_boosted_trees_config]
    own.checkpoint_interval_seconds = _SNAPSHOT_S
    return config


def trees_grown(directory: str) -> int:
    """Return the number of iterations in the newest snapshot of a growth."""
    paths = glob.iglob(os.path.join(directory, "**", "snapshot_*"), recursive=True)
    return max((int(path.rpartition("_")[2]) for path in paths), default=0)


def _write(table: Mapping[str, Any], directory: str, most: int) -> str:
    """Write rows as the files that ydf reads, in their order, and return their path.

    Arrow writes the fewest digits that are read as the same number.
    """
    rows = arrow_module("pyarrow").table(dict(table))
    firsts = range(0, rows.num_rows, math.ceil(rows.num_rows / most))
    for shard, first in enumerate(firsts):
        path = os.path.join(directory, f"rows-{shard:05d}-of-{len(firsts):05d}.csv")
        arrow_module("pyarrow.csv").write_csv(rows.slice(first, firsts.step), path)
    return f"csv:{directory}/rows@{len(firsts)}.csv"
