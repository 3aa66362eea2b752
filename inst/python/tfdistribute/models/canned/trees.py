"""Boosted trees, which Yggdrasil Decision Forests (ydf) grows and TensorFlow evaluates."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from tfdistribute import engine
from tfdistribute.columns import InputFacts
from tfdistribute.descriptions.constraints import Count, Expected, Fact, Ge, Gt, Never, Text
from tfdistribute.errors import ArgumentError, ModelError, UnsupportedError
from tfdistribute.files import is_remote
from tfdistribute.models.canned.learned import Learned, LearnedClassifier, LearnedRegressor
from tfdistribute.models.canned.parts import Dropout, build_columns
from tfdistribute.models.canned.table import Table
from tfdistribute.models.conversion.features import Features
from tfdistribute.models.conversion.program import Result
from tfdistribute.models.description import Model
from tfdistribute.models.feature_columns.categorical import Categorical
from tfdistribute.models.feature_columns.crossed import Crossed
from tfdistribute.models.feature_columns.derived import Indicator
from tfdistribute.models.feature_columns.description import (
    FeatureColumn,
    FeatureRequirement,
    safe_key,
)
from tfdistribute.models.feature_columns.numeric import Bucketized, Numeric

_Share = Annotated[float, Ge(0)]


@dataclass(frozen=True)
class Trees(Learned):
    """Fields that several kinds share.

    Args:
        feature_columns: Columns that the trees read, from [feature_columns()]: numeric ones, bucketized ones as their
            numbers, categorical ones, and indicators as their categories. NULL for all features of the first training.
        n_trees: Most trees to grow, a count. A classifier of more than two classes grows as many for each class.
        max_depth: Most levels of a tree, a count. The root is the first.
        learning_rate: Factor that multiplies each tree, a number above 0.
        l1_regularization, l2_regularization: Penalties of the values of leaves, numbers. A cluster supports only 0.
        tree_complexity: Must be 0, because ydf has no penalty of leaves.
        min_node_weight: Fewest rows in a node, a number.
        validation: Share of the rows that do not train, and choose how many trees are kept, a number below 1. They
            depend on the `seed` of [run_config()], and have the same share of each class. 0 keeps all trees. To choose
            the rows yourself, give them to [train()] as `validation`.
        splits: `"axis"` compares one feature in each node. `"oblique"` compares weighted sums of numbers, and splits
            the best leaf of a tree first, which takes longer and often predicts better. A cluster supports only
            `"axis"`.
        increasing, decreasing: Names of numeric features with which predictions can only rise or only fall, strings.
            A cluster supports neither.
    """

    rules: ClassVar[tuple[Never, ...]] = (
        Never(
            {"tree_complexity": Annotated[float, Gt(0)]},
            "`tree_complexity` is {tree_complexity}, and boosted trees have no penalty of leaves.",
            "Use `max_depth` or `min_node_weight`, which also make trees smaller.",
            "unsupported",
        ),
    )

    feature_columns: tuple[FeatureColumn, ...] = ()
    n_trees: Count = 300
    max_depth: Count = 6
    learning_rate: Annotated[float, Gt(0)] = 0.1
    l1_regularization: _Share = 0.0
    l2_regularization: _Share = 0.0
    tree_complexity: _Share = 0.0
    min_node_weight: _Share = 5.0
    validation: Dropout = 0.1
    splits: Literal["axis", "oblique"] = "axis"
    increasing: Annotated[tuple[Text, ...], Fact.NAME] = ()
    decreasing: Annotated[tuple[Text, ...], Fact.NAME] = ()

    trainer: ClassVar[str] = "trees"
    decided_by_rows = frozenset()

    def check_cluster(self, on_several_hosts: bool) -> None:
        # What ydf lacks in a cluster.
        lacking = {
            "splits": self.splits == "oblique",
            "l1_regularization": self.l1_regularization,
            "l2_regularization": self.l2_regularization,
            "increasing": self.increasing,
            "decreasing": self.decreasing,
        }
        for name in (name for name, is_set in lacking.items() if is_set):
            value = getattr(self, name)
            raise UnsupportedError(
                f"`{name}` is {value!r}, which boosted trees support in one process only.",
                f"Leave out `{name}`, or `cluster`.",
                argument=name,
                value=str(value),
            )
        if on_several_hosts and is_remote(self.model_dir):
            raise UnsupportedError(
                f'`model_dir` "{self.model_dir}" is in a bucket, and trees on several hosts need a shared directory.',
                "Use a directory on a network file system, or local_cluster().",
                argument="model_dir",
                value=self.model_dir,
            )

    def learns_columns(self) -> bool:
        return not self.feature_columns

    def columns(self) -> dict[str, tuple[FeatureColumn, ...]]:
        columns, table = self.feature_columns, self.table
        if table is not None and not columns:
            categories = (each.column(self.new_levels, linear=True) for each in table.categories)
            columns = (*(each.column() for each in table.numbers), *categories)
        by_name = {safe_key(each.name): each for each in map(_read_by_trees, columns)}
        return {"feature_columns": tuple(by_name[name] for name in sorted(by_name))}

    @property
    def numbers(self) -> list[Numeric]:
        return [each for each in self.all_columns() if isinstance(each, Numeric)]

    def required_features(self) -> tuple[FeatureRequirement, ...]:
        single = {each.key for each in self.all_columns() if isinstance(each, Categorical)}
        return tuple(
            replace(each, width=1) if each.feature in single else each
            for each in super().required_features()
        )

    def new_table(self, table: Table, rows: int) -> Table:
        # A sum of trees has no limits.
        return replace(table, limits=None)

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        super().check(facts, needs_label)
        self.directions()

    def directions(self) -> dict[int, int]:
        """Return 1 (increasing) or -1 by the position of a number; ArgumentError for another feature."""
        places = {each.key: place for place, each in enumerate(self.numbers)}
        directions: dict[int, int] = {}
        for direction, sign in {"increasing": 1, "decreasing": -1}.items():
            for name in getattr(self, direction) if self.all_columns() else ():
                if name not in places or places[name] in directions:
                    also = "is also in `increasing`" if name in places else "is no numeric feature"
                    raise ArgumentError(
                        f'`{direction}` has "{name}", which {also}.',
                        f"The numeric features are {', '.join(places)}.",
                        argument=direction,
                        value=name,
                    )
                directions[places[name]] = sign
        return directions

    def logits(self, features: Features) -> Result:
        raise UnsupportedError(
            "Boosted trees cannot be converted to Keras or ONNX, which have no trees.",
            "Use export_savedmodel().",
            argument="object",
            value=self.kind,
        )

    def arguments(self) -> dict[str, Any]:
        categories = [each for each in self.all_columns() if isinstance(each, Categorical)]
        return {
            "numbers": build_columns(self.numbers),
            "categories": [engine.features.with_codes(each.build()) for each in categories],
        }

    def new_estimator(self, head: Mapping[str, Any], **arguments: Any) -> Any:
        incomplete = () if self.table is None else self.table.constants()["incomplete"]
        read = (arguments.pop(name) for name in ("numbers", "categories"))
        columns = engine.trees.Columns(*read, incomplete)
        model_fn = engine.trees.make_model_fn(columns, self.head(head), head["weight_column"])
        return engine.tf.estimator.Estimator(model_fn, **arguments)


@dataclass(frozen=True)
class BoostedTreesRegressor(Trees, LearnedRegressor, kind="boosted_trees_regressor"):
    rules = (
        *Trees.rules,
        Never(
            {"label_dimension": Annotated[int, Gt(1)]},
            "`label_dimension` is {label_dimension}, and boosted trees predict one number per row.",
            "Train a model for each column of the response, or a dnn_regressor().",
            "model",
        ),
    )

    def complete_from_input(self, facts: InputFacts) -> Model:
        # Without the mean of rows that are not in memory, trees learn the response as it is.
        is_known = facts.label is not None and facts.values_of(facts.label.name) is not None
        known = self if is_known else replace(self, standardize_response=None)
        return super(BoostedTreesRegressor, known).complete_from_input(facts)


@dataclass(frozen=True)
class BoostedTreesClassifier(Trees, LearnedClassifier, kind="boosted_trees_classifier"):
    """Boosted trees of classes.

    Args:
        class_weights: Weights of the classes, numbers with the names of all classes, which multiply the weights of
            rows in the training. NULL for equal weights.
    """

    class_weights: Annotated[
        dict[Text, Annotated[float, Ge(0)]] | None,
        Fact.NAME,
        Expected("numbers of at least 0 with different names, or NULL"),
    ] = None

    def with_classes(self, facts: InputFacts) -> LearnedClassifier:
        is_given = self.label_vocabulary is not None or self.n_classes > 2
        return self if is_given else super().with_classes(facts)

    def head(self, arguments: Mapping[str, Any]) -> Any:
        if self.n_classes > 2:
            return engine.tf.estimator.MultiClassHead(**arguments)
        binary = {name: each for name, each in arguments.items() if name != "n_classes"}
        return engine.tf.estimator.BinaryClassHead(**binary)

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        super().check(facts, needs_label)
        self.weights_of_classes()

    def weights_of_classes(self) -> list[float] | None:
        if self.class_weights is None:
            return None
        names = self.label_vocabulary or tuple(map(str, range(self.n_classes)))
        if set(names) != set(self.class_weights):
            raise ArgumentError(
                f"`class_weights` has the names {', '.join(self.class_weights)}, but the classes are "
                f"{', '.join(names)}.",
                "Give a number for each class, with its name.",
                argument="class_weights",
                value=", ".join(self.class_weights),
            )
        return [self.class_weights[name] for name in names]


def _read_by_trees(column: FeatureColumn) -> FeatureColumn:
    """Return the numeric or categorical column that trees read in place of a column."""
    if isinstance(column, Bucketized):
        return column.source_column
    if isinstance(column, Indicator):
        return _read_by_trees(column.categorical_column)
    if isinstance(column, (Numeric, Categorical)):
        return column
    instead = "the columns that it crosses" if isinstance(column, Crossed) else "its categories"
    raise ModelError(
        f'`feature_columns` has the {column.kind} column "{column.name}", which trees do not read.',
        f"Give {instead}, because trees need no other numbers for categories.",
        argument="feature_columns",
        value=column.name,
    )
