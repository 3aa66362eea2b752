"""Input of a task: its own shard, from the step that its job has reached."""

import functools
from collections.abc import Callable
from typing import Any

from tfdistribute import engine
from tfdistribute.cluster.member import Member
from tfdistribute.inputs import Input
from tfdistribute.training.preparation import Prepared

InputFunction = Callable[..., Any]

NOT_SHARDED = (
    "The input function has no argument `input_context`, so every task of the cluster reads all of its rows. Let it "
    "take `input_context` and read the share of input_context$input_pipeline_id of input_context$num_input_pipelines."
)


def for_task(input_fn: InputFunction, member: Member) -> InputFunction:
    """Make an input function read a task's shard where TensorFlow gives no context.

    It gives none to classic parameter server tasks, or to evaluations and predictions on one device.
    """
    # Without a context, every task would read all rows.
    context = engine.tf.distribute.InputContext(
        num_input_pipelines=len(member.training_tasks), input_pipeline_id=member.rank
    )

    def read() -> Any:
        return input_fn(input_context=context)

    return read


def training_input_fn(
    prepared: Prepared, source: Input, member: Member, first_step: int, steps: int
) -> InputFunction:
    facts, tasks = source.facts(), 1 if member.in_step else len(member.training_tasks)
    # Tasks out of step have shared the steps about evenly; how many each task took is not known.
    own_steps = steps // tasks
    done = own_steps * tasks * (facts.global_batch_size or 0)
    source = prepared.continued(source, first_step, member.is_chief, done)
    input_fn = prepared.input_fn(source, "train", member.job_name)
    if prepared.estimator.config.train_distribute is None and member.servers:
        input_fn = for_task(input_fn, member)
    if facts.rows is not None:
        return input_fn
    # The rows of a function have no positions.
    return _skip_steps(input_fn, own_steps, max(len(prepared.devices.train), 1))


def _skip_steps(input_fn: InputFunction, steps: int, replicas: int) -> InputFunction:
    if steps <= 0:
        return input_fn

    # Estimator looks at the names of the parameters.
    @functools.wraps(input_fn)
    def read(*args: Any, **kwargs: Any) -> Any:
        dataset = input_fn(*args, **kwargs)
        return dataset.skip(steps * replicas) if hasattr(dataset, "skip") else dataset

    return read
