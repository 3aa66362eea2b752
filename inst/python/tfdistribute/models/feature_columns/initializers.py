"""Initializers of variables."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from tfdistribute import engine
from tfdistribute.callbacks import as_callable
from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.errors import ArgumentError

# Graph initializers: unlike Keras's, they use the run configuration's `tf_random_seed`.
InitializerName = Literal[
    "constant",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "lecun_normal",
    "lecun_uniform",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "truncated_normal",
    "variance_scaling",
    "zeros",
]


@dataclass(frozen=True)
class Initializer(Description):
    def build(self) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class NamedInitializer(Initializer, kind="named"):
    name: InitializerName
    # By TensorFlow's names.
    settings: Annotated[dict[str, Any], Fact.NAME] = field(default_factory=dict)

    def build(self) -> Any:
        make = getattr(engine.tf.compat.v1.initializers, self.name)
        try:
            return make(**self.settings)
        except TypeError as error:
            raise ArgumentError(
                f'`initializer` "{self.name}" cannot take {", ".join(sorted(self.settings))}: {error}.',
                "Use TensorFlow's names of its settings.",
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
                value=repr(self.function),
            )
        return function
