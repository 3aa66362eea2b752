"""The pass `fold_constants`: a step for full batches, in which all that is the same for all of them is computed."""

from __future__ import annotations

from dataclasses import replace

from tfdistribute.engine.graph import copies, functions
from tfdistribute.engine.many_steps import static_batch
from tfdistribute.engine.many_steps.by_row import Rows
from tfdistribute.engine.many_steps.vocabularies import vocabularies_of
from tfdistribute.engine.step import passes
from tfdistribute.engine.step.program import StepProgram


def run(program: StepProgram) -> StepProgram:
    """Fold the constants of a step that gathers rows in memory; others have batches of any size."""
    reader = program.reader
    if reader is None or not passes.is_on("fold_constants"):
        return program
    resources = program.resources()
    definition = copies.define([*resources, *program.operations()])
    definition.library.function.extend(functions.find_all(program.graph))
    rows = reader.rows
    given = {
        tensor.name: (tensor.dtype, [rows.batch_size, tensor.shape[1]]) for tensor in reader.batch
    }
    matrices = dict(zip(given, [*rows.matrices] * rows.replicas, strict=True))
    everything = Rows(matrices, rows.replicas, reader.tables, vocabularies_of(program.graph))
    fetches = [each.name for each in program.targets]
    folded, row_values = static_batch.simplified(definition, fetches, given, everything)
    # The graph has the resources and functions already, by name.
    folded.ClearField("library")
    names = {each.name for each in resources}
    inputs = {
        node.name: [each for each in node.input if each.partition("^")[2] not in names]
        for node in folded.node
        if node.name not in names
    }
    return replace(program, folded=copies.choose(folded, inputs), row_values=row_values)
