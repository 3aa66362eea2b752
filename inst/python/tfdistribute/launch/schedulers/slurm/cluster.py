"""Clusters on nodes that Slurm allocates."""

import re
from dataclasses import dataclass
from typing import Annotated

from tfdistribute.cluster.hosts import HostsCluster
from tfdistribute.cluster.spec import Workers
from tfdistribute.descriptions.constraints import Fact, Ge, Le, Line, Pattern, Text
from tfdistribute.errors import ArgumentError

# Slurm sends its signal up to a minute early.
EARLY_S = 60

_Name = Annotated[
    Text,
    Pattern(
        "[A-Za-z0-9][A-Za-z0-9_.,@-]*", "`{argument}` is {value}, which is not a name in Slurm."
    ),
]
_Script = Annotated[
    Text,
    Pattern(
        "[^\x01-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]*",
        "`{argument}` must be text without control characters, not {value}.",
        "Write lines with \\n between them.",
    ),
]

_OPTION = re.compile(r"--?([A-Za-z][A-Za-z0-9-]*)([= ][^\n]*)?")
_MINUTES = re.compile(r"(\d+)(?::(\d+))?")
_HOURS = re.compile(r"(\d+):(\d+):(\d+)")
_DAYS = re.compile(r"(\d+)-(\d+)(?::(\d+))?(?::(\d+))?")

# Options of sbatch that follow from arguments, and those with which a job could not work.
_ARGUMENTS = {
    ("nodes", "N"): "nodes",
    ("time", "t"): "time_limit",
    ("partition", "p"): "partition",
    ("account", "A"): "account",
    ("signal",): "stop_signal_s",
    ("requeue", "no-requeue"): "requeue",
    ("ntasks", "n", "ntasks-per-node"): "workers",
    ("export",): "environment",
}
_ELEMENTS_SHARE = (
    "Its elements would train in one `model_dir`. Call launch() once for each `model_dir`."
)
_STARTS_HERE = (
    "Call setwd() before launch(): the job starts in the working directory of this session."
)
_REFUSED = {
    **{options: f"Use the argument `{argument}`." for options, argument in _ARGUMENTS.items()},
    ("array", "a"): _ELEMENTS_SHARE,
    ("chdir", "D"): _STARTS_HERE,
    ("output", "o", "error", "e"): "Read the logs by job_logs().",
    ("open-mode",): "The package sets it.",
    ("wrap",): "The package writes the script.",
    ("wait", "W"): "Use launch(wait = TRUE).",
}


@dataclass(frozen=True, kw_only=True)
class SlurmCluster(HostsCluster, kind="slurm"):
    """Processes on nodes that Slurm allocates. The supervisor runs on the first of them.

    Args:
        ps: Parameter servers on the hosts in turn, a count of at most 1000.
        evaluator: Whether an additional process, on the first host, evaluates checkpoints, TRUE or FALSE.
        nodes: Nodes of the job, a count of at most `workers + ps`.
        workers: Processes that train, including the chief, a count of at most 1000. The default is one for each node.
            The chief is on the first node, and the others follow in turn.
        time_limit: Time after which Slurm ends the job, a string such as `"04:00:00"` (hours, minutes, seconds) or
            `"2-12"` (days, hours). NULL uses the partition's limit.
        partition, account: Partition and account, strings. NULL uses Slurm's default.
        options: More options of `sbatch`, strings such as `"--cpus-per-task=8"`, `"--mem=32G"` or
            `"--gpus-per-node=2"`. Without `--cpus-per-task` or `--exclusive`, Slurm gives the job one core on each
            node.
        setup: Lines of shell that run on the first node before the job, strings such as `"module load R"`.
        stop_signal_s: Seconds before the time limit at which the training is saved, a count from 10 to 65535.
        requeue: Whether the job queues again when its time is up, Slurm takes its nodes back or a node is lost, TRUE or
            FALSE.
    """

    workers: Workers
    nodes: Workers
    time_limit: Line | None = None  # As sbatch takes it; None for the limit of the partition.
    partition: _Name | None = None
    account: _Name | None = None
    options: tuple[Line, ...] = ()
    setup: tuple[_Script, ...] = ()
    # Before the time limit, when the training is saved. Slurm accepts no larger number of seconds.
    stop_signal_s: Annotated[int, Ge(10), Le(65535)] = 120
    requeue: bool = True  # When its time is up, it was preempted, or a node was lost.
    # None before Slurm has allocated them.
    hosts: Annotated[tuple[Line, ...], Fact.INTERNAL] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        processes = self.most_workers + self.ps
        if self.nodes > processes:
            raise ArgumentError(
                f"`nodes` is {self.nodes}, more than all processes that train: `workers` and `ps` make {processes}.",
                "Give at least one of them to each node.",
                value=str(self.nodes),
            )
        self._check_time()
        for option in self.options:
            _check_option(option)

    def _check_time(self) -> None:
        if self.time_limit is None:
            return
        seconds = seconds_of(self.time_limit)
        if seconds is None:
            raise ArgumentError(
                f"`time_limit` is {self.time_limit!r}, which Slurm does not read as a time.",
                'Write "hours:minutes:seconds" or "days-hours", such as "04:00:00" or "2-12".',
                value=self.time_limit,
            )
        if seconds <= self.stop_signal_s + EARLY_S:
            raise ArgumentError(
                f"`stop_signal_s` is {self.stop_signal_s}, which leaves no time to train within `time_limit` = "
                f'"{self.time_limit}": Slurm sends its signal up to {EARLY_S} seconds early.',
                "Use a longer `time_limit` or a smaller `stop_signal_s`.",
                value=str(self.stop_signal_s),
            )

    @property
    def names_of_hosts(self) -> tuple[str, ...]:
        return self.hosts or tuple(f"node {number + 1}" for number in range(self.nodes))


def seconds_of(time_limit: str) -> int | None:
    """Return the seconds of a time as Slurm writes it; None if it is not one, or has no end."""
    text = time_limit.strip()
    days = hours = minutes = seconds = "0"
    if match := _MINUTES.fullmatch(text):
        minutes, seconds = match[1], match[2] or "0"
    elif match := _HOURS.fullmatch(text):
        hours, minutes, seconds = match.groups()
    elif match := _DAYS.fullmatch(text):
        days, hours, minutes, seconds = (each or "0" for each in match.groups())
    else:
        return None
    return ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)


def _check_option(option: str) -> None:
    match = _OPTION.fullmatch(option)
    if match is None:
        raise ArgumentError(
            f"`options` holds {option!r}, which is not an option of sbatch.",
            'Write each one as a string, such as "--cpus-per-task=8".',
            value=option,
        )
    name = match[1] if option.startswith("--") else match[1][0]
    remedy = next((each for options, each in _REFUSED.items() if name in options), None)
    if remedy is not None:
        raise ArgumentError(
            f"`options` holds {option!r}, which is not supported there.",
            remedy,
            value=option,
        )
