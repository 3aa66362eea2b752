"""Whether features fit a model: plain checks, before TensorFlow starts."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping

from tfdistribute.columns import ColumnFacts, InputFacts
from tfdistribute.errors import InputError
from tfdistribute.models.feature_columns.description import Need


def check_features(needs: Iterable[Need], features: Mapping[str, ColumnFacts]) -> None:
    """See that every feature is there, with values that its column can read.

    Args:
        needs: What the model's columns read.
        features: The input's features by name.

    Raises:
        InputError: a feature is missing, or of another type or width.
    """
    for need in needs:
        if need.feature not in features:
            raise _missing(need, list(features))
        _check_fit(need, features[need.feature])


def check_weights(facts: InputFacts, weight_column: str | None) -> None:
    """See that a model weighs rows by the input's weights.

    Args:
        facts: What is known about the input.
        weight_column: The feature that the model takes for weights, or None.

    Raises:
        InputError: the input has weights that the model does not read.
    """
    if facts.weights is None or facts.weights.name == weight_column:
        return
    reads = "was trained without weights" if weight_column is None else f'reads "{weight_column}"'
    raise InputError(
        f'The input\'s weights are "{facts.weights.name}", but the model {reads}.',
        "Give the inputs for training and evaluating the same `weights`, and the model no other `weight_column`.",
        argument="weights",
        value=facts.weights.name,
    )


def _missing(need: Need, known: list[str]) -> InputError:
    # Upper and lower case are the most common slip.
    lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(need.feature.lower(), list(lower), n=1)
    listed = ", ".join(f'"{name}"' for name in known[:20]) + (", ..." if len(known) > 20 else "")
    guess = f'Did you mean "{lower[close[0]]}"? ' if close else ""
    return InputError(
        f'The feature "{need.feature}", which column "{need.column}" reads, is not in the input.',
        f"{guess}The input's features are {listed}.",
        argument="features",
        value=need.feature,
    )


def _check_fit(need: Need, feature: ColumnFacts) -> None:
    if feature.type not in need.types:
        raise InputError(
            f'The feature "{need.feature}" holds {_held(feature.type)}, '
            f'but column "{need.column}" reads {_wanted(need.types)}.',
            need.remedy,
            argument="features",
            value=need.feature,
        )
    width = math.prod(feature.shape)
    if need.width is not None and width != need.width:
        raise InputError(
            f'The feature "{need.feature}" has {width} values per row, '
            f'but column "{need.column}" has shape for {need.width}.',
            f"Give the column shape = {width}.",
            argument="shape",
            value=str(need.width),
        )


def _held(kind: str) -> str:
    words = {
        "float": "numbers with fractions (doubles)",
        "integer": "whole numbers",
        "integer64": "whole numbers",
        "string": "strings",
        "logical": "TRUE and FALSE",
        "date": "dates",
        "datetime": "times",
    }
    return words.get(kind, kind)


def _wanted(types: tuple[str, ...]) -> str:
    if "float" in types:
        return "numbers"
    if "string" in types:
        return "strings" if len(types) == 1 else "strings or whole numbers"
    return "whole numbers"
