"""What a task of a cluster reads: its own share, from where its job stands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfdistribute import engine
from tfdistribute.callbacks import takes
from tfdistribute.cluster.member import Member
from tfdistribute.inputs import DatasetFunction, Input

InputFunction = Callable[..., Any]

READS_EVERYTHING = (
    "The input function has no argument `input_context`: every task of the cluster reads all that it gives. Let it "
    "take `input_context` and read the share of input_context$input_pipeline_id of input_context$num_input_pipelines."
)


def reads_everything(source: Input) -> bool:
    """Say whether an input is a function of the user's that cannot learn which share is the task's."""
    return isinstance(source, DatasetFunction) and not takes(source.function, "input_context")


def of_task(input_fn: InputFunction, member: Member) -> InputFunction:
    """Give an input function the context that TensorFlow has for none of the classic parameter server tasks.

    Without one, every task would read all rows.

    Args:
        input_fn: Takes ``input_context``, or nothing.
        member: The task.

    Returns:
        A function without arguments.
    """
    context = engine.tf.distribute.InputContext(
        num_input_pipelines=len(member.training_tasks), input_pipeline_id=member.rank
    )

    def read() -> Any:
        return input_fn(input_context=context)

    return read


def from_step(input_fn: InputFunction, steps: int, replicas: int) -> InputFunction:
    """Let an input begin behind the steps that its job has done, so that a restart does not read them again.

    Args:
        input_fn: Makes the dataset, whose order is the same each time.
        steps: Steps of this pipeline to leave out.
        replicas: Batches that this pipeline gives in a step.

    Returns:
        A function with the same parameters.
    """
    if steps <= 0:
        return input_fn

    # Estimator looks at the names of the parameters.
    @functools.wraps(input_fn)
    def read(*args: Any, **kwargs: Any) -> Any:
        made = input_fn(*args, **kwargs)
        return made.skip(steps * replicas) if hasattr(made, "skip") else made

    return read
