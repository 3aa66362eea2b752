"""Exceptions of tfdistribute, which are one tree.

::

    TfdistributeError
    |-- ArgumentError          a user's value has the wrong type, is out of range, or is an unknown name
    |-- BackendError           Python packages or TensorFlow are missing or were started differently
    |-- CallbackError          user code failed while TensorFlow was calling it
    |-- ClusterError           tasks, addresses or TF_CONFIG do not form a cluster
    |   `-- PortError            another program listens at a task's address
    |-- InputError             the data: columns, rows, missing values
    |   `-- ShardingError      a batch cannot be divided over replicas and workers
    |-- ModelError             a model's description, or a model function that cannot be distributed
    |   `-- ModelDirectoryError  model_dir is unusable: another model, no checkpoint, no permission
    |-- RunConfigError         settings that TensorFlow would accept and then fail on
    |-- StrategyError          devices and distribution strategies
    |-- TrainingError          TensorFlow stopped while training, evaluating, predicting or exporting
    |   |-- LostPeerError        another task of the cluster ended or never joined
    |   `-- OutOfMemoryError     a device has run out of memory
    `-- UnsupportedError       can be described but not performed here

R mirrors the tree as condition classes: ``InputError`` is ``tfdistribute_input_error``, and all of them
are ``tfdistribute_error``. Errors cross processes and languages as plain values: ``as_values`` and ``from_values``.
"""

import re
import traceback
from collections.abc import Mapping
from typing import Any, ClassVar

# The fields of an error as plain values.
FIELDS = (
    "kind",
    "kinds",
    "problem",
    "remedy",
    "argument",
    "value",
    "traceback",
    "r_traceback",
    "transient",
)


# The argument that a text begins with. Code is none, as in "`fun()`" or "`seed = 1`".
_ARGUMENT = re.compile("`([^`=]*[^`=)])`")
# Characters of the two texts of an error about an argument.
_LONGEST_TEXT = 800


class TfdistributeError(Exception):
    """A request that cannot be met.

    Args:
        problem: The request and why it is not possible, with the argument's name and value.
        remedy: The thing to do, as one sentence.
        argument: Name of the argument, as users write it. By default the one that ``problem`` begins with, as in
            "`epochs` must be ...", or None.
        value: The value of the argument, as text.
    """

    kind: ClassVar[str] = "error"
    # True if another process or a lost connection is the cause: a retry may succeed.
    is_transient = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # "lost_peer" of LostPeerError.
        words = re.findall("[A-Z][a-z]+", cls.__name__.removesuffix("Error"))
        cls.kind = "_".join(words).lower()

    def __init__(
        self,
        problem: str,
        remedy: str | None = None,
        *,
        argument: str | None = None,
        value: str | None = None,
    ) -> None:
        if argument is None and (begins := _ARGUMENT.match(problem)):
            argument = begins[1]
        if argument is not None:
            # What an argument is may be long.
            problem = _shortened(problem)
            remedy = None if remedy is None else _shortened(remedy)
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.argument = argument
        self.value = value

    def __str__(self) -> str:
        return self.problem if self.remedy is None else f"{self.problem}\n{self.remedy}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 3]}..."


class ArgumentError(TfdistributeError):
    """A user's value has the wrong type, is out of range, or is an unknown name."""


class BackendError(TfdistributeError):
    """Python packages or TensorFlow are missing, or TensorFlow was started differently."""


class CallbackError(TfdistributeError):
    """User code failed while TensorFlow was calling it.

    If the code was an R function, ``text`` is its own message, and ``r_traceback`` R's backtrace.
    """

    text: str | None = None
    r_traceback: str | None = None


class ClusterError(TfdistributeError):
    """Tasks, addresses or TF_CONFIG do not form a cluster."""


class PortError(ClusterError):
    """Another program listens at a task's address."""

    is_transient = True


class InputError(TfdistributeError):
    """The data cannot be used: columns, rows, missing values."""


class ShardingError(InputError):
    """A batch cannot be divided over replicas and workers."""


class ModelError(TfdistributeError):
    """A model's description is wrong, or a model function cannot be distributed."""


class ModelDirectoryError(ModelError):
    """model_dir is unusable: another model, no checkpoint, no permission."""


class RunConfigError(TfdistributeError):
    """Settings that TensorFlow would accept and then fail on."""


class StrategyError(TfdistributeError):
    """Devices do not exist, or the distribution strategy cannot use them."""


class TrainingError(TfdistributeError):
    """TensorFlow stopped while training, evaluating, predicting or exporting."""


class LostPeerError(TrainingError):
    """Another task of the cluster ended or never joined."""

    is_transient = True


class OutOfMemoryError(TrainingError):
    """A device has run out of memory."""


class UnsupportedError(TfdistributeError):
    """The request can be described but not performed here."""


def error_kinds(error: type[TfdistributeError]) -> list[str]:
    """List the kinds of an error class from the most specific to the root.

    Returns:
        Kinds such as ``["sharding", "input", "error"]``. R makes its condition classes from them.

    Source:
        https://adv-r.hadley.nz/conditions.html, "Custom conditions".
    """
    return [base.kind for base in error.__mro__ if issubclass(base, TfdistributeError)]


def as_values(error: BaseException) -> dict[str, Any]:
    """Describe an error as plain values, for another process or for R.

    Args:
        error: Any exception; one outside the tree counts as a TrainingError.

    Returns:
        ``FIELDS``: the error's texts, ``kinds`` as ``error_kinds`` lists them, ``traceback`` (None if the error
        was never raised), ``r_traceback`` (None without R code), and ``transient``: whether a retry may succeed.
    """
    known = (
        error
        if isinstance(error, TfdistributeError)
        else TrainingError(f"{type(error).__name__}: {error}")
    )
    raised = error.__traceback__ is not None
    return {
        "kind": known.kind,
        "kinds": error_kinds(type(known)),
        "problem": known.problem,
        "remedy": known.remedy,
        "argument": known.argument,
        "value": known.value,
        "traceback": "".join(traceback.format_exception(error)) if raised else None,
        "r_traceback": getattr(error, "r_traceback", None),
        "transient": known.is_transient,
    }


def from_values(values: Mapping[str, Any]) -> TfdistributeError:
    """Rebuild an error from ``as_values``; only ``problem`` is required. An unknown kind becomes a TrainingError."""
    member = _classes(TfdistributeError).get(str(values.get("kind")), TrainingError)
    return member(
        str(values.get("problem")),
        values.get("remedy"),
        argument=values.get("argument"),
        value=values.get("value"),
    )


def _classes(root: type[TfdistributeError]) -> dict[str, type[TfdistributeError]]:
    found = {root.kind: root}
    for child in root.__subclasses__():
        found.update(_classes(child))
    return found


def said_by_tensorflow(text: str) -> str:
    """Return the reason in the text of one of TensorFlow's exceptions."""
    # The failure in a session comes after the traceback of the operation, which points into this package.
    failed = re.search(r"^ *\(0\) (.*)|^Node: '[^']*'\n((?!.*root error).*)", text, re.MULTILINE)
    if failed is not None:
        return (failed.group(1) or failed.group(2)).strip()
    # In a cluster, TensorFlow writes the name of the task first.
    lines = (line.strip() for line in text.splitlines())
    messages = [line for line in lines if line and not re.fullmatch(r"From /job:\S+:", line)]
    if text.startswith("in user code:"):
        # AutoGraph writes the traceback first.
        return messages[-1]
    return " ".join(messages[:3])


def error_of(kind: str) -> type[TfdistributeError]:
    """Return the class of the errors of a kind, such as "argument"."""
    return _classes(TfdistributeError)[kind]
