"""Models whose function the user writes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tfdistribute import engine
from tfdistribute.callbacks import takes
from tfdistribute.columns import InputFacts
from tfdistribute.errors import ModelError
from tfdistribute.models.description import MakeHooks, Model
from tfdistribute.models.specification import as_specification
from tfdistribute.models.warm_start import WarmStart

LOSS_REDUCTIONS = ("sum_over_batch_size", "sum")
PARAMETERS = ("features", "labels", "mode", "params", "config")


def _no_hooks(hooks: Sequence[Any], mode: str) -> list[Any]:
    del mode
    return list(hooks)


@dataclass(frozen=True)
class Custom(Model, kind="custom"):
    """A model function of the user, written for one device.

    Under a strategy each device runs it on its share of the batch. A function of R is called on R's own thread; a
    Python function on TensorFlow's threads.

    Args:
        model_dir: Directory of the model's checkpoints.
        model_fn: Function that takes some of ``features``, ``labels``, ``mode`` ("train", "eval" or "infer"),
            ``params`` and ``config`` (a ``tf.estimator.RunConfig``), by name, and returns what
            ``models.specification`` reads.
        params: What the function gets as ``params``.
        model_class: Names that tell this model from others, in R and in its checkpoints.
        loss_reduction: "sum_over_batch_size" where the loss is the mean over the examples that the function sees;
            "sum" where it is a sum over them, or a mean that the function divided by the number of replicas, as
            ``tf.nn.compute_average_loss`` does.
        warm_start_from: What the first training begins with, or None for new variables.

    Raises:
        ModelError: the function takes no features, or needs what nobody gives it.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#args_1
    """

    model_fn: Callable[..., Any]
    params: Any = None
    model_class: tuple[str, ...] = ()
    loss_reduction: str = "sum_over_batch_size"
    warm_start_from: WarmStart | None = None

    _make_hooks: ClassVar[MakeHooks] = staticmethod(_no_hooks)

    def __post_init__(self) -> None:
        """Refuse what no data could make right."""
        if self.loss_reduction not in LOSS_REDUCTIONS:
            raise ModelError(
                f'`loss_reduction` "{self.loss_reduction}" is not known.',
                f"Use one of {', '.join(LOSS_REDUCTIONS)}.",
                argument="loss_reduction",
                value=self.loss_reduction,
            )
        if not takes(self.model_fn, "features"):
            raise ModelError(
                "`model_fn` has no argument `features`.",
                f"Let it take some of {', '.join(PARAMETERS)}, and features among them.",
                argument="model_fn",
            )

    def with_session_hooks(self, make: MakeHooks) -> Model:
        """Let hooks that the model function describes be made by this function."""
        # No field: it is no part of the description.
        completed = copy.copy(self)
        object.__setattr__(completed, "_make_hooks", make)
        return completed

    def build(self, config: Any) -> Any:
        """Make the Estimator."""

        # Estimator asks for these names.
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            return self._called(features, labels, mode, config)

        start = None if self.warm_start_from is None else self.warm_start_from.build()
        estimator = engine.tf.estimator.Estimator(
            model_fn, model_dir=self.model_dir, config=config, warm_start_from=start
        )
        options = engine.estimator.EstimatorOptions(
            loss_is_mean=self.loss_reduction != "sum", reports_mean_loss=True
        )
        return engine.estimator.adopt(estimator, options)

    def _called(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
        arguments = (features, labels, mode, self.params, config)
        given = {
            name: value
            for name, value in zip(PARAMETERS, arguments, strict=True)
            if takes(self.model_fn, name)
        }
        returned = self.model_fn(**given)
        return as_specification(returned, mode, lambda hooks: self._make_hooks(hooks, mode))

    def check(self, facts: InputFacts, needs_label: bool = True) -> None:
        """See nothing: what the function reads is its own."""

    def structure(self) -> dict[str, Any]:
        """Describe the kind and the names that tell models apart; the function itself cannot be compared."""
        return {"kind": self.kind, "class": list(self.model_class)}
