"""Every error that tfdistribute raises, as one tree.

::

    TfdistributeError
    |-- ArgumentError          a value given by the user: wrong kind, out of range, unknown name
    |-- BackendError           Python packages or TensorFlow are missing, or were started otherwise
    |-- CallbackError          code of the user failed while TensorFlow was calling it
    |-- ClusterError           who takes part: tasks, addresses, TF_CONFIG
    |   `-- PortError            another program listens at the address of a task
    |-- InputError             the data: columns, rows, missing values
    |   `-- ShardingError      how a batch is divided over replicas and workers
    |-- ModelError             a model's description, or a model function that cannot be distributed
    |   `-- ModelDirectoryError  what stands in model_dir: another model, no checkpoint, no permission
    |-- RunConfigError         settings that TensorFlow would accept and then fail on
    |-- StrategyError          devices and distribution strategies
    |-- TrainingError          TensorFlow stopped while it trained, evaluated, predicted or exported
    |   `-- LostPeerError        another task of the cluster ended, or never came
    `-- UnsupportedError       can be described, cannot be performed here

In R the same tree are condition classes: ``InputError`` is ``tfdistribute_input_error``, and all of them
are ``tfdistribute_error``.
"""

from __future__ import annotations


class TfdistributeError(Exception):
    """A request that cannot be met, and the one thing to do about it.

    Args:
        problem: What was asked and why it cannot be, with the argument's name and its value.
        remedy: The one thing to do, as a sentence.
        argument: Name of the argument, as users write it; None where there is no single one.
        value: The value that was given, as text.
    """

    kind = "error"
    # Whether another process or a lost connection is the reason, so that the same work may succeed when it is
    # done again.
    is_transient = False

    def __init__(
        self,
        problem: str,
        remedy: str | None = None,
        *,
        argument: str | None = None,
        value: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.argument = argument
        self.value = value

    def __str__(self) -> str:
        return self.problem if self.remedy is None else f"{self.problem}\n{self.remedy}"


class ArgumentError(TfdistributeError):
    """A value given by the user is of the wrong kind, out of range, or an unknown name."""

    kind = "argument"


class BackendError(TfdistributeError):
    """Python packages or TensorFlow are missing, or TensorFlow was started otherwise."""

    kind = "backend"


class CallbackError(TfdistributeError):
    """Code of the user failed while TensorFlow was calling it.

    ``r_traceback`` is the text of R's calls, where the code was R's and R gave them.
    """

    kind = "callback"
    r_traceback: str | None = None


class ClusterError(TfdistributeError):
    """The tasks, their addresses or TF_CONFIG do not make a cluster."""

    kind = "cluster"


class PortError(ClusterError):
    """Another program listens at the address where a task is to listen."""

    kind = "port"
    is_transient = True


class InputError(TfdistributeError):
    """The data cannot be used: columns, rows, missing values."""

    kind = "input"


class ShardingError(InputError):
    """A batch cannot be divided over replicas and workers as asked."""

    kind = "sharding"


class ModelError(TfdistributeError):
    """A model's description is wrong, or a model function cannot be distributed."""

    kind = "model"


class ModelDirectoryError(ModelError):
    """What stands in model_dir is not what the verb needs."""

    kind = "model_directory"


class RunConfigError(TfdistributeError):
    """Settings that TensorFlow would accept and then fail on."""

    kind = "run_config"


class StrategyError(TfdistributeError):
    """The devices do not exist, or the distribution strategy cannot use them."""

    kind = "strategy"


class TrainingError(TfdistributeError):
    """TensorFlow stopped while it trained, evaluated, predicted or exported."""

    kind = "training"


class LostPeerError(TrainingError):
    """Another task of the cluster ended, or never came."""

    kind = "lost_peer"
    is_transient = True


class UnsupportedError(TfdistributeError):
    """Can be described, cannot be performed here."""

    kind = "unsupported"


def error_kinds(error: type[TfdistributeError]) -> list[str]:
    """List the kinds of an error class from the most special to the root.

    Args:
        error: A class of the tree.

    Returns:
        Kinds such as ``["sharding", "input", "error"]``; R makes its condition classes from them.

    Source:
        https://adv-r.hadley.nz/conditions.html, "Custom conditions".
    """
    return [base.kind for base in error.__mro__ if issubclass(base, TfdistributeError)]
