"""Models with a user-defined model function."""

import copy
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tfdistribute import engine
from tfdistribute.callbacks import Callback, takes
from tfdistribute.columns import InputFacts
from tfdistribute.descriptions.constraints import Fact, Text
from tfdistribute.errors import ModelError
from tfdistribute.models.description import LossReduction, MakeHooks, Model
from tfdistribute.models.specification import make_estimator_spec
from tfdistribute.models.warm_start import WarmStart

PARAMETERS = ("features", "labels", "mode", "params", "config")


@dataclass(frozen=True, kw_only=True)
class FunctionModel(Model):
    """A model of a user's functions.

    ``loss_reduction`` is "sum" also for a mean over all replicas, as ``tf.nn.compute_average_loss`` returns.

    Args:
        loss_reduction: How `model_fn` reduces the loss on each device. `"sum_over_batch_size"` (default) is for the
            mean over the device's examples, as in code for one device. `"sum"` is for their sum, or for a mean that the
            function has divided by the number of devices, as in `tf$nn$compute_average_loss()`.
        warm_start_from: Initial weights of the first training, as in [linear_regressor()]: a path, an estimator or a
            list. NULL for new variables.
    """

    model_class: Annotated[tuple[Text, ...], Fact.NAME] = ()
    loss_reduction: LossReduction = "sum_over_batch_size"
    warm_start_from: WarmStart | None = None

    def check_micro_batches(self) -> None:
        if self.loss_reduction == "sum":
            raise ModelError(
                '`micro_batches` needs a loss that is a mean over examples, and `loss_reduction` is "sum".',
                "Return the mean over the examples that the function sees, with "
                'loss_reduction = "sum_over_batch_size".',
                argument="loss_reduction",
                value=self.loss_reduction,
            )

    def coded_features(self, factors: Collection[str]) -> set[str]:
        """Return all factors if the functions are R's, which has factors of its own; none for Python functions."""
        return set(factors) if self.codes_label() else set()

    def check(self, facts: InputFacts, needs_label: bool = True) -> None: ...

    def structure(self) -> dict[str, Any]:
        return {"kind": self.kind, "class": list(self.model_class)}


@dataclass(frozen=True)
class Custom(FunctionModel, kind="custom"):
    """A user-defined model function for one device.

    It takes some of ``features``, ``labels``, ``mode`` ("train", "eval" or "infer"), ``params`` and ``config``, and
    returns an argument of ``specification.make_estimator_spec``. R functions run on R's own thread.

    Args:
        model_dir: Directory of the model's checkpoints, a string. NULL uses the directory of `config`, or else a
            temporary directory. A relative path refers to the current working directory, even after [setwd()].
        params: List of values for `model_fn`. An R function gets it unchanged, without conversion to Python.
    """

    model_fn: Annotated[Callable[..., Any], Fact.CODE]
    params: Annotated[Any, Fact.CODE] = None

    _make_hooks: ClassVar[MakeHooks] = staticmethod(lambda hooks, mode: list(hooks))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not takes(self.model_fn, "features"):
            raise ModelError(
                "`model_fn` has no argument `features`.",
                f"Its arguments can be {', '.join(PARAMETERS)}; `features` is required.",
            )

    def with_session_hooks(self, make: MakeHooks) -> Model:
        # Not a field, since it is not part of the description.
        completed = copy.copy(self)
        object.__setattr__(completed, "_make_hooks", make)
        return completed

    def build(self, config: Any) -> Any:
        # Estimator requires these parameter names.
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            return self._call(features, labels, mode, config)

        start = None if self.warm_start_from is None else self.warm_start_from.build()
        estimator = engine.tf.estimator.Estimator(
            model_fn, model_dir=self.model_dir, config=config, warm_start_from=start
        )
        options = engine.estimator.EstimatorOptions(
            loss_is_mean=self.loss_reduction != "sum", reports_mean_loss=True
        )
        return engine.estimator.adopt(estimator, options)

    def _call(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
        arguments = (features, labels, mode, self.params, config)
        given = {
            name: value
            for name, value in zip(PARAMETERS, arguments, strict=True)
            if takes(self.model_fn, name)
        }
        returned = self.model_fn(**given)
        return make_estimator_spec(returned, mode, lambda hooks: self._make_hooks(hooks, mode))

    def codes_label(self) -> bool:
        return isinstance(self.model_fn, Callback)
