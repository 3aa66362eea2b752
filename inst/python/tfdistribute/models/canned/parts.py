"""Arguments shared by canned models: columns, hidden layers, activation and dropout."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from tfdistribute import engine
from tfdistribute.descriptions.constraints import Fact, Ge, Lt
from tfdistribute.errors import ArgumentError, ModelError
from tfdistribute.models.feature_columns.description import FeatureColumn

# Names of TensorFlow and Keras, and others that tidymodels' dials::activation() also draws.
ActivationName = Literal[
    "celu",
    "crelu",
    "elu",
    "exponential",
    "gelu",
    "hard_sigmoid",
    "hardshrink",
    "hardsigmoid",
    "hardtanh",
    "leaky_relu",
    "linear",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "swish",
    "tanh",
    "tanhshrink",
]
Activation = Annotated[ActivationName | Callable[..., Any], Fact.NAME]
Dropout = Annotated[float, Ge(0), Lt(1)]


def build_columns(columns: Sequence[FeatureColumn]) -> list[Any]:
    """Make feature columns; numeric columns are read together if results stay the same, categories as codes."""
    made = [engine.features.with_codes(column.build()) for column in columns]
    return engine.features.join_numeric_columns(made)


def build_linear_columns(columns: Sequence[FeatureColumn], combiner: str) -> list[Any]:
    made = build_columns(columns)
    # Any other combiner would change the sum of several categories in a row.
    return [engine.features.as_categories(each) for each in made] if combiner == "sum" else made


def check_columns(columns: Sequence[FeatureColumn], argument: str) -> None:
    if not columns:
        raise ModelError(f"`{argument}` is empty.", "Give at least one column.")


def check_dense(columns: Sequence[FeatureColumn], argument: str) -> None:
    check_columns(columns, argument)
    for column in columns:
        if not column.is_dense:
            raise ModelError(
                f'`{argument}` has the categorical column "{column.name}", which layers cannot read directly.',
                "Wrap it in column_indicator() or column_embedding().",
                value=column.name,
            )


def check_layers(
    columns: Sequence[FeatureColumn],
    hidden_units: Sequence[int],
    prefix: str = "",
) -> None:
    check_dense(columns, f"{prefix}feature_columns")
    if not hidden_units:
        raise ArgumentError(
            f"`{prefix}hidden_units` must be whole numbers of at least 1, one per layer, not {list(hidden_units)}.",
            f"For two layers, give {prefix}hidden_units = c(64, 32).",
            argument=f"{prefix}hidden_units",
            value=str(list(hidden_units)),
        )
