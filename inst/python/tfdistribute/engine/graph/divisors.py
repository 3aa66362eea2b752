"""The divisors of a loss: how it averages over the rows of a batch."""

from collections.abc import Collection, Iterator
from typing import Any

from tfdistribute.engine.graph import walk

_PASSING = frozenset(
    {"Cast", "CheckNumerics", "ExpandDims", "Identity", "Neg", "Reshape", "Squeeze"}
)
_ADDING = frozenset({"Add", "AddN", "AddV2", "Sub"})
_DIVIDING = frozenset({"Div", "DivNoNan", "RealDiv"})
# Their results depend on the number of rows only.
_OF_SHAPES = frozenset({"OnesLike", "Rank", "Shape", "ShapeN", "Size", "ZerosLike"})
ROWS, SUM = "rows", "sum"


class Addends:
    """The divisors of the addends of a loss, where ``data`` are the tensors of the batch."""

    def __init__(self, loss: Any, data: Collection[Any]) -> None:
        self._data = {each.op.name for each in data}
        self._depending = {each.name for each in walk.descendants(data, control=False)}
        self.divisors = list(self._divisors(loss))

    def _divisors(self, tensor: Any) -> Iterator[Any]:
        """Iterate over tensors, ``ROWS`` for a mean over rows, and ``SUM`` for a sum; penalties have none."""
        operation = tensor.op
        if operation.name not in self._depending:
            return
        inputs = list(operation.inputs)
        parts = [each for each in inputs if each.op.name in self._depending]
        divides = operation.type in _DIVIDING
        is_scaled = len(parts) == 1 and (
            operation.type == "Mul" or (divides and parts == inputs[:1])
        )
        is_inner = operation.type in ("Mean", "Sum") and inputs[0].shape.is_fully_defined()
        if is_scaled or is_inner or operation.type in _PASSING or operation.type in _ADDING:
            for each in parts:
                yield from self._divisors(each)
        elif operation.type == "Sum":
            yield SUM
        elif divides and self._reads_values(inputs[1]):
            yield inputs[1]
        else:
            yield ROWS

    def _reads_values(self, divisor: Any) -> bool:
        """Return whether a number depends on the values of the rows, and not only on their number."""
        read = walk.ancestors([divisor], control=False, until=lambda each: each.type in _OF_SHAPES)
        return divisor.shape.rank == 0 and any(each.name in self._data for each in read)
