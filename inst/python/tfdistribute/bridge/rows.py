"""Bridge functions about the rows of an input: audit of sharding, writing of shards, tabular models."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfdistribute.callbacks import as_callable
from tfdistribute.descriptions import read
from tfdistribute.inputs import Input, PipelineAudit, audit_sharding, write_input
from tfdistribute.training import complete_tabular as complete
from tfdistribute.training import translate_errors
from tfdistribute.training.specs import read_estimator

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


def complete_tabular(
    estimator: Wire,
    input: Input,  # noqa: A002 - the project's word, in both languages
    validation: Input | None = None,
    listener: Callable[..., Any] | None = None,
) -> dict[str, Any]:
    """Return the fields that a tabular model has learned from the rows, with the end of its training."""
    model, settings = read_estimator(estimator)
    completed = complete(model, settings, input, listener=listener, validation=validation)
    fields = {name: getattr(completed, name, None) for name in ("learned", "response_scale")}
    return {name: each for name, each in fields.items() if each is not None}
