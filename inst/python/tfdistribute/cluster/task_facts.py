"""Facts that the tasks of a cluster compare before they train: what each is about to do."""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tfdistribute.cluster.spec import Task
from tfdistribute.descriptions.comparison import USES
from tfdistribute.errors import (
    ClusterError,
    ModelDirectoryError,
    StrategyError,
    TfdistributeError,
)
from tfdistribute.files import parse_json

_MOST_CHARACTERS = 200
SHARED_MEMORY = "shared_memory"
# Each worker adds up the parts of all; a ring of many sends less than they read.
_MOST_SHARING = 8


@dataclass(frozen=True)
class TaskFacts:
    """The facts of one task; None for a fact that it does not know.

    ``process`` is a random name, ``training`` counts from 1 in the process, ``work`` is a checksum of the
    descriptions with their data and functions, and ``first_step`` is the global step at which the job began. The
    chief has written ``mark`` into model_dir. Tasks with one ``machine`` can share memory, through ``socket``.
    """

    task: str
    host: str
    process: str
    training: int = 1
    cluster: dict[str, list[str]] | None = None
    package: str | None = None
    tensorflow: str | None = None
    work: str | None = None
    variables: dict[str, Any] | None = None
    step: int | None = None
    first_step: int | None = None
    last_step: int | None = None
    model_dir: str | None = None
    mark: str | None = None
    passes: list[str] | None = None
    communication: str | None = None
    machine: str | None = None
    socket: str | None = None

    def as_text(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "TaskFacts":
        values = cast("dict[str, Any]", parse_json(text))
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in names})

    @property
    def where(self) -> str:
        return f"{self.task} (on {self.host})"


@dataclass(frozen=True)
class _Field:
    words: str
    argument: str
    fix: str
    in_step: bool = False


_SAME_SCRIPT = "Start the same script on every host."

# The first difference is reported: versions and clusters explain those that follow.
_SHARED: dict[str, _Field] = {
    "package": _Field(
        "the version of tfdistribute", "tfdistribute", "Install the same version on every host."
    ),
    "tensorflow": _Field(
        "the version of TensorFlow", "tensorflow", "Install the same version on every host."
    ),
    "cluster": _Field(
        "the `cluster` of TF_CONFIG",
        "TF_CONFIG",
        "Give all tasks the same `cluster`; only `task` differs.",
    ),
    "work": _Field("the training", "object", _SAME_SCRIPT),
    "passes": _Field(
        "the passes that are switched off",
        "TFDISTRIBUTE_PASSES",
        "Set the option `tfdistribute.passes`, or TFDISTRIBUTE_PASSES, on every host alike.",
    ),
    "step": _Field(
        "the step to begin with", "model_dir", "Let `model_dir` be the same on every host.", True
    ),
    "last_step": _Field("the last step", "max_steps", _SAME_SCRIPT),
    "variables": _Field("the model's variables", "object", _SAME_SCRIPT),
}


def difference(
    one: TaskFacts,
    other: TaskFacts,
    in_step: bool,
    in_work: tuple[str, Any, Any] | None = None,
) -> TfdistributeError | None:
    """Return the error that names both tasks and the first fact in which they differ, or None.

    ``in_work`` is the path and both values of the first entries of their ``work`` that differ, if they are known.
    """
    for name, field in _SHARED.items():
        first, second = getattr(one, name), getattr(other, name)
        if first is None or second is None or (field.in_step and not in_step) or first == second:
            continue
        if name == "work" and in_work is not None:
            return _different_work(one, other, *in_work)
        if isinstance(first, dict) and isinstance(second, dict):
            first, second = _first_difference(
                cast("dict[str, Any]", first), cast("dict[str, Any]", second)
            )
        return ClusterError(
            f"{one.where} and {other.where} do not agree on {field.words}: {_show(first)} and {_show(second)}.",
            field.fix,
            argument=field.argument,
            value=f"{_show(first)}, {_show(second)}",
        )
    return None


def shared_sockets(tasks: Sequence[TaskFacts]) -> list[str]:
    """Return the names of the sockets by rank, or none if the tasks do not share memory.

    StrategyError if they must share memory, and cannot.
    """
    sockets = [task.socket for task in tasks if task.socket is not None]
    apart = [task for task in tasks if task.machine is None or task.machine != tasks[0].machine]
    if len(sockets) == len(tasks) and not apart:
        is_wanted = tasks[0].communication == SHARED_MEMORY or len(tasks) <= _MOST_SHARING
        return sockets if is_wanted else []
    if tasks[0].communication != SHARED_MEMORY:
        return []
    reason = f", and {apart[0].where} cannot share memory with {tasks[0].where}" if apart else ""
    raise StrategyError(
        f'`communication = "{SHARED_MEMORY}"` needs all workers on one machine with Linux{reason}.',
        'Use `communication = "auto"`.',
        argument="communication",
        value=SHARED_MEMORY,
    )


def wrong_task(own: TaskFacts, other: TaskFacts, task: Task, address: str) -> ClusterError | None:
    """Return the error if another task than the expected one answers at an address, or None."""
    if other.process == own.process:
        problem = (
            f"The address of {task} ({address}) leads back to {own.where}: two processes, or two addresses, are "
            "the same task."
        )
    elif other.task != str(task):
        problem = (
            f"The process that answers at {address} is {other.where}, and the cluster of {own.where} has "
            f"{task} there."
        )
    else:
        return None
    return ClusterError(
        problem,
        "Give each process its own `task` in TF_CONFIG, and each task its own address.",
        argument="TF_CONFIG",
        value=address,
    )


def other_training(own: TaskFacts, other: TaskFacts) -> ClusterError:
    return ClusterError(
        f"{other.where} is in training {other.training} since its process was started, and {own.where} in training "
        f"{own.training}.",
        "Restart R (or Python) in every task: processes that train together are started together.",
        argument="cluster",
        value=other.task,
    )


def unshared_directory(own: TaskFacts, chief: TaskFacts) -> ModelDirectoryError:
    same = own.model_dir == chief.model_dir
    place = f'`model_dir` "{own.model_dir}"'
    there = "the same name on another disk" if same else f'"{chief.model_dir}"'
    return ModelDirectoryError(
        f"{own.where} does not see in {place} what {chief.where} wrote into {there}: the tasks do not share a "
        "directory.",
        "Use a directory that every host can read and the chief can write, such as one on a network file system.",
        argument="model_dir",
        value=str(own.model_dir),
    )


def _different_work(
    one: TaskFacts, other: TaskFacts, path: str, first: Any, second: Any
) -> ClusterError:
    place, _, variable = path.rpartition(USES)
    function = place.partition(USES)[0]
    subject = f"`{variable}`, which `{function}` uses" if place else f"`{path}`"
    remedy = _SAME_SCRIPT
    if place:
        remedy += " If a value differs on purpose, compute it inside the function."
    elif path.startswith("input$"):
        remedy = "Give every host the same script and the same data."
    return ClusterError(
        f"{one.where} and {other.where} do not agree on {subject}: {_show(first)} and {_show(second)}.",
        remedy,
        argument=re.sub(r"\[\d+\]$", "", re.split(r"\$| uses ", path)[-1]),
        value=f"{_show(first)}, {_show(second)}",
    )


def _first_difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Any, Any]:
    for name in sorted({*first, *second}):
        if first.get(name) != second.get(name):
            return _entry(name, first), _entry(name, second)
    return first, second


def _entry(name: str, mapping: Mapping[str, Any]) -> str:
    return f"{name} {json.dumps(mapping[name])}" if name in mapping else f"no {name}"


def _show(value: Any) -> str:
    if isinstance(value, dict) and "code" in value:
        # A function.
        value = f"code with {value['code']}"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3]}..."
