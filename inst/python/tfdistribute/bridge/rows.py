"""Bridge functions about the rows of an input: audit of sharding, and writing of shards."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfdistribute.callbacks import as_callable
from tfdistribute.descriptions import read
from tfdistribute.inputs import Input, PipelineAudit, audit_sharding, write_input
from tfdistribute.training import translate_errors

Wire = Mapping[str, Any]

# Rows read at a time when writing files.
_ROWS_AT_ONCE = 4096


def check_sharding(
    input: Wire,  # noqa: A002
    workers: int,
    replicas: int | None,
    epochs: int,
) -> dict[str, Any]:
    source = read(Input, _with_fields(input, epochs=epochs))
    with translate_errors("check_sharding"):
        audit = audit_sharding(source, workers, replicas)
    workers_read = {
        field.name: [getattr(worker, field.name) for worker in audit.workers]
        for field in dataclasses.fields(PipelineAudit)
    }
    return {
        **dataclasses.asdict(audit),
        "ok": audit.ok,
        "steps_agree": audit.steps_agree,
        # Arrays, with NaN for unknown values: a list of one would reach R as a scalar.
        "workers": {name: np.array(each, dtype=float) for name, each in workers_read.items()},
    }


def write_shards(
    format: str,  # noqa: A002
    input: Wire,  # noqa: A002
    directory: str,
    shards: int,
    listener: Any = None,
) -> None:
    called = None if listener is None else as_callable(listener)
    in_order = _with_fields(input, epochs=1, shuffle=False, batch_size=_ROWS_AT_ONCE)
    with translate_errors(f"write_{format}"):
        write_input(read(Input, in_order), format, directory, shards, called)


def _with_fields(input: Wire, **fields: Any) -> Wire:  # noqa: A002
    if "source" in input:
        return {**input, "source": _with_fields(input["source"], **fields)}
    return {**input, **{name: value for name, value in fields.items() if name in input}}
