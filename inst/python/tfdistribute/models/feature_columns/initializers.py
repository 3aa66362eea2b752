"""Initializers of variables."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any

from tfdistribute import engine
from tfdistribute.callbacks import as_callable
from tfdistribute.descriptions import Description, check_choice
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.errors import ArgumentError

# Graph initializers: unlike Keras's, they use the run configuration's `tf_random_seed`.
NAMES = {
    "constant": "constant_initializer",
    "glorot_normal": "glorot_normal_initializer",
    "glorot_uniform": "glorot_uniform_initializer",
    "he_normal": "initializers.he_normal",
    "he_uniform": "initializers.he_uniform",
    "lecun_normal": "initializers.lecun_normal",
    "lecun_uniform": "initializers.lecun_uniform",
    "ones": "ones_initializer",
    "orthogonal": "orthogonal_initializer",
    "random_normal": "random_normal_initializer",
    "random_uniform": "random_uniform_initializer",
    "truncated_normal": "truncated_normal_initializer",
    "variance_scaling": "variance_scaling_initializer",
    "zeros": "zeros_initializer",
}


@dataclass(frozen=True)
class Initializer(Description):
    def build(self) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class NamedInitializer(Initializer, kind="named"):
    name: Annotated[str, Fact.NAME]
    settings: Annotated[dict[str, Any], Fact.NAME] = field(
        default_factory=dict
    )  # By TensorFlow's names.

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("initializer", self.name, NAMES)

    def build(self) -> Any:
        make = operator.attrgetter(NAMES[self.name])(engine.tf.compat.v1)
        try:
            return make(**self.settings)
        except TypeError as error:
            raise ArgumentError(
                f'`initializer` "{self.name}" cannot take {", ".join(sorted(self.settings))}: {error}.',
                "Use TensorFlow's names of its settings.",
                argument="initializer",
                value=self.name,
            ) from error


@dataclass(frozen=True)
class InitializerFunction(Initializer, kind="function"):
    function: Annotated[Any, Fact.CODE]

    def build(self) -> Any:
        function = as_callable(self.function, "initializer")
        if function is None:
            raise ArgumentError(
                f"`initializer` must be a function, not {self.function!r}.",
                'Give a name, a list such as list("truncated_normal", stddev = 0.1), or a function.',
                argument="initializer",
                value=repr(self.function),
            )
        return function
