"""Matching of features to a Keras model's inputs, before a graph is built."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfdistribute.columns import ColumnFacts, show_values
from tfdistribute.errors import InputError


@dataclass(frozen=True)
class KerasInput:
    name: str
    shape: tuple[int | None, ...]
    dtype: str

    @property
    def is_text(self) -> bool:
        return self.dtype == "string"

    def fits(self, feature: ColumnFacts) -> bool:
        """Return whether a feature has the input's shape, where a scalar counts as a row of one."""
        shape = feature.shape or ((1,) if self.shape else ())
        shape = () if self.shape == () and shape == (1,) else shape
        return len(shape) == len(self.shape) and all(
            size is None or size == given for size, given in zip(self.shape, shape, strict=True)
        )

    def __str__(self) -> str:
        sizes = " x ".join("any" if size is None else str(size) for size in self.shape)
        return f'"{self.name}" ({sizes or "one value"} per row)'


# Features that an input reads, by the input's name.
FeaturesByInput = dict[str, tuple[str, ...]]


def match_inputs(
    inputs: Sequence[KerasInput],
    features: Mapping[str, ColumnFacts],
    matrix_features: tuple[str, ...] | None,
) -> FeaturesByInput:
    """Match features to inputs by name.

    A model's only input may also read the only feature, or all features as one matrix in order, if together they have
    as many numbers per row as the input has units.
    """
    wanted = matrix_features or tuple(item.name for item in inputs)
    missing = [name for name in wanted if name not in features]
    if matrix_features is not None and not missing:
        return {inputs[0].name: matrix_features}
    if matrix_features is None and not missing:
        return {item.name: (item.name,) for item in inputs}
    alone = matrix_features is None and len(inputs) == 1
    if alone and (len(features) == 1 or _fit_together(inputs[0], features)):
        return {inputs[0].name: tuple(features)}
    raise _unmatched(inputs, features, missing[0])


def check_fit(
    inputs: Sequence[KerasInput], features: Mapping[str, ColumnFacts], matched: FeaturesByInput
) -> None:
    for item in inputs:
        read = [features[name] for name in matched[item.name]]
        _check_types(item, read)
        _check_shapes(item, read)


def _width(features: Sequence[ColumnFacts]) -> int:
    return sum(math.prod(feature.shape) for feature in features)


def _fit_together(item: KerasInput, features: Mapping[str, ColumnFacts]) -> bool:
    held = list(features.values())
    flat = all(len(feature.shape) <= 1 and feature.type != "string" for feature in held)
    return flat and len(item.shape) == 1 and item.shape[0] in (None, _width(held))


def _unmatched(
    inputs: Sequence[KerasInput], features: Mapping[str, ColumnFacts], missing: str
) -> InputError:
    if len(inputs) > 1:
        return InputError(
            f'The Keras model reads {", ".join(str(item) for item in inputs)}, and "{missing}" is not among the '
            f"features {show_values(features, 20)}.",
            "Name the features as the model names its inputs.",
            argument="features",
            value=missing,
        )
    if missing != inputs[0].name:
        return InputError(
            f'The Keras model was trained on the feature "{missing}", which is not among {show_values(features, 20)}.',
            "Give the features that the model was trained on.",
            argument="features",
            value=missing,
        )
    texts = [name for name, feature in features.items() if feature.type == "string"]
    why = (
        f'"{texts[0]}" holds strings, which cannot be joined with other features into one matrix'
        if texts
        else f"together they have {_width(list(features.values()))} values per row"
    )
    return InputError(
        f"The Keras model reads {inputs[0]}. None of the features {show_values(features, 20)} has this name, and "
        f"{why}.",
        "Give the model one input per feature, with the feature's name."
        if texts
        else "Give features with as many values as the model's input, or change the shape of the input.",
        argument="features",
        value=missing,
    )


def _check_types(item: KerasInput, features: Sequence[ColumnFacts]) -> None:
    for feature in features:
        if item.is_text == (feature.type == "string"):
            continue
        held, wanted = ("numbers", "strings") if item.is_text else ("strings", "numbers")
        raise InputError(
            f'The feature "{feature.name}" holds {held}, but the Keras model\'s input "{item.name}" reads {wanted}.',
            "Let the model look strings up, with an input of dtype string and a layer such as StringLookup."
            if wanted == "numbers"
            else "Give the feature as strings, with as.character().",
            argument="features",
            value=feature.name,
        )


def _check_shapes(item: KerasInput, features: Sequence[ColumnFacts]) -> None:
    if len(features) > 1:
        if item.shape[0] in (None, _width(features)):
            return
        held = f"{_width(features)} values per row together"
    else:
        if item.fits(features[0]):
            return
        held = f"{' x '.join(str(size) for size in features[0].shape) or 'one value'} per row"
    names = ", ".join(f'"{feature.name}"' for feature in features)
    raise InputError(
        f"The feature{'s' if len(features) > 1 else ''} {names} ha{'ve' if len(features) > 1 else 's'} {held}, "
        f"but the Keras model reads {item}.",
        "Give the model an input of the features' shape, or features of the input's.",
        argument="features",
        value=names,
    )
