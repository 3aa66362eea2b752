"""User functions that return a ``tf.data.Dataset``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, cast

from tfdistribute import engine
from tfdistribute.callbacks import takes
from tfdistribute.columns import InputFacts
from tfdistribute.descriptions.constraints import ValuesMayDiffer
from tfdistribute.errors import InputError
from tfdistribute.inputs.description import Input, InputFunction, Purpose, ShardOrder
from tfdistribute.sharding import InputContext


@dataclass(frozen=True)
class DatasetFunction(Input, kind="dataset_function"):
    """A function that returns a dataset.

    The dataset is not sharded, shuffled or repeated: each batch goes to one replica. With several workers the function
    must read only its own share, which an optional parameter ``input_context`` describes.
    """

    function: Annotated[
        Callable[..., Any],
        ValuesMayDiffer("It may name files with this task's share of the rows."),
    ]

    def facts(self) -> InputFacts:
        return InputFacts()

    def shard_order(self) -> ShardOrder:
        return "own" if takes(self.function, "input_context") else "none"

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, packed: bool = False
    ) -> InputFunction:
        function = self.function
        with_context = takes(function, "input_context")

        def dataset_function_input(input_context: InputContext | None = None) -> Any:
            result = function(input_context=input_context) if with_context else function()
            _check(result, in_strategy=input_context is not None)
            return _as_pair(result)

        return dataset_function_input


def _as_pair(result: Any) -> Any:
    is_dataset = isinstance(result, engine.tf.data.Dataset)
    parts = result.element_spec if is_dataset else result
    if not isinstance(parts, Mapping) or set(parts) != {"features", "labels"}:
        return result
    return result.map(_pair) if is_dataset else _pair(result)


def _pair(parts: Any) -> Any:
    return parts["features"], parts["labels"]


def _check(result: Any, in_strategy: bool) -> None:
    if isinstance(result, engine.tf.data.Dataset):
        return
    leaves = engine.tf.nest.flatten(result)
    tensors = bool(leaves) and all(engine.tf.is_tensor(leaf) for leaf in leaves)
    if tensors and not in_strategy:
        return
    what = "tensors" if tensors else _name(result)
    reason = ", and a distribution strategy cannot divide those" if tensors else ""
    raise InputError(
        f"The input function returned {what} instead of a tf.data.Dataset{reason}.",
        "Return a dataset of batches, such as "
        "tf$data$Dataset$from_tensor_slices(list(features = features, labels = labels))$batch(32L).",
        argument="input_fn",
        value=what,
    )


def _name(result: Any) -> str:
    if result is None:
        return "nothing"
    kind = type(cast(object, result))
    return f"an object of class {kind.__module__}.{kind.__qualname__}"
