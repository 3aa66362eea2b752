"""Existing Estimators, from tfestimators or user code."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from tfdistribute import engine
from tfdistribute.columns import InputFacts
from tfdistribute.descriptions.constraints import Fact, MayDiffer
from tfdistribute.errors import ArgumentError, UnsupportedError
from tfdistribute.models.description import Model

_COMPARED = "The functions and values that it was made from are compared."


@dataclass(frozen=True)
class Wrapped(Model, kind="wrapped"):
    """An existing Estimator, which no other process can get and whose features are unknown."""

    estimator: Annotated[Any, Fact.CODE, MayDiffer(_COMPARED)] = (
        None  # Not changed; verbs use a repaired copy.
    )
    keeps_config: bool = True  # Whether the copy keeps the Estimator's configuration.
    calls_r: bool = False

    def __post_init__(self) -> None:
        # Any other object has no directory, either.
        if not engine.existing_estimators.is_estimator(self.estimator):
            class_name = type(self.estimator).__name__
            raise ArgumentError(
                f"`object` must be a tf.estimator.Estimator, not {class_name}.",
                "Give an Estimator, or an object of tfestimators that holds one.",
                value=class_name,
            )
        super().__post_init__()

    def content(self) -> Mapping[str, Any]:
        return engine.existing_estimators.parts_of(self.estimator)

    def build(self, config: Any) -> Any:
        own = engine.existing_estimators.own_config(self.estimator) if self.keeps_config else config
        return engine.existing_estimators.copy(self.estimator, own, self.calls_r)

    def own_settings(self) -> dict[str, Any]:
        if not self.keeps_config:
            return {}
        names = ("save_summary_steps", "log_step_count_steps")
        return {name: getattr(self.estimator.config, name) for name in names}

    def check(self, facts: InputFacts, needs_label: bool = True) -> None: ...

    def check_micro_batches(self) -> None:
        raise UnsupportedError(
            "`micro_batches` is not supported for an existing Estimator: whether its loss is a mean or a sum over the "
            "examples is not known.",
            "Describe the model with this package, such as dnn_regressor() or estimator().",
        )

    def structure(self) -> dict[str, Any]:
        return {"kind": self.kind}

    def is_v1_canned(self) -> bool:
        return engine.existing_estimators.kind_of(self.estimator) == "v1_canned"

    def has_callbacks(self) -> bool:
        return self.calls_r

    def has_functions(self) -> bool:
        return True
