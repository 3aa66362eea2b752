"""Label checks against a model, before TensorFlow starts."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfdistribute.columns import (
    Accepted,
    ColumnFacts,
    InputFacts,
    class_numbers,
    show_values,
)
from tfdistribute.errors import InputError, ModelError
from tfdistribute.models.weights import mean_and_spread, row_weights


def require_label(facts: InputFacts) -> ColumnFacts | None:
    if facts.label is None and facts.features is not None:
        raise InputError(
            "The input has no response, which this verb needs.",
            "Give `response` in input_fn(), or the left side of its formula.",
            argument="response",
            value="NULL",
        )
    return facts.label


def check_regression_label(
    facts: InputFacts, label_dimension: int, argument: str | None = "label_dimension"
) -> None:
    """Check the response of a regressor, whose ``argument`` is None if users cannot give its width."""
    label = require_label(facts)
    if label is None:
        return
    if label.type == "string":
        raise InputError(
            f'The response "{label.name}" holds strings, but a regressor predicts numbers.',
            "Use a classifier, or give a response of numbers."
            if label.levels is None
            else 'Use a classifier, or read the codes of the factor with `factors = "codes"` in input_fn().',
            argument="response",
            value=label.name,
        )
    _check_width(label, label_dimension, argument, "regressor")


def response_scale(
    facts: InputFacts, label: ColumnFacts, weights: str | None
) -> tuple[tuple[float, float], ...]:
    """Return the mean and standard deviation of each response; InputError if they cannot be computed.

    ``weights`` is the name of a column, or None.
    """
    found = facts.values_of(label.name)
    if found is None:
        raise InputError(
            "`standardize_response` is TRUE, but the rows are not in memory, so their mean is not known.",
            "Give a data frame, or leave `standardize_response` out and scale the response in the data.",
            value="TRUE",
        )
    if label.type == "string":
        return ((0.0, 1.0),)  # check_regression_label() raises the error.
    values = found.astype(np.float64).reshape(-1, max(1, label.width))
    moments = mean_and_spread(values, row_weights(facts, weights))
    return tuple((float(mean), float(spread) or 1.0) for mean, spread in zip(*moments, strict=True))


def check_class_label(
    facts: InputFacts, n_classes: int, vocabulary: tuple[str, ...] | None
) -> None:
    check_vocabulary(n_classes, vocabulary)
    label = require_label(facts)
    if label is None:
        return
    _check_width(label, 1, None, "classifier")
    if label.type == "string":
        if vocabulary is None:
            raise InputError(
                f'The response "{label.name}" holds strings, and the classifier does not know the names of its '
                "classes.",
                "Give their names as `label_vocabulary`; for data in R, make the response a factor.",
                argument="label_vocabulary",
                value="NULL",
            )
    elif vocabulary is not None and class_numbers(vocabulary) is None:
        raise InputError(
            f'The response "{label.name}" holds numbers, but the model\'s classes have names '
            f"({show_values(vocabulary)}).",
            "Give a factor or strings as response, or leave `label_vocabulary` out.",
            argument="response",
            value=label.name,
        )
    elif label.type in ("date", "datetime"):
        raise InputError(
            f'The response "{label.name}" holds dates, which are not classes.',
            "Make it a factor.",
            argument="response",
            value=label.name,
        )
    elif vocabulary is None:
        _check_range(label, facts.label_range, n_classes)


def check_vocabulary(n_classes: int, vocabulary: tuple[str, ...] | None) -> None:
    if vocabulary is None:
        return
    if len(vocabulary) != n_classes:
        raise ModelError(
            f"`n_classes` is {n_classes}, but `label_vocabulary` names {len(vocabulary)} classes "
            f"({show_values(vocabulary)}).",
            f"Give n_classes = {len(vocabulary)}.",
            value=str(n_classes),
        )
    counts = Counter(vocabulary)
    if len(counts) < len(vocabulary):
        repeated = next(name for name in vocabulary if counts[name] > 1)
        raise ModelError(
            f'`label_vocabulary` names "{repeated}" twice.',
            "Name each class once.",
            value=repeated,
        )


def check_no_empty_label(response: str, names: Sequence[str]) -> None:
    if "" in names:
        raise InputError(
            f'The response "{response}" has the empty label "", which TensorFlow takes for a missing one.',
            'Give these rows another label, such as "none", or remove them.',
            argument="response",
            value="",
        )


def occurring_classes(label: ColumnFacts, values: Any) -> tuple[str, ...]:
    """Return the names of the classes that occur in numbers or strings; InputError for fractions or one class."""
    if label.type == "string":
        names = label.levels or tuple(sorted(set(values.tolist())))
        check_no_empty_label(label.name, names)
    else:
        numbers = np.unique(values)
        fractions = numbers[np.trunc(numbers) != numbers]
        if len(fractions):
            raise _fraction(label, fractions[0])
        names = tuple(str(int(each)) for each in numbers)
    if len(names) == 1:
        raise InputError(
            f'The response "{label.name}" has one value, {show_values(names)}, and a classifier needs two or more.',
            "Give rows of other classes, too, or use a regressor.",
            argument="response",
            value=names[0],
        )
    return names


def class_names(
    response: str,
    vocabulary: tuple[str, ...],
    as_numbers: bool = False,
    argument: str | None = "label_vocabulary",
) -> Accepted:
    """Return the labels that a model accepts, whose ``argument`` is None if users cannot give them."""
    more = "Train a new model" if argument is None else f"Give the model all labels as `{argument}`"

    def error(found: Sequence[Any], place: str) -> InputError:
        first = found[0] if isinstance(found[0], str) or found[0] % 1 else int(found[0])
        return InputError(
            f'The response "{response}" has the label {show_values([first])} in {place}, but the model\'s '
            f"{len(vocabulary)} classes are {show_values(vocabulary)}.",
            f"{more}, or drop the rows.",
            argument="response",
            value=str(found[0]),
        )

    values = class_numbers(vocabulary) if as_numbers else vocabulary
    return Accepted(frozenset[Any](values or ()), error)


def _check_range(
    label: ColumnFacts, label_range: tuple[float, float] | None, n_classes: int
) -> None:
    if label_range is None:
        return
    low, high = label_range
    fraction = next((value for value in label_range if value != int(value)), None)
    if fraction is not None:
        raise _fraction(label, fraction)
    if low < 0 or high > n_classes - 1:
        remedy = "Make the response a factor, or count its classes from 0."
        if low == 0:
            remedy = f"Give n_classes = {int(high) + 1}, or make the response a factor."
        elif high - low >= n_classes:
            remedy = "Make the response a factor, and give the number of its levels as `n_classes`."
        raise InputError(
            f'The response "{label.name}" goes from {low:g} to {high:g}, but with n_classes = {n_classes} classes '
            f"are 0 to {n_classes - 1}.",
            remedy,
            argument="n_classes",
            value=str(n_classes),
        )


def _fraction(label: ColumnFacts, value: float) -> InputError:
    return InputError(
        f'The response "{label.name}" holds {value:g}, but a classifier\'s classes are whole numbers.',
        f"Make the response a factor, as in factor({label.name}), or use a regressor.",
        argument="response",
        value=f"{value:g}",
    )


def _check_width(label: ColumnFacts, width: int, argument: str | None, kind: str) -> None:
    given = math.prod(label.shape)
    if given == width:
        return
    if argument is None:
        raise InputError(
            f'The response "{label.name}" has {given} values per row, but a {kind} takes one.',
            "Give one column as response.",
            argument="response",
            value=label.name,
        )
    raise InputError(
        f'The response "{label.name}" has {given} values per row, but `{argument}` is {width}.',
        f"Give {argument} = {given}.",
        argument=argument,
        value=str(width),
    )
