"""A training step as a value."""

from dataclasses import dataclass
from typing import Any

from tfdistribute.engine.graph import effects, walk
from tfdistribute.engine.step.resident_rows import RowReader


class NotRepeatableError(Exception):
    """The graph has an operation that cannot be repeated inside one run; the text names it."""


@dataclass(frozen=True)
class StepProgram:
    """A training step that the graph of a model holds.

    Gradients are not part of it, because optimizers have used them when the graph is complete. ``train_op`` updates
    all variables, ``loss`` is a scalar, ``reader`` is None if a dataset feeds the step, and ``random_state``
    initializes the counters of random numbers in a session.
    """

    train_op: Any
    loss: Any
    reader: RowReader | None = None
    random_state: tuple[Any, ...] = ()

    @property
    def graph(self) -> Any:
        return self.loss.graph

    @property
    def targets(self) -> list[Any]:
        return [getattr(self.train_op, "op", self.train_op), self.loss.op]

    def operations(self) -> list[Any]:
        """List the operations that the step needs, as the graph is now, except ``resources()``."""
        return [each for each in self._all() if not effects.names_resource(each)]

    def resources(self) -> list[Any]:
        """List the operations that name the variables, tables and iterators of the step."""
        return [each for each in self._all() if effects.names_resource(each)]

    def _all(self) -> list[Any]:
        batch_names = set() if self.reader is None else {self.reader.batch[0].op.name}

        def follow(operation: Any) -> list[Any]:
            # A resource is shared, and exists before the step.
            needed = [] if effects.names_resource(operation) else walk.sources(operation)
            return [each for each in needed if each.name not in batch_names]

        return list(walk.reach(self.targets, follow))
