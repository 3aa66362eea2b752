"""Share of the backward pass's matrix products on the busiest device, in percent, of a model in two stages."""

from __future__ import annotations

import collections
import tempfile
from typing import Any

from stages import SOURCE, model, settings
from way import take_turns

from tfdistribute import engine
from tfdistribute.models.custom import Custom
from tfdistribute.training.train import train

products: collections.Counter[str] = collections.Counter()


class _Count(engine.tf.estimator.SessionRunHook):
    def begin(self) -> None:
        graph = engine.tf.compat.v1.get_default_graph()
        products.clear()
        products.update(
            operation.device
            for operation in graph.get_operations()
            if operation.type == "MatMul" and "gradients" in operation.name
        )


def measure(steps: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        staged = model("pipeline", directory)
        train(
            Custom(directory, _counted(staged.model_fn)), settings("pipeline"), SOURCE, steps=steps
        )
    return 100 * max(products.values()) / products.total()


def _counted(model_fn: Any) -> Any:
    def counted(features: Any, labels: Any, mode: str) -> Any:
        return {**model_fn(features, labels, mode), "training_hooks": [_Count()]}

    return counted


take_turns(measure)
