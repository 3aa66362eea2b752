"""Bridge functions about the rows of an input: audit of sharding, and writing of shards."""

from __future__ import annotations

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
    workers: float,
    replicas: float | None,
    epochs: float,
) -> dict[str, Any]:
    source = read(Input, _with_fields(input, num_epochs=epochs))
    with translate_errors("check_sharding"):
        audit = audit_sharding(source, int(workers), None if replicas is None else int(replicas))
    workers_read = {
        field.name: [getattr(worker, field.name) for worker in audit.workers]
        for field in dataclasses.fields(PipelineAudit)
    }
    return {
        "ok": audit.ok,
        "rows": audit.rows,
        "rows_missing": audit.rows_missing,
        "rows_repeated": audit.rows_repeated,
        "rows_unknown": audit.rows_unknown,
        "steps_agree": audit.steps_agree,
        # Arrays, with NaN for unknown values: a list of one would reach R as a scalar.
        "workers": {name: np.array(each, dtype=float) for name, each in workers_read.items()},
    }


def write_shards(
    format: str,  # noqa: A002
    input: Wire,  # noqa: A002
    directory: str,
    shards: float,
    listener: Any = None,
) -> None:
    called = None if listener is None else as_callable(listener)
    in_order = _with_fields(input, num_epochs=1, shuffle=False, batch_size=_ROWS_AT_ONCE)
    with translate_errors(f"write_{format}"):
        write_input(read(Input, in_order), format, directory, int(shards), called)


def _with_fields(input: Wire, **fields: Any) -> Wire:  # noqa: A002
    """Replace the given fields, except those that an input does not have."""
    if "source" in input:
        return {**input, "source": _with_fields(input["source"], **fields)}
    return {**input, **{name: value for name, value in fields.items() if name in input}}
