"""Datasets of a session, sent to every process as their graphs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from tfdistribute import engine
from tfdistribute.columns import InputFacts
from tfdistribute.descriptions.constraints import MayDiffer
from tfdistribute.errors import InputError
from tfdistribute.inputs.description import Input, InputFunction, Purpose, ShardOrder
from tfdistribute.sharding import InputContext, Shard

_FUNCTION = "Make it in a function: input_dataset(function() ...), with all that it uses."


@dataclass(frozen=True)
class SerializedDataset(Input, kind="serialized_dataset"):
    """A ``tf.data.Dataset`` of global batches. Each replica gets its part of the rows of every batch."""

    # From ``engine.datasets.to_graph``; its elements are the features in their order, then the response.
    graph: Annotated[
        str, MayDiffer("Processes number its functions differently; operations are compared.")
    ]
    features: tuple[str, ...]
    response: str | None = None

    def facts(self) -> InputFacts:
        return InputFacts()

    def content(self) -> Mapping[str, Any]:
        return {"operations": engine.datasets.operation_types(self.graph)}

    def shard_order(self) -> ShardOrder:
        return "turns"

    def input_fn(
        self, purpose: Purpose, seed: int | None = None, packed: bool = False
    ) -> InputFunction:
        def serialized_input(input_context: InputContext | None = None) -> Any:
            dataset = engine.datasets.from_graph(self.graph)
            shard = Shard.of(input_context)
            if shard.in_turns:
                dataset = dataset.shard(shard.pipelines, shard.pipeline)
            elif shard.replicas > 1:
                dataset = dataset.flat_map(lambda *values: _slices(values, shard))
            return engine.step.replica_scale.map_batches(
                dataset, lambda *values: self._named(values, purpose)
            )

        return serialized_input

    def _named(self, values: tuple[Any, ...], purpose: Purpose) -> Any:
        features = dict(zip(self.features, values, strict=False))
        return features if self.response is None or purpose == "predict" else (features, values[-1])


def column_names(dataset: Any) -> list[str]:
    spec = dataset.element_spec
    if not isinstance(spec, Mapping):
        raise InputError(
            "The elements of the dataset are not named tensors.",
            "Give a dataset of named columns, or a function that returns this one to input_dataset().",
            argument="object",
            value=str(spec),
        )
    return list(spec)


def serialize(dataset: Any, features: tuple[str, ...], response: str | None) -> str:
    """Return columns of an eager dataset of this session as ``SerializedDataset.graph``.

    Raises InputError if it belongs to a graph, calls functions of this session, or has columns that are not batches of
    dense tensors.
    """
    tf = engine.tf
    if not tf.executing_eagerly():
        raise InputError("The dataset was made in a graph.", _FUNCTION, argument="object")
    chosen = [*features, *([] if response is None else [response])]
    for name in chosen:
        column = dataset.element_spec[name]
        if not isinstance(column, tf.TensorSpec) or column.shape.rank == 0:
            raise InputError(
                f"The column `{name}` of the dataset is not a batch of dense tensors.",
                "Batch the dataset, as in dataset$batch(128L), and make sparse columns dense.",
                argument="object",
                value=str(column),
            )
    try:
        return engine.datasets.to_graph(
            dataset.map(lambda columns: tuple(columns[each] for each in chosen))
        )
    except (ValueError, tf.errors.OpError) as error:
        raise InputError(
            f"The dataset cannot be sent to other processes: {error}", _FUNCTION, argument="object"
        ) from error


def _slices(values: tuple[Any, ...], shard: Shard) -> Any:
    tf = engine.tf
    rows = tf.shape(values[0])[0]
    size, larger = rows // shard.replicas, rows % shard.replicas
    own = tf.range(shard.own_replicas.start, shard.own_replicas.stop)

    def of_replica(replica: Any) -> Any:
        own_rows = size + tf.cast(replica < larger, size.dtype)
        # As in batch_bounds(), a replica without rows repeats one of the step.
        repeated = replica % tf.maximum(rows, 1)
        start = tf.where(own_rows > 0, replica * size + tf.minimum(replica, larger), repeated)
        end = start + tf.maximum(own_rows, 1)
        batch = tuple(value[start:end] for value in values)
        return engine.step.replica_scale.with_rows(batch, own_rows)

    return tf.data.Dataset.from_tensor_slices(own).map(of_replica)
