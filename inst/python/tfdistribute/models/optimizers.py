"""Optimizer descriptions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tfdistribute import engine
from tfdistribute.callbacks import as_callable
from tfdistribute.descriptions import Description
from tfdistribute.errors import ArgumentError

# Settings of every optimizer.
COMMON_SETTINGS = (
    "learning_rate",
    "decay",
    "clipnorm",
    "clipvalue",
    "global_clipnorm",
    "l2_penalty",
)

# Lower-case names, with the legacy Keras class and its own settings.
OPTIMIZERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "adadelta": ("Adadelta", ("rho", "epsilon")),
    "adagrad": ("Adagrad", ("initial_accumulator_value", "epsilon")),
    "adam": ("Adam", ("beta_1", "beta_2", "epsilon", "amsgrad")),
    "adamax": ("Adamax", ("beta_1", "beta_2", "epsilon")),
    "ftrl": (
        "Ftrl",
        (
            "learning_rate_power",
            "initial_accumulator_value",
            "l1_regularization_strength",
            "l2_regularization_strength",
            "l2_shrinkage_regularization_strength",
            "beta",
        ),
    ),
    "nadam": ("Nadam", ("beta_1", "beta_2", "epsilon")),
    "rmsprop": ("RMSprop", ("rho", "momentum", "epsilon", "centered")),
    "sgd": ("SGD", ("momentum", "nesterov")),
}

# Settings that add variables to a checkpoint.
SLOT_SETTINGS = ("amsgrad", "centered", "momentum")


@dataclass(frozen=True)
class Optimizer(Description):
    """Description of an optimizer; TensorFlow needs a new one for each graph."""

    def factory(self, learning_rate: float | None) -> Callable[[], Any]:
        """Return the function that makes a new legacy Keras optimizer: each graph needs its own.

        ``learning_rate`` is the model's default, for an optimizer that sets none; None for Keras's default. Raises
        ArgumentError if TensorFlow refuses a setting, and ModelError if canned models do not support the optimizer.
        """
        raise NotImplementedError

    def structure(self) -> dict[str, Any]:
        """Describe the variables that the optimizer adds to a checkpoint."""
        raise NotImplementedError


@dataclass(frozen=True)
class NamedOptimizer(Optimizer, kind="named"):
    """An optimizer given by name, one of ``OPTIMIZERS`` in any case.

    ``settings`` are arguments by Keras's names, and ``l2_penalty``, a factor of the sum of the squared weights.
    ``learning_rate`` may be a mapping that describes a schedule: ``{"schedule": "exponential_decay",
    "initial_learning_rate": 0.1, ...}``.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name.lower() not in OPTIMIZERS:
            raise ArgumentError(
                f'`optimizer` "{self.name}" is not known.',
                f"Use one of {', '.join(sorted(OPTIMIZERS))}.",
                argument="optimizer",
                value=self.name,
            )
        known = (*COMMON_SETTINGS, *OPTIMIZERS[self.name.lower()][1])
        unknown = [setting for setting in self.settings if setting not in known]
        if unknown:
            raise ArgumentError(
                f'`optimizer` "{self.name}" has no setting `{unknown[0]}`.',
                f"Its settings are {', '.join(known)}.",
                argument="optimizer",
                value=unknown[0],
            )

    def factory(self, learning_rate: float | None) -> Callable[[], Any]:
        default = {} if learning_rate is None else {"learning_rate": learning_rate}
        settings = {**default, **self.settings}
        return engine.optimizers.factory_by_name(OPTIMIZERS[self.name.lower()][0], settings)

    def structure(self) -> dict[str, Any]:
        added = sorted(setting for setting in SLOT_SETTINGS if self.settings.get(setting))
        return {"name": self.name.lower(), "slots": added}


@dataclass(frozen=True)
class OptimizerInstance(Optimizer, kind="object"):
    """A Keras optimizer made in Python, legacy or new, or a function without arguments that makes one."""

    object: Any

    def factory(self, learning_rate: float | None) -> Callable[[], Any]:
        """Return a function that copies this optimizer; ModelError if there is no legacy one like it."""
        del learning_rate
        return engine.optimizers.factory_like(self.object)

    def structure(self) -> dict[str, Any]:
        if callable(self.object) or not hasattr(self.object, "get_config"):
            return {"name": "function", "slots": []}
        config = self.object.get_config()
        added = sorted(setting for setting in SLOT_SETTINGS if config.get(setting))
        return {"name": type(self.object).__name__.lower(), "slots": added}


@dataclass(frozen=True)
class OptimizerFunction(Optimizer, kind="function"):
    """A user function without arguments that makes an optimizer; anything else raises ArgumentError."""

    function: Any

    def __post_init__(self) -> None:
        function = as_callable(self.function, "optimizer")
        if function is None:
            raise ArgumentError(
                f"`optimizer` must be a function, not {self.function!r}.",
                'Give a name such as "adam", a list, or a function that returns an optimizer.',
                argument="optimizer",
                value=repr(self.function),
            )
        object.__setattr__(self, "function", function)

    def factory(self, learning_rate: float | None) -> Callable[[], Any]:
        del learning_rate
        return engine.optimizers.checked_factory(self.function)

    def structure(self) -> dict[str, Any]:
        """Return no variables: they depend on the function."""
        return {"name": "function", "slots": []}


# Defaults of canned models.
ADAGRAD = NamedOptimizer("adagrad")
FTRL = NamedOptimizer("ftrl")
