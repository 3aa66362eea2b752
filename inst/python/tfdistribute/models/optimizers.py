"""Optimizer descriptions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from tfdistribute import engine
from tfdistribute.callbacks import as_callable
from tfdistribute.descriptions import Description, check_choice
from tfdistribute.descriptions.constraints import Expected, Fact, Ge
from tfdistribute.descriptions.fields import Field
from tfdistribute.errors import ArgumentError

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

# Types of settings; other ones are numbers of at least 0.
_TYPES: dict[str, Any] = {
    "amsgrad": bool,
    "centered": bool,
    "nesterov": bool,
    "learning_rate": Annotated[
        Annotated[float, Ge(0)] | dict[str, Any],
        Expected('a number of at least 0, or a list such as list("exponential_decay", ...)'),
    ],
    # FTRL lowers the rate by a power of at most 0.
    "learning_rate_power": float,
}

# Settings that add variables to a checkpoint.
SLOT_SETTINGS = ("amsgrad", "centered", "momentum")


def settings_of(name: str) -> dict[str, Field]:
    """Return the settings of an optimizer as fields, which R checks, too."""
    settings = (*COMMON_SETTINGS, *OPTIMIZERS[name][1])
    return {each: Field(each, _TYPES.get(each, Annotated[float, Ge(0)])) for each in settings}


@dataclass(frozen=True)
class Optimizer(Description):
    def factory(self, learning_rate: float | None) -> Callable[[], Any]:
        """Return the function that makes a new legacy Keras optimizer, as each graph needs one.

        ``learning_rate`` replaces a missing one; None for Keras's default. ArgumentError if TensorFlow rejects a
        setting, and ModelError if canned models do not support the optimizer.
        """
        raise NotImplementedError

    def structure(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True)
class NamedOptimizer(Optimizer, kind="named"):
    """An optimizer by name, one of ``OPTIMIZERS`` in any case.

    ``settings`` have Keras's names, and ``l2_penalty`` is a factor of the sum of the squared weights. A schedule is a
    mapping such as ``{"schedule": "exponential_decay", "initial_learning_rate": 0.1, ...}``.
    """

    name: Annotated[str, Fact.NAME]
    settings: Annotated[dict[str, Any], Fact.NAME] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("optimizer", self.name.lower(), OPTIMIZERS)
        settings = settings_of(self.name.lower())
        unknown = [setting for setting in self.settings if setting not in settings]
        if unknown:
            raise ArgumentError(
                f'`optimizer` "{self.name}" has no setting `{unknown[0]}`.',
                f"Its settings are {', '.join(settings)}.",
                value=unknown[0],
            )
        for name, value in self.settings.items():
            # A schedule of Keras is called.
            if not callable(value):
                settings[name].read(value)

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

    object: Annotated[Any, Fact.CODE]

    def factory(self, learning_rate: float | None) -> Callable[[], Any]:
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

    function: Annotated[Any, Fact.CODE]

    def __post_init__(self) -> None:
        super().__post_init__()
        function = as_callable(self.function, "optimizer")
        if function is None:
            raise ArgumentError(
                f"`optimizer` must be a function, not {self.function!r}.",
                'Give a name such as "adam", a list, or a function that returns an optimizer.',
                value=repr(self.function),
            )
        object.__setattr__(self, "function", function)

    def factory(self, learning_rate: float | None) -> Callable[[], Any]:
        return engine.optimizers.checked_factory(self.function)

    def structure(self) -> dict[str, Any]:
        return {"name": "function", "slots": []}


# Defaults of canned models.
ADAGRAD = NamedOptimizer("adagrad")
FTRL = NamedOptimizer("ftrl")
