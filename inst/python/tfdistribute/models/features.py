"""Feature checks against a model, before TensorFlow starts."""

import difflib
import math
from collections.abc import Iterable, Mapping

from tfdistribute.columns import KINDS, ColumnFacts, InputFacts, show_values
from tfdistribute.errors import InputError
from tfdistribute.models.description import Model
from tfdistribute.models.feature_columns.description import FeatureRequirement


def check_features(
    required: Iterable[FeatureRequirement], features: Mapping[str, ColumnFacts]
) -> None:
    for each in required:
        if each.feature not in features:
            raise _missing(each, list(features))
        _check_fit(each, features[each.feature])


def check_kinds(model: Model, facts: InputFacts, trained: Mapping[str, str]) -> None:
    """Raise InputError for a feature of another kind (see ``columns.KINDS``) than in the model's training."""
    for name, column in (facts.features or {}).items() if facts.typed else ():
        known = trained.get(name)
        if known in (None, KINDS[column.type]) or not model.reads(name):
            continue
        held = "a factor" if column.levels is not None else _type_in_words(column.type)
        raise InputError(
            f'The feature "{name}" holds {held}, but the model was trained with {_KIND_IN_WORDS[known]} in it.',
            _conversion(name, known, column),
            argument="features",
            value=name,
        )


_KIND_IN_WORDS = {
    "numbers": "numbers",
    "logical": "TRUE and FALSE",
    "labels": "labels (strings or a factor)",
    "dates": "dates",
    "times": "times",
}
# The function of R, and the type for a file.
_CONVERSIONS = {
    "numbers": ("as.numeric", "float"),
    "logical": ("as.logical", "logical"),
    "labels": ("as.character", "string"),
    "dates": ("as.Date", "date"),
    "times": ("as.POSIXct", "datetime"),
}


def _conversion(name: str, trained: str, column: ColumnFacts) -> str:
    function, file_type = _CONVERSIONS[trained]
    # as.numeric() of a factor is the numbers of its levels.
    value = name if column.levels is None or trained == "labels" else f"as.character({name})"
    return f'Convert it, as in {function}({value}), or read a file with types = list({name} = "{file_type}").'


def check_weights(facts: InputFacts, weight_column: str | None) -> None:
    if facts.weights is None or facts.weights.name == weight_column:
        return
    reads = "was trained without weights" if weight_column is None else f'reads "{weight_column}"'
    raise InputError(
        f'The input\'s weights are "{facts.weights.name}", but the model {reads}.',
        "Use the same `weights` for training and evaluation, and no other `weight_column` in the model.",
        argument="weights",
        value=facts.weights.name,
    )


def _missing(required: FeatureRequirement, known: list[str]) -> InputError:
    lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(required.feature.lower(), list(lower), n=1)
    guess = f'Did you mean "{lower[close[0]]}"? ' if close else ""
    return InputError(
        f'The feature "{required.feature}", which column "{required.column}" reads, is not in the input.',
        f"{guess}The input's features are {show_values(known, 20)}.",
        argument="features",
        value=required.feature,
    )


def _check_fit(required: FeatureRequirement, feature: ColumnFacts) -> None:
    if feature.type not in required.types:
        raise InputError(
            f'The feature "{required.feature}" holds {_type_in_words(feature.type)}, '
            f'but column "{required.column}" reads {_types_in_words(required.types)}.',
            _factor_remedy(required, feature) or required.remedy,
            argument="features",
            value=required.feature,
        )
    width = math.prod(feature.shape)
    if required.width is not None and width != required.width:
        raise InputError(
            f'The feature "{required.feature}" has {width} values per row, '
            f'but column "{required.column}" has shape for {required.width}.',
            f"Give the column shape = {width}.",
            argument="shape",
            value=str(required.width),
        )


def _factor_remedy(required: FeatureRequirement, feature: ColumnFacts) -> str | None:
    if feature.levels is None:
        return None
    if feature.as_labels:
        return (
            'Leave out `factors = "labels"` in input_fn(): the column reads the codes of a factor.'
        )
    return (
        f'Another column reads the labels of "{required.feature}", and a factor is read in one way: '
        "give its codes a column of their own in the data, as.integer(x) - 1L."
    )


def _type_in_words(column_type: str) -> str:
    words = {
        "float": "numbers with fractions (doubles)",
        "double": "numbers with fractions (doubles)",
        "integer": "whole numbers",
        "integer64": "whole numbers",
        "string": "strings",
        "logical": "TRUE and FALSE",
        "date": "dates",
        "datetime": "times",
    }
    return words.get(column_type, column_type)


def _types_in_words(types: tuple[str, ...]) -> str:
    if "float" in types:
        return "numbers"
    if "string" in types:
        return "strings" if len(types) == 1 else "strings or whole numbers"
    return "whole numbers"
