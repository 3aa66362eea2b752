"""Calls of Keras as plain statements, which make a functional model, and the weights of its layers."""

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfdistribute.errors import UnsupportedError

Read = Callable[[str], Any]  # Reads a variable of a checkpoint.


@dataclass(frozen=True)
class Result:
    """The tensor that a statement makes."""

    name: str


@dataclass(frozen=True)
class Statement:
    """A call of a function below ``keras``, or of a user's function, on ``inputs``.

    A layer is made with ``settings`` and called on its only input.
    """

    result: Result
    function: Any
    inputs: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_layer(self) -> bool:
        return str(self.function).startswith("layers.")


@dataclass(frozen=True)
class Encoder:
    """The numbers of a feature's values, for an input of a portable program in place of the feature."""

    feature: str
    numbers: Mapping[Any, int]
    default: int


class Program:
    """Statements in order, the model's inputs by feature, and its outputs by name.

    Args:
        is_portable: Whether to use only operations that ONNX has.
        features: Names that no other input and no layer may have.

    Attributes:
        names: Names of features, other inputs and layers, each of which Keras and ONNX need once.
    """

    def __init__(self, is_portable: bool = False, features: Collection[str] = ()) -> None:
        self.is_portable = is_portable
        self.names = set(features)
        self.statements: list[Statement] = []
        self.inputs: dict[str, Result] = {}
        self.outputs: dict[str, Result] = {}
        self.encoders: dict[str, Encoder] = {}
        self.weights: dict[str, Callable[[Read], list[Any]]] = {}

    def input(self, feature: str, dtype: str, width: int) -> Result:
        settings = {"shape": (width,), "dtype": dtype, "name": feature}
        self.inputs[feature] = self._add(f"input_{feature}", "Input", (), settings)
        return self.inputs[feature]

    def encoded(
        self, feature: str, width: int, vocabulary: Sequence[Any], missing: Any, default: int
    ) -> Result:
        name = self._unused(f"{feature}_{len(self.encoders)}")
        numbers = {missing: 0} | {value: number for number, value in enumerate(vocabulary, 1)}
        self.encoders[name] = Encoder(feature, numbers, default)
        return self.input(name, "int64", width)

    def op(self, function: str, *inputs: Any, **settings: Any) -> Result:
        return self._add(function, f"ops.{function}", inputs, settings)

    def layer(
        self,
        kind: str,
        source: Result | Sequence[Result],
        weights: Callable[[Read], list[Any]] | None = None,
        **settings: Any,
    ) -> Result:
        if "name" in settings:
            settings["name"] = self._unused(settings["name"])
        if weights is not None:
            self.weights[settings["name"]] = weights
        words = "_".join(re.findall("[A-Z]+[a-z]+", kind)).lower()
        return self._add(settings.get("name", words), f"layers.{kind}", (source,), settings)

    def user_function(self, function: Callable[..., Any], source: Result, name: str) -> Result:
        return self._add(name, function, (source,), {"name": name})

    def concatenate(self, parts: Sequence[Result]) -> Result:
        return parts[0] if len(parts) == 1 else self.layer("Concatenate", list(parts))

    def add(self, parts: Sequence[Result]) -> Result:
        return parts[0] if len(parts) == 1 else self.layer("Add", list(parts))

    def make_model(self, keras: Any) -> Any:
        made: dict[Result, Any] = {}
        for each in self.statements:
            inputs = [_value(value, made) for value in each.inputs]
            made[each.result] = _perform(keras, each, inputs)
        inputs, outputs = (
            {name: made[result] for name, result in results.items()}
            for results in (self.inputs, self.outputs)
        )
        return keras.Model(inputs, outputs)

    def set_weights(self, model: Any, read: Read) -> None:
        for name, weights in self.weights.items():
            layer = model.get_layer(name)
            pairs = zip(weights(read), layer.weights, strict=True)
            layer.set_weights([value.reshape(weight.shape) for value, weight in pairs])

    def _unused(self, name: str) -> str:
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    def _add(
        self, hint: str, function: Any, inputs: tuple[Any, ...], settings: Mapping[str, Any]
    ) -> Result:
        base = name = re.sub(r"\W", "_", hint)
        taken, number = {each.result.name for each in self.statements}, 1
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        self.statements.append(Statement(Result(name), function, inputs, settings))
        return Result(name)


def _value(value: Any, made: Mapping[Result, Any]) -> Any:
    if isinstance(value, list):
        return [_value(each, made) for each in value]
    return made[value] if isinstance(value, Result) else value


def _perform(keras: Any, statement: Statement, inputs: list[Any]) -> Any:
    if callable(statement.function):
        return _call_user(statement.function, inputs[0], statement.settings["name"])
    function = operator.attrgetter(statement.function)(keras)
    if statement.is_layer:
        return function(**statement.settings)(*inputs)
    return function(*inputs, **statement.settings)


def _call_user(function: Callable[..., Any], tensor: Any, name: str) -> Any:
    try:
        returned = function(tensor)
        if isinstance(returned, type(tensor)):
            return returned
        reason = f"it returned an object of class {type(returned).__name__}"
    except Exception as error:  # noqa: BLE001 - whatever a user's function raises on Keras's tensors
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    raise UnsupportedError(
        f"The function {name} is not arithmetic that Keras can read: {reason}",
        "Use `center` and `scale` of column_numeric() or a named `activation_fn` instead, or export_savedmodel().",
        argument=name,
    )
