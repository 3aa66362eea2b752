"""Conversion of any input to sharded files with an index."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from tfdistribute.inputs.description import Input
from tfdistribute.inputs.memory.in_memory import InMemory
from tfdistribute.inputs.records.tfrecord import write_tfrecord
from tfdistribute.inputs.shards.shard_index import ShardIndex
from tfdistribute.inputs.shards.shard_writing import CACHE, check_target, write_error
from tfdistribute.inputs.tables.arrow_writing import write_arrow
from tfdistribute.inputs.write.disk_cache import cache_on_disk

WRITERS: Mapping[str, Callable[..., ShardIndex]] = {
    "arrow": write_arrow,
    "tfrecord": write_tfrecord,
}


def write_input(
    source: Input,
    format: str,  # noqa: A002
    directory: str,
    shards: int,
    listener: Callable[[dict[str, int]], Any] | None = None,
) -> ShardIndex:
    """Write the rows of an input, finite and unshuffled, in order.

    Data that is not in memory is first read batch by batch into temporary files beside the shards. Memory use is one
    batch and the distinct strings, whatever the number of rows. Raises ArgumentError if there are fewer rows than
    shards.
    """
    directory = check_target(directory)
    write = WRITERS[format]
    if isinstance(source, InMemory):
        return write(source.packed, directory, shards, listener)
    cache = os.path.join(directory, CACHE)
    shutil.rmtree(cache, ignore_errors=True)
    try:
        with cache_on_disk(source, cache, listener) as packed:
            return write(packed, directory, shards, listener)
    except OSError as error:
        raise write_error(directory, error) from error
    finally:
        # Succeeds only if nothing was written.
        with contextlib.suppress(OSError):
            os.rmdir(directory)
