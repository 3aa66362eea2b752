"""Members of Keras's classes that a user may define, and that Estimators do not call."""

from collections.abc import Iterable
from typing import Any

from tfdistribute.engine.keras.models import unusable

_STEPS = ("train_step", "test_step", "predict_step")
_FUNCTIONS = ("make_train_function", "make_test_function", "make_predict_function")
_NUMBERS = ("compute_loss", "compute_metrics", "get_metrics_result", "metrics", "reset_metrics")
_VERBS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
_OF_MODELS = (*_STEPS, *_NUMBERS, *_FUNCTIONS, *_VERBS)

_KERAS = ("keras", "tf_keras", "tensorflow")


def check(model: Any, unread: Iterable[str], of_optimizers: Iterable[str]) -> None:
    """Raise ModelError if the model or its optimizer defines a member that its Estimator does not call.

    ``unread`` are further members of models, and ``of_optimizers`` members of optimizers.
    """
    name = _own(model, (*_OF_MODELS, *unread))
    if name is not None:
        raise unusable(
            f"defines its own {name}, which an Estimator does not call",
            "Express it by layers and by the loss and the metrics of compile(), or write a model function: "
            "estimator(model_fn).",
            model,
        )
    name = _own(model.optimizer, of_optimizers)
    if name is not None:
        raise unusable(
            f"is compiled with {type(model.optimizer).__name__}, which defines its own {name}, which an Estimator does "
            "not call",
            "Compile the model with an optimizer of Keras, or with one that overrides update_step() only.",
            model,
        )


def check_metrics(model: Any, of_layers: Iterable[Any]) -> None:
    """Raise ModelError for a metric that a layer or ``add_metric()`` has made."""
    for metric in of_layers:
        raise unusable(
            f'has a layer with the metric "{metric.name}", which evaluate() would not return',
            "Give the metric to compile().",
            model,
        )


def _own(value: Any, names: Iterable[str]) -> str | None:
    return next((name for name in names if _is_own(value, name)), None)


def _is_own(value: Any, name: str) -> bool:
    if name in vars(value):
        return True
    definer = next((each for each in type(value).__mro__ if name in vars(each)), object)
    return definer is not object and definer.__module__.partition(".")[0] not in _KERAS
