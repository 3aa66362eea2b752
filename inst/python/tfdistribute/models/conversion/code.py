"""Programs as text, in Python, or in R, which calls the same functions of Keras with reticulate."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfdistribute.errors import UnsupportedError
from tfdistribute.models.conversion.program import Program, Result, Statement


@dataclass(frozen=True)
class _Language:
    head: str
    assign: str
    member: str
    setting: str
    constants: Mapping[Any, str]
    # Templates.
    whole: str
    array: str
    list_of: str
    tuple_of: str
    mapping: str
    pair: str
    standardized: str

    def call(self, function: str, *values: Any, **settings: Any) -> str:
        return f"{function.replace('.', self.member)}({self._arguments(*values, **settings)})"

    def statement(self, statement: Statement) -> str:
        function, inputs, settings = statement.function, statement.inputs, statement.settings
        if not isinstance(function, str):
            raise UnsupportedError(
                f"The function {settings['name']} cannot be written as code of Keras.",
                "Use as_keras_model(), which reads the function's operators.",
                argument="object",
                value=str(settings["name"]),
            )
        if statement.is_layer:
            made = f"{self.call(f'keras.{function}', **settings)}({self._arguments(*inputs)})"
        else:
            made = self.call(f"keras.{function}", *inputs, **settings)
        return f"{statement.result.name} {self.assign} {made}"

    def training(self, program: Program, training: Mapping[str, Any]) -> list[str]:
        def made(of: str) -> Result:
            kind, settings = training[of]
            return Result(self.call(f"keras.{kind}", **settings))

        output, scale, factor = (training.get(each) for each in ("output", "scale", "factor"))
        labels = "labels" if scale is None else self.standardized.format(*map(self._value, scale))
        loss = {"loss": {output: made("loss")}} | (
            {"loss_weights": {output: factor}} if factor else {}
        )
        weights = {"sample_weight": Result("weights")} if training["weights"] else {}
        model = self.call("keras.Model", program.inputs, program.outputs)
        return [
            f"model {self.assign} {model}",
            self.call("model.compile", optimizer=made("optimizer"), **loss),
            self.call("model.fit", Result("features"), {output: Result(labels)}, **weights),
        ]

    def _value(self, value: Any) -> str:
        if isinstance(value, Result):
            return value.name
        if value is None or isinstance(value, bool):
            return self.constants[value]
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, Mapping) and value:
            pairs = (self.pair.format(self._value(k), self._value(v)) for k, v in value.items())
            return self.mapping.format(", ".join(pairs))
        if isinstance(value, Mapping):
            return self.constants[()]
        if isinstance(value, np.ndarray):
            return self.array.format(self._arguments(*value.tolist()))
        if isinstance(value, Sequence):
            template = self.tuple_of if isinstance(value, tuple) else self.list_of
            return template.format(self._arguments(*value))
        return self.whole.format(value) if isinstance(value, int) else repr(value)

    def _arguments(self, *values: Any, **settings: Any) -> str:
        named = (f"{name}{self.setting}{self._value(value)}" for name, value in settings.items())
        return ", ".join([*map(self._value, values), *named])


LANGUAGES = {
    "R": _Language(
        head='keras <- reticulate::import("keras")',
        assign="<-",
        member="$",
        setting=" = ",
        # A list without values would become a list in Python.
        constants={True: "TRUE", False: "FALSE", None: "NULL", (): "reticulate::dict()"},
        whole="{}L",
        array="array(c({}))",
        list_of="list({})",
        tuple_of="list({})",
        mapping="list({})",
        pair="{} = {}",
        standardized="scale(labels, {}, {})",
    ),
    "Python": _Language(
        head="import keras\nimport numpy as np",
        assign="=",
        member=".",
        setting="=",
        constants={True: "True", False: "False", None: "None", (): "{}"},
        whole="{}",
        array="np.array([{}])",
        list_of="[{}]",
        tuple_of="({},)",
        mapping="{{{}}}",
        pair="{}: {}",
        standardized="(labels - {}) / {}",
    ),
}


def write_code(program: Program, training: Mapping[str, Any], language: str) -> str:
    """Write a program that makes a model, and trains it on ``features`` and ``labels``.

    Args:
        training: ``optimizer`` and ``loss`` (a class and its settings), ``output``, ``weights`` (whether rows have
            weights), and if needed, a ``factor`` of the loss and the ``scale`` of the response (arrays of means and
            standard deviations).
    """
    of = LANGUAGES[language]
    lines = [of.head, "", *map(of.statement, program.statements), *of.training(program, training)]
    return "\n".join(lines) + "\n"
