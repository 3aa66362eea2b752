"""Programs as text, in Python or in R with the package keras3."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfdistribute.errors import UnsupportedError
from tfdistribute.models.conversion.program import Program, Result, Statement

LANGUAGES = ("R", "Python")
# Functions that count from 1 in R unless they are told not to.
_COUNTING = ("argmax", "one_hot")


def write_code(program: Program, training: Mapping[str, Any], language: str) -> str:
    """Write a program that makes a model, and trains it on ``features`` and ``labels``.

    Args:
        training: ``optimizer`` (a class and its settings), ``output``, ``loss`` (a class and its settings), ``weights``
            (whether rows have weights), and if needed, a ``factor`` of the loss and the ``scale`` of the response
            (arrays of means and standard deviations).
    """
    writer = _R() if language == "R" else _Python()
    lines = [*writer.head, *map(writer.statement, program.statements)]
    lines += writer.training(program, training)
    return "\n".join(lines) + "\n"


class _Writer:
    head: Sequence[str]
    true_false_none: tuple[str, str, str]
    # Templates.
    array: str
    list_of: str
    tuple_of: str
    mapping: str
    pair: str
    standardized: str

    def statement(self, statement: Statement) -> str:
        raise NotImplementedError

    def training(self, program: Program, training: Mapping[str, Any]) -> list[str]:
        raise NotImplementedError

    def number(self, value: float) -> str:
        return repr(value)

    def trained(self, training: Mapping[str, Any]) -> tuple[str, str, int]:
        scale = training.get("scale")
        labels = "labels" if scale is None else self.standardized.format(*map(self.value, scale))
        return self.value(training["output"]), labels, training.get("factor", 1)

    def value(self, value: Any) -> str:
        if isinstance(value, Result):
            return value.name
        if value is None or isinstance(value, bool):
            return self.true_false_none[2 if value is None else not value]
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, Mapping):
            return self.named(value)
        if isinstance(value, np.ndarray):
            return self.array.format(self.arguments(*value.tolist()))
        if isinstance(value, Sequence):
            template = self.tuple_of if isinstance(value, tuple) else self.list_of
            return template.format(self.arguments(*value))
        return self.number(value)

    def named(self, values: Mapping[str, Any]) -> str:
        pairs = (self.pair.format(self.value(k), self.value(v)) for k, v in values.items())
        return self.mapping.format(", ".join(pairs))

    def arguments(self, *values: Any, joined: str = "=", **settings: Any) -> str:
        named = [f"{name}{joined}{self.value(value)}" for name, value in settings.items()]
        return ", ".join([*map(self.value, values), *named])


class _Python(_Writer):
    head = ("import keras", "import numpy as np", "")
    true_false_none = ("True", "False", "None")
    array, list_of, tuple_of, mapping = "np.array([{}])", "[{}]", "({},)", "{{{}}}"
    pair, standardized = "{}: {}", "(labels - {}) / {}"

    def statement(self, statement: Statement) -> str:
        call = f"{statement.result.name} = keras.{_written(statement)}"
        if statement.is_layer:
            return f"{call}({self.arguments(**statement.settings)})({self.arguments(*statement.inputs)})"
        return f"{call}({self.arguments(*statement.inputs, **statement.settings)})"

    def training(self, program: Program, training: Mapping[str, Any]) -> list[str]:
        (optimizer, settings), (loss, of_loss) = training["optimizer"], training["loss"]
        output, labels, factor = self.trained(training)
        weights = ", sample_weight=weights" if training["weights"] else ""
        return [
            f"model = keras.Model({self.named(program.inputs)}, {self.named(program.outputs)})",
            "model.compile(",
            f"    optimizer=keras.optimizers.{optimizer}({self.arguments(**settings)}),",
            f"    loss={{{output}: keras.losses.{loss}({self.arguments(**of_loss)})}},",
            *([f"    loss_weights={{{output}: {factor}}},"] if factor != 1 else []),
            ")",
            f"model.fit(features, {{{output}: {labels}}}{weights})",
        ]


class _R(_Writer):
    head = ("library(keras3)", "")
    true_false_none = ("TRUE", "FALSE", "NULL")
    array, list_of, tuple_of, mapping = "array(c({}))", "list({})", "list({})", "list({})"
    pair, standardized = "{} = {}", "scale(labels, {}, {})"

    def statement(self, statement: Statement) -> str:
        module, _, name = _written(statement).rpartition(".")
        settings = dict(statement.settings)
        if name in _COUNTING:
            settings["zero_indexed"] = True
        prefix = {"layers": "layer", "ops": "op"}.get(module, "keras")
        call = f"{prefix}_{_snake_case(name)}"
        arguments = self.arguments(*statement.inputs, joined=" = ", **settings)
        return f"{statement.result.name} <- {call}({arguments})"

    def training(self, program: Program, training: Mapping[str, Any]) -> list[str]:
        (optimizer, settings), (loss, of_loss) = training["optimizer"], training["loss"]
        output, labels, factor = self.trained(training)
        weights = ", sample_weight = weights" if training["weights"] else ""
        made = f"optimizer_{_snake_case(optimizer)}({self.arguments(joined=' = ', **settings)})"
        factors = f", loss_weights = list({output} = {factor})" if factor != 1 else ""
        of_rows = f"loss_{_snake_case(loss)}({self.arguments(joined=' = ', **of_loss)})"
        return [
            f"model <- keras_model({self.named(program.inputs)}, {self.named(program.outputs)})",
            f"compile(model, optimizer = {made}, loss = list({output} = {of_rows}){factors})",
            f"fit(model, features, list({output} = {labels}){weights})",
        ]

    def number(self, value: float) -> str:
        return f"{value}L" if isinstance(value, int) else repr(value)


def _written(statement: Statement) -> str:
    if not isinstance(statement.function, str):
        raise UnsupportedError(
            f"The function {statement.settings['name']} cannot be written as code of Keras.",
            "Use as_keras_model(), which reads the function's operators.",
            argument="object",
            value=str(statement.settings["name"]),
        )
    return statement.function


def _snake_case(name: str) -> str:
    words = re.sub("([a-z])([A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\3_\2", name).lower()
    return {"rms_prop": "rmsprop", "rmsprop": "rmsprop"}.get(words, words)
