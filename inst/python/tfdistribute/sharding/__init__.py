"""Which task reads which rows: batches of rows in memory, ranges of rows in files."""

from tfdistribute.sharding.batches import (
    BatchPlan,
    InputContext,
    Shard,
    replica_batch_size,
    split,
)
from tfdistribute.sharding.order import RowOrder, epoch_order
from tfdistribute.sharding.ranges import RangePlan

__all__ = [
    "BatchPlan",
    "InputContext",
    "RangePlan",
    "RowOrder",
    "Shard",
    "epoch_order",
    "replica_batch_size",
    "split",
]
