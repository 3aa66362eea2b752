"""Models whose steps the user writes; the verbs loop."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, cast

from tfdistribute import engine
from tfdistribute.callbacks import Callback, takes
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.errors import ModelError
from tfdistribute.models.custom import Custom, FunctionModel

_NEEDED = {
    "evaluate": "eval_step",
    "train_and_evaluate": "eval_step",
    "predict": "predict_step",
    "export_savedmodel": "predict_step",
}


@dataclass(frozen=True)
class TrainingLoop(FunctionModel, kind="training_loop"):
    """A model in the form of functions that build the graph of one step.

    They are called while the graph is built, once for each device and verb. TensorFlow then runs the graph at every
    step. A function gets only the arguments that it names.

    Args:
        model_dir: Directory of the model's checkpoints, a string. NULL uses the directory of `config`, or else a
            temporary directory. A relative path refers to the current working directory, even after [setwd()].
        train_step: Function (`parts`, `features`, `labels`, `step`) that returns a named list with `loss`, a scalar,
            and `train_op`, the return value of an optimizer's `apply_gradients()` or `minimize()`, or a list of
            several. Without `train_op`, the `optimizer` that `build` or this function returned minimizes the loss over
            all trainable variables. Further scalars become summaries for [TensorBoard][tensorboard]. `parts` is the
            return value of `build`, `step` is the global step, and `features` and `labels` are the same as in
            [estimator()].
        eval_step: Function (`parts`, `features`, `labels`) that returns a named list with `loss` and further metrics.
            Each metric has one of three forms: a tensor with a value for each example, whose mean over all rows is
            reported, a scalar, which counts as the mean of its batch, or a metric of `tf$compat$v1$metrics`. NULL for a
            model that is not evaluated.
        predict_step: Function (`parts`, `features`) that returns a tensor or a named list of tensors, with a row for
            each example. NULL for a model that does not predict.
        params: List of values for `build`, which gets it unchanged.
    """

    build_parts: Annotated[Callable[..., Any], Fact.CODE]
    train_step: Annotated[Callable[..., Any], Fact.CODE]
    eval_step: Annotated[Callable[..., Any] | None, Fact.CODE] = None
    predict_step: Annotated[Callable[..., Any] | None, Fact.CODE] = None
    params: Annotated[Any, Fact.CODE] = None

    def check_verb(self, verb: str) -> None:
        step = _NEEDED.get(verb)
        if step is not None and getattr(self, step) is None:
            raise ModelError(
                f"The training loop has no `{step}`, which {verb}() needs.",
                f"Give `{step}` to training_loop().",
                argument=step,
                value="NULL",
            )

    def build(self, config: Any) -> Any:
        shared = ("model_dir", "model_class", "loss_reduction", "warm_start_from")
        fields = {name: getattr(self, name) for name in shared}
        return Custom(model_fn=self._model_fn, **fields).build(config)

    def _model_fn(self, features: Any, labels: Any, mode: str) -> dict[str, Any]:
        parts = _call_with(self.build_parts, params=self.params)
        if mode == "infer":
            predicted = _call_with(_required(self.predict_step), parts=parts, features=features)
            return {"predictions": predicted}
        if mode == "eval":
            values = _call_with(
                _required(self.eval_step), parts=parts, features=features, labels=labels
            )
            return _evaluation(_named(values, "eval_step"), features)
        values = _call_with(
            self.train_step,
            parts=parts,
            features=features,
            labels=labels,
            step=engine.tf.compat.v1.train.get_or_create_global_step(),
        )
        return _training(_named(values, "train_step"), parts)

    def codes_label(self) -> bool:
        return isinstance(self.train_step, Callback)


def training_loop(
    build: Callable[..., Any],
    train_step: Callable[..., Any],
    eval_step: Callable[..., Any] | None = None,
    predict_step: Callable[..., Any] | None = None,
    *,
    model_dir: str,
    **fields: Any,
) -> TrainingLoop:
    """Describe a model by its steps: a ``TrainingLoop``, whose ``build_parts`` is ``build``."""
    return TrainingLoop(model_dir, build, train_step, eval_step, predict_step, **fields)


def _call_with(function: Callable[..., Any], **arguments: Any) -> Any:
    return function(**{name: value for name, value in arguments.items() if takes(function, name)})


def _required(function: Callable[..., Any] | None) -> Callable[..., Any]:
    # ``check_verb`` has rejected the verb otherwise.
    assert function is not None
    return function


def _named(values: Any, step: str) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise ModelError(
            f"`{step}` returned {type(values).__name__}, and its values have names.",
            "Return list(loss = ), with further values by name.",
        )
    found = dict(cast("Mapping[str, Any]", values))
    if found.get("loss") is None:
        raise ModelError(
            f"`{step}` returned no `loss`.", "Return list(loss = ).", argument="loss", value="NULL"
        )
    return found


def _training(values: dict[str, Any], parts: Any) -> dict[str, Any]:
    loss, train_op = values.pop("loss"), values.pop("train_op", None)
    optimizer = values.pop("optimizer", None)
    if train_op is None and optimizer is None and isinstance(parts, Mapping):
        optimizer = cast("Mapping[str, Any]", parts).get("optimizer")
    if train_op is None and optimizer is None:
        raise ModelError(
            "`train_step` returned no `train_op`, and `build` made no `optimizer`: nothing would be trained.",
            "Return the train_op of optimizer$apply_gradients(), or let `build` return an `optimizer`.",
            argument="train_op",
            value="NULL",
        )
    for name, value in values.items():
        engine.tf.compat.v1.summary.scalar(name, value)
    trained = {"optimizer": optimizer} if train_op is None else {"train_op": train_op}
    return {"loss": loss, **trained}


def _evaluation(values: dict[str, Any], features: Any) -> dict[str, Any]:
    tf = engine.tf
    rows = tf.cast(tf.shape(tf.nest.flatten(features)[0])[0], tf.float32)
    loss = tf.reduce_mean(values.pop("loss"))
    metrics = {name: _metric(value, rows) for name, value in values.items()}
    return {"loss": loss, "eval_metric_ops": metrics}


def _metric(value: Any, rows: Any) -> Any:
    if not engine.tf.is_tensor(value):
        # A metric of TensorFlow, or its value and update.
        return value
    # The mean over the rows of all batches, also where the last batch is smaller.
    weights = rows if value.shape.rank == 0 else 1.0
    return engine.tf.compat.v1.metrics.mean(value, weights=weights)
