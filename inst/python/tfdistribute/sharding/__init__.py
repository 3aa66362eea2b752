"""Sharding of rows over tasks: batches in memory, ranges in files."""

from tfdistribute.sharding.batches import BatchPlan
from tfdistribute.sharding.order import RowOrder, epoch_order, random_generator
from tfdistribute.sharding.ranges import RangePlan
from tfdistribute.sharding.shard import InputContext, Shard
from tfdistribute.sharding.steps import replica_batch_size, split

__all__ = [
    "BatchPlan",
    "InputContext",
    "RangePlan",
    "RowOrder",
    "Shard",
    "epoch_order",
    "random_generator",
    "replica_batch_size",
    "split",
]
