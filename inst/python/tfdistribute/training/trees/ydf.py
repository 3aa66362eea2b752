"""Learners and models of ydf."""

import glob
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tfdistribute.errors import BackendError
from tfdistribute.storage.buckets import arrow_module

_LABEL, _WEIGHT = "label", "weight"
# More files than workers let them read at the same time.
_SHARDS_PER_WORKER = 4
# Interval of snapshots, from which an interrupted training continues.
_SNAPSHOT_S = 2
STOPPED = (
    "Stopped. train() of the same model with the same rows continues from the trees that are grown."
)
# Settings of ydf's template "benchmark_rank1v1".
_OBLIQUE = {
    "growing_strategy": "BEST_FIRST_GLOBAL",
    "categorical_algorithm": "RANDOM",
    "split_axis": "SPARSE_OBLIQUE",
    "sparse_oblique_normalization": "MIN_MAX",
    "sparse_oblique_num_projections_exponent": 1.0,
}

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Growth:
    """Settings of a growth of trees.

    Args:
        classes: Number of classes; 0 for a regression.
        sizes: Numbers of categories of the last columns.
        directions: "increasing" or "decreasing" by the number of a column.
        penalties: Of L1 and L2.
    """

    classes: int
    loss: str
    sizes: Sequence[int]
    directions: Mapping[int, str]
    trees: int
    depth: int
    rate: float
    least_rows: int
    seed: int
    threads: int
    is_oblique: bool
    penalties: tuple[float, float]

    def grow(
        self,
        rows: Arrays,
        directory: str,
        workers: Sequence[str] = (),
        judged: Arrays | None = None,
    ) -> Any:
        """Return the model of ydf; KeyboardInterrupt after Ctrl-C.

        Without workers, it has no more trees than the loss of rows that are ``judged`` asks for.

        The directory holds snapshots, from which the same growth of the same rows continues. The ``workers``, which are
        addresses, must see it.
        """
        ydf = library()
        table = self._table(rows)
        settings = {
            "label": _LABEL,
            "task": ydf.Task.CLASSIFICATION if self.classes else ydf.Task.REGRESSION,
            "weights": _WEIGHT,
            "loss": self.loss,
            "num_trees": self.trees,
            "max_depth": self.depth,
            "shrinkage": self.rate,
            "min_examples": self.least_rows,
            "random_seed": self.seed,
            "num_threads": self.threads,
            "working_dir": os.path.join(directory, "work"),
            "resume_training": True,
            "resume_training_snapshot_interval_seconds": _SNAPSHOT_S,
        }
        columns = self._columns(ydf, rows["rows"].shape[1])
        if not workers:
            learner = ydf.GradientBoostedTreesLearner(
                **settings,
                features=columns,
                label_classes=self._classes,
                validation_ratio=0.0,
                early_stopping="NONE" if judged is None else "LOSS_INCREASE",
                use_hessian_gain=bool(self.directions),
                l1_regularization=self.penalties[0],
                l2_regularization=self.penalties[1],
                **(_OBLIQUE if self.is_oblique else {}),
            )
        else:
            # From files, ydf would learn it from some rows only.
            columns += [
                ydf.Column(_LABEL, ydf.Semantic.CATEGORICAL, vocabulary=self._classes)
                if self.classes
                else ydf.Column(_LABEL, ydf.Semantic.NUMERICAL),
                ydf.Column(_WEIGHT, ydf.Semantic.NUMERICAL),
            ]
            learner = ydf.DistributedGradientBoostedTreesLearner(
                **settings,
                data_spec=ydf.create_vertical_dataset(table, columns=columns).data_spec(),
                workers=list(workers),
                extra_training_config=_with_snapshots(),
            )
            table = _write(table, directory, len(workers) * _SHARDS_PER_WORKER)
        try:
            valid = None if judged is None else self._table(judged)
            return learner.train(table, valid=valid, verbose=0)
        except ValueError as error:
            if "interrupted by user" in str(error):
                raise KeyboardInterrupt(STOPPED) from error
            raise

    @property
    def _classes(self) -> list[str] | None:
        return [str(each) for each in range(self.classes)] or None

    def _table(self, rows: Arrays) -> dict[str, Any]:
        matrix = rows["rows"]
        numbers = matrix.shape[1] - len(self.sizes)
        # Category 0 of ydf is for unknown ones.
        table = {
            f"c{column}": np.ascontiguousarray(matrix[:, column])
            if column < numbers
            else matrix[:, column].astype(np.int32) + 1
            for column in range(matrix.shape[1])
        }
        table[_LABEL] = rows["labels"].astype(np.int32) if self.classes else rows["labels"]
        table[_WEIGHT] = rows["weights"]
        return table

    def _columns(self, ydf: Any, count: int) -> list[Any]:
        numbers = count - len(self.sizes)
        signs = {"increasing": 1, "decreasing": -1}
        return [
            ydf.Column(
                f"c{column}",
                ydf.Semantic.NUMERICAL,
                monotonic=signs.get(self.directions.get(column, "")),
            )
            if column < numbers
            else ydf.Column(f"c{column}", ydf.Semantic.CATEGORICAL, is_already_integerized=True)
            for column in range(count)
        ]


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
    paths = glob.iglob(os.path.join(directory, "work", "**", "snapshot_*"), recursive=True)
    return max((int(path.rpartition("_")[2]) for path in paths), default=0)


def _write(table: Arrays, directory: str, most: int) -> str:
    """Write rows once as the files that ydf reads, in their order, and return their path.

    Arrow writes the fewest digits that are read as the same number.
    """
    rows = arrow_module("pyarrow").table(dict(table))
    shards = min(most, rows.num_rows)
    bounds = np.linspace(0, rows.num_rows, shards + 1).astype(int).tolist()
    done = os.path.join(directory, "rows.done")
    if not os.path.exists(done):
        for shard, (first, end) in enumerate(pairwise(bounds)):
            path = os.path.join(directory, f"rows-{shard:05d}-of-{shards:05d}.csv")
            arrow_module("pyarrow.csv").write_csv(rows.slice(first, end - first), path)
        with open(done, "wb"):
            pass
    return f"csv:{directory}/rows@{shards}.csv"


class _Nodes:
    """The nodes of trees as the arrays of ``engine.trees``."""

    def __init__(self, names: Sequence[str], sizes: Mapping[int, int]) -> None:
        # Numbers of columns by those of ydf.
        self._columns = [int(each[1:]) if each[1:].isdecimal() else -1 for each in names]
        self._sizes = sizes
        self.depth = 0
        self.arrays: dict[str, list[Any]] = {
            name: []
            for name in (
                "column",
                "weight",
                "threshold",
                "first_category",
                "positive",
                "negative",
                "value",
            )
        }
        self.is_in = [np.zeros(1, np.bool_)]
        self._count = 1

    def add(self, node: Any, depth: int = 0) -> int:
        """Add a node with all below it, and return its number."""
        arrays, index = self.arrays, len(self.arrays["value"])
        self.depth = max(self.depth, depth)
        columns, weights, threshold, first = self._read(None if node.is_leaf else node.condition)
        for name, each in (
            *(("column", columns), ("weight", weights), ("threshold", threshold)),
            *(("first_category", first), ("positive", index), ("negative", index)),
            ("value", node.value.value if node.is_leaf else 0.0),
        ):
            arrays[name].append(each)
        if not node.is_leaf:
            arrays["positive"][index] = self.add(node.pos_child, depth + 1)
            arrays["negative"][index] = self.add(node.neg_child, depth + 1)
        return index

    def _read(self, condition: Any) -> tuple[list[int], list[float], float, int]:
        if condition is None:
            return [0], [1.0], 0.0, -1
        if hasattr(condition, "attributes"):
            columns = [self._columns[each] for each in condition.attributes]
            return columns, list(condition.weights), condition.threshold, -1
        column = self._columns[condition.attribute]
        if not hasattr(condition, "mask"):
            return [column], [1.0], condition.threshold, -1
        first = self._count
        is_in = np.zeros(self._sizes[column], np.bool_)
        # Category 0 of ydf is for unknown ones.
        is_in[np.asarray(condition.mask) - 1] = True
        self.is_in.append(is_in)
        self._count += len(is_in)
        return [column], [1.0], 0.0, first


def as_forest(model: Any, growth: Growth, columns: int) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of ``engine.trees.ARRAYS`` for a model of ydf."""
    sizes = dict(enumerate(growth.sizes, columns - len(growth.sizes)))
    nodes = _Nodes([each.name for each in model.data_spec().columns], sizes)
    roots = [nodes.add(tree.root) for tree in model.iter_trees()]
    initial = np.asarray(model.initial_predictions(), np.float32).reshape(-1)
    terms = max((len(each) for each in nodes.arrays["column"]), default=1)
    for name, fill in (("column", 0), ("weight", 0.0)):
        nodes.arrays[name] = [[*each, *[fill] * (terms - len(each))] for each in nodes.arrays[name]]
    arrays = {name: np.asarray(each) for name, each in nodes.arrays.items()}
    return {
        **arrays,
        "column": arrays["column"].reshape(-1, terms),
        "weight": arrays["weight"].reshape(-1, terms),
        "roots": np.asarray(roots, np.int32).reshape(-1, len(initial)),
        "initial": initial,
        "depth": np.asarray(nodes.depth),
        "is_in": np.concatenate(nodes.is_in),
    }
