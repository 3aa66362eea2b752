"""One input pipeline's share of every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tfdistribute.errors import ShardingError


class InputContext(Protocol):
    """Argument of input functions: ``tf.distribute.InputContext`` or an equivalent."""

    @property
    def num_input_pipelines(self) -> int: ...

    @property
    def input_pipeline_id(self) -> int: ...

    @property
    def num_replicas_in_sync(self) -> int: ...


@dataclass(frozen=True)
class Shard:
    """The part of each batch that one input pipeline reads."""

    pipelines: int = 1
    pipeline: int = 0
    replicas: int = 1

    @classmethod
    def of(cls, input_context: InputContext | None) -> Shard:
        """Return the shard that TensorFlow asks for; without a context, all of every batch, for one replica."""
        if input_context is None:
            return cls()
        shard = cls(
            input_context.num_input_pipelines,
            input_context.input_pipeline_id,
            input_context.num_replicas_in_sync,
        )
        if not shard.in_turns and shard.replicas % shard.pipelines:
            raise ShardingError(
                f"{shard.replicas} replicas cannot be divided evenly over {shard.pipelines} workers.",
                "Give every worker the same number of devices.",
            )
        return shard

    @property
    def in_turns(self) -> bool:
        """Whether pipelines take turns with whole batches, because their replicas train asynchronously.

        ``ParameterServerStrategy`` reports one replica in sync for any number of workers.
        """
        return self.replicas == 1 and self.pipelines > 1

    @property
    def own_replicas(self) -> range:
        if self.in_turns:
            return range(1)
        count = self.replicas // self.pipelines
        return range(self.pipeline * count, (self.pipeline + 1) * count)
