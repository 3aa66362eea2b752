"""EstimatorSpecs from the results of model functions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.errors import ModelError
from tfdistribute.models.optimizers import Optimizer, OptimizerFunction, OptimizerInstance

# Fields that hold hooks, by mode.
HOOKS = {
    "train": ("training_hooks", "training_chief_hooks"),
    "eval": ("evaluation_hooks",),
    "infer": ("prediction_hooks",),
}
ALL_HOOKS = tuple(name for names in HOOKS.values() for name in names)
# Fields of TensorFlow's EstimatorSpec, and `optimizer`, which replaces `train_op`.
FIELDS = (
    "mode",
    "predictions",
    "loss",
    "train_op",
    "optimizer",
    "eval_metric_ops",
    "export_outputs",
    "scaffold",
    *ALL_HOOKS,
)
REMEDY = "Return estimator_spec(mode, ...), or list(loss = , predictions = , optimizer = )."

MakeHooks = Callable[[Sequence[Any]], list[Any]]


def make_estimator_spec(returned: Any, mode: str, make_hooks: MakeHooks) -> Any:
    """Make TensorFlow's EstimatorSpec from an EstimatorSpec, or from a mapping with some of ``FIELDS``.

    The train_op increments the step. ``optimizer`` in its place minimizes the loss after the collected updates.
    """
    if isinstance(returned, engine.tf.estimator.EstimatorSpec):
        if mode == "train":
            return returned._replace(train_op=engine.model_graphs.count_steps(returned.train_op))
        return returned
    if not isinstance(returned, Mapping):
        raise ModelError(f"model_fn returned {_name(returned)}.", REMEDY)
    fields = dict(cast("Mapping[str, Any]", returned))
    _check(fields, mode)
    optimizer = fields.pop("optimizer", None)
    if mode == "train":
        fields["train_op"] = _train_op(fields, optimizer)
    fields["eval_metric_ops"] = _metrics(fields.get("eval_metric_ops"))
    for name in ALL_HOOKS:
        hooks = fields.pop(name, None)
        fields[name] = make_hooks(_listed(hooks)) if name in HOOKS[mode] else []
    try:
        return engine.tf.estimator.EstimatorSpec(**{**fields, "mode": mode})
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"model_fn returned a specification that TensorFlow rejects: {error}",
            "Correct what model_fn returns.",
        ) from error


def _check(fields: Mapping[str, Any], mode: str) -> None:
    unknown = [name for name in fields if name not in FIELDS]
    if unknown:
        raise ModelError(
            f"model_fn returned `{unknown[0]}`, which is not a field of a specification.",
            f"Use only {', '.join(FIELDS)}.",
            argument=unknown[0],
        )
    if fields.get("mode") not in (None, mode):
        raise ModelError(
            f'model_fn was called with mode "{mode}" and returned a specification of mode "{fields["mode"]}".',
            "Give estimator_spec() the `mode` that model_fn was called with.",
            argument="mode",
            value=str(fields["mode"]),
        )
    needed = {"train": "loss", "eval": "loss", "infer": "predictions"}[mode]
    if fields.get(needed) is None:
        raise ModelError(
            f'model_fn returned no `{needed}` in mode "{mode}".',
            f"Return `{needed}` if mode is {mode!r}.",
            argument=needed,
            value="NULL",
        )
    if mode != "infer":
        engine.losses.check_one_number(fields["loss"])


def _train_op(fields: Mapping[str, Any], optimizer: Any) -> Any:
    train_op = fields.get("train_op")
    if (train_op is None) == (optimizer is None):
        both = "neither" if train_op is None else "both"
        raise ModelError(
            f"model_fn returned {both} of `train_op` and `optimizer`, of which training needs one.",
            'Give `optimizer`, such as "adam", or the `train_op` that your own optimizer made.',
            argument="train_op",
        )
    if train_op is None:
        train_op = engine.model_graphs.minimize(_new_optimizer(optimizer), fields["loss"])
    return engine.model_graphs.count_steps(train_op)


def _new_optimizer(value: Any) -> Any:
    described = _read_optimizer(value)
    tensorflow_1 = engine.tf.compat.v1.train.Optimizer
    if isinstance(described, OptimizerInstance) and isinstance(described.object, tensorflow_1):
        return described.object
    if isinstance(described, OptimizerFunction):
        made = described.function()
        if isinstance(made, tensorflow_1):
            return made
    return described.factory(None)()


def _read_optimizer(value: Any) -> Optimizer:
    if isinstance(value, Optimizer):
        return value
    if isinstance(value, str):
        return read(Optimizer, {"kind": "named", "name": value})
    if isinstance(value, Mapping):
        return read(Optimizer, cast("Mapping[str, Any]", value))
    is_function = callable(value) and not hasattr(value, "get_config")
    return OptimizerFunction(value) if is_function else OptimizerInstance(value)


def _metrics(metrics: Any) -> dict[str, Any] | None:
    if not metrics:
        return None
    if not isinstance(metrics, Mapping):
        raise ModelError(
            f"`eval_metric_ops` is {_name(metrics)}, and metrics have names.",
            "Give it as list(accuracy = tf$compat$v1$metrics$accuracy(labels, classes)).",
        )
    for name, metric in cast("Mapping[str, Any]", metrics).items():
        if isinstance(metric, Mapping) or (callable(metric) and not hasattr(metric, "result")):
            raise ModelError(
                f"The metric `{name}` is a function, which TensorFlow cannot call while it evaluates.",
                "Give what a function of tf$compat$v1$metrics returns, such as "
                "tf$compat$v1$metrics$mean(tf$abs(labels - predicted)).",
                argument="eval_metric_ops",
                value=str(name),
            )
    # R turns TensorFlow's (value, update) pairs into lists.
    return {
        str(name): tuple(cast("list[Any]", metric)) if isinstance(metric, list) else metric
        for name, metric in cast("Mapping[str, Any]", metrics).items()
    }


def _listed(hooks: Any) -> list[Any]:
    if hooks is None:
        return []
    return list(cast("Sequence[Any]", hooks)) if isinstance(hooks, (list, tuple)) else [hooks]


def _name(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, (list, tuple)):
        return "a list without names"
    kind = type(value)
    return f"an object of class {kind.__module__}.{kind.__qualname__}"
